"""Which commands there are, so that `arbor --help` need not load any of them."""

from __future__ import annotations

from typing import NamedTuple


class Entry(NamedTuple):
    """One command: its name, which is also its module's, and the line that the overview shows."""

    name: str
    summary: str


SECTIONS: tuple[tuple[str, tuple[Entry, ...]], ...] = (
    (
        "Start and change",
        (
            Entry("init", "Make a knowledge base in a folder"),
            Entry("add", "Stage documents for the next commit"),
            Entry("rm", "Remove documents from the next commit and the folder"),
            Entry("mv", "Rename documents or folders"),
            Entry("restore", "Bring documents back to an earlier version"),
            Entry("commit", "Record what is staged"),
            Entry("revert", "Undo a commit with another one"),
            Entry("reset", "Move the branch to another commit"),
        ),
    ),
    (
        "Branch and merge",
        (
            Entry("branch", "List, make, rename and remove branches"),
            Entry("switch", "Go to another branch"),
            Entry("merge", "Join another branch into this one"),
            Entry("tag", "List, make and remove tags"),
            Entry("reflog", "Show where HEAD and branches have been"),
        ),
    ),
    (
        "Share",
        (
            Entry("clone", "Make a knowledge base here from another one"),
            Entry("fetch", "Bring what a remote has, and leave your branch as it is"),
            Entry("pull", "Fetch, and merge what the branch follows"),
            Entry("push", "Send commits to a remote and move its branches"),
            Entry("remote", "Show and change what this one is shared with"),
            Entry("bundle", "Put a knowledge base into one file"),
            Entry("serve", "Share a knowledge base over http, or over pipes for ssh"),
        ),
    ),
    (
        "Look",
        (
            Entry("search", "Find passages, with how much of each is proven"),
            Entry("status", "Show what is staged, changed and untracked"),
            Entry("log", "Show the history"),
            Entry("show", "Show a commit, or a document with its passages"),
            Entry("diff", "Show what differs between versions"),
            Entry("cat", "Print a document's bytes exactly"),
            Entry("ls", "List the documents"),
            Entry("links", "List the links in a document"),
        ),
    ),
    (
        "Corroborate",
        (
            Entry("consensus", "Show how many independent sources say the same"),
            Entry("ripple", "Replay how a change moved the consensus"),
            Entry("hook", "Let a git repository bring the knowledge base along"),
            Entry("demo", "Walk through a life cycle on built-in documents"),
        ),
    ),
    (
        "Trust",
        (
            Entry("verify", "Read and check every hash, tree and root, or a proof"),
            Entry("prove", "Write a proof that can be checked anywhere"),
            Entry("reindex", "Rebuild the search index from the objects"),
            Entry("journal", "Show what was done here to what is stored and trusted"),
        ),
    ),
    (
        "Distill",
        (
            Entry("distill", "Make short cores of documents, bound to their passages"),
            Entry("core", "Write, list and check cores"),
        ),
    ),
    (
        "Keep and forget",
        (
            Entry("tier", "Show how much is hot, warm and cold"),
            Entry("evict", "Let others keep documents' passages, or leave them out of the index"),
            Entry("rehydrate", "Bring cold documents back, each passage checked by its hash"),
            Entry("gc", "Drop what nothing reaches, and merge packs"),
            Entry("recheck", "Ask the sources of documents whether they have changed"),
        ),
    ),
    (
        "Set up and measure",
        (
            Entry("config", "Read and change settings"),
            Entry("eval", "Measure search quality on a test collection"),
            Entry("completion", "Print the script that completes commands in your shell"),
            Entry("version", "Print the version"),
        ),
    ),
)

NAMES: tuple[str, ...] = tuple(entry.name for _, entries in SECTIONS for entry in entries)

ALIASES = {"rehydrate-cold": "rehydrate"}
"""Other names of commands."""

ELSEWHERE = {
    "checkout": "run: arbor switch BRANCH (-c makes one), or arbor restore PATH to bring a document back",
    "blame": "run: arbor log -- PATH, and arbor show REV",
    "cherry-pick": "run: arbor merge, or arbor revert REV for the opposite",
    "rebase": "there is none: histories are joined by arbor merge",
    "stash": "commit on a branch of its own: arbor switch -c NAME",
    "clean": "arbor removes no file that it does not track; arbor status lists them",
    "find": "run: arbor search WORDS",
    "grep": "run: arbor search WORDS",
    "query": "run: arbor search WORDS",
    "fsck": "run: arbor verify",
    "check": "run: arbor verify",
    "index": "run: arbor reindex",
    "delete": "run: arbor rm PATH",
    "remove": "run: arbor rm PATH",
    "move": "run: arbor mv OLD NEW",
    "rename": "run: arbor mv OLD NEW",
    "history": "run: arbor log",
    "ls-files": "run: arbor ls",
    "ls-remote": "run: arbor fetch REMOTE, then arbor branch -r; arbor remote -v names the addresses",
    "rev-parse": "run: arbor log -1 REV",
    "rev-list": "run: arbor log --oneline REV",
    "show-ref": "run: arbor branch -a, and arbor tag",
    "describe": "run: arbor tag --merged REV",
    "cat-file": "run: arbor cat PATH@REV, or arbor show REV",
    "format-patch": "run: arbor diff OLD..NEW, or arbor bundle create FILE OLD..BRANCH",
    "list": "run: arbor ls",
    "st": "run: arbor status",
    "ci": "run: arbor commit",
    "print": "run: arbor cat PATH",
    "create": "run: arbor init",
    "stage": "run: arbor add PATH",
    "unstage": "run: arbor restore --staged PATH",
    "evaluate": "run: arbor eval FOLDER",
    "benchmark": "run: arbor eval FOLDER",
    "settings": "run: arbor config",
}
"""What a word that is no command probably means."""

OPTIONS_ELSEWHERE = {
    "pull --rebase": "there is no rebase: arbor pull merges; --ff-only refuses where that is more than a step",
    "pull -r": "there is no rebase: arbor pull merges; --ff-only refuses where that is more than a step",
    "pull --no-rebase": "leave it out: arbor pull always merges",
    "pull --squash": "there is none: arbor pull merges, and the merge keeps both histories",
    "merge --squash": "there is none: arbor merge keeps both histories; --no-ff makes one commit above them",
    "revert --skip": "leave it with: arbor revert --abort",
    "branch -c": "run: arbor branch NEW OLD",
    "log --pretty": "run: arbor log --oneline, or --json for programs",
    "log --format": "run: arbor log --oneline, or --json for programs",
    "log -G": "run: arbor log -S TEXT",
    "log --decorate": "leave it out: names are shown beside the commits",
    "commit --fixup": "run: arbor commit --amend for the last commit",
    "add -p": "arbor stages whole documents",
    "add --patch": "arbor stages whole documents",
    "switch -C": "run: arbor branch -f NAME REV, and arbor switch NAME",
}
"""What an option that git's command of this name has, and arbor's has not, is written as here."""
