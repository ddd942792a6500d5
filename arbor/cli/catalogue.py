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
    "blame": "run: arbor log -p -- PATH; arbor log -S TEXT -- PATH says when a text came in",
    "annotate": "run: arbor log -p -- PATH; arbor log -S TEXT -- PATH says when a text came in",
    "cherry-pick": "take its versions: arbor restore -s REV PATH; or all that leads there: arbor merge REV",
    "rebase": "there is none: histories are joined by arbor merge",
    "stash": "commit on a branch of its own: arbor switch -c NAME",
    "bisect": "run: arbor log -S TEXT for when a text came or went; arbor search --at REV asks an older version",
    "rev-parse": "run: arbor log -1 --format=%H REV, arbor branch --show-current for the branch, or arbor status "
    "--json, whose `top` is the folder",
    "rev-list": "run: arbor log --format=%H, and count with: wc -l",
    "symbolic-ref": "run: arbor branch --show-current",
    "cat-file": "run: arbor cat PATH@REV for a document, or arbor show REV for a commit",
    "ls-tree": "run: arbor ls --at REV",
    "show-ref": "run: arbor branch -a, and arbor tag",
    "for-each-ref": "run: arbor branch -a --format=FORM, and arbor tag --format=FORM",
    "update-ref": "run: arbor branch -f NAME REV, or arbor reset REV for the current one",
    "check-ignore": "run: arbor status -u --ignored PATH",
    "hash-object": "run: arbor show PATH, which tells the document's oid and the file's BLAKE3",
    "count-objects": "run: arbor gc, which counts them, or: du -sh .arbor",
    "name-rev": "run: arbor branch --contains REV, or arbor tag --contains REV",
    "describe": "run: arbor tag --merged REV; arbor log --decorate shows where tags stand",
    "merge-base": "run: arbor diff A...B, which begins there; arbor log A...B is what only one of them has",
    "shortlog": "run: arbor log --format=%an, and count with: sort | uniq -c",
    "whatchanged": "run: arbor log --name-status",
    "diff-tree": "run: arbor diff OLD NEW --name-status",
    "worktree": "clone it into another folder: arbor clone . ../FOLDER",
    "submodule": "each knowledge base stands alone: arbor clone",
    "archive": "put it into one file: arbor bundle create FILE; or copy the folder",
    "format-patch": "run: arbor show REV > FILE; or for another arbor: arbor bundle create FILE",
    "apply": "git apply takes arbor's patches; between two of arbor: arbor bundle, arbor pull FILE",
    "am": "take commits from a bundle: arbor pull FILE",
    "notes": "a commit has its message: arbor commit --amend -m TEXT",
    "prune": "run: arbor gc",
    "repack": "run: arbor gc",
    "update-index": "run: arbor add PATH",
    "mergetool": "edit the file, then run: arbor add PATH",
    "difftool": "run: arbor diff",
    "clean": "no file that is not tracked is removed; arbor status -u lists them",
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
    "ls-files": "run: arbor ls; arbor status -u lists what is not tracked",
    "ls-remote": "run: arbor fetch REMOTE, then arbor branch -r; arbor remote -v names the addresses",
    "list": "run: arbor ls",
    "st": "run: arbor status",
    "ci": "run: arbor commit",
    "co": "run: arbor switch BRANCH (-c makes one), or arbor restore PATH to bring a document back",
    "br": "run: arbor branch",
    "di": "run: arbor diff",
    "df": "run: arbor diff",
    "lg": "run: arbor log --oneline --graph",
    "last": "run: arbor show",
    "amend": "run: arbor commit --amend",
    "undo": "run: arbor reset HEAD~1 to take a commit back, arbor revert REV to undo one that others have, or arbor "
    "restore PATH",
    "sync": "run: arbor pull, then arbor push",
    "up": "run: arbor pull",
    "update": "run: arbor pull",
    "save": "run: arbor commit -a -m TEXT",
    "gui": "run: arbor --help",
    "rerere": "conflicts are resolved by hand: arbor restore --ours PATH, or --theirs, takes a side",
    "print": "run: arbor cat PATH",
    "create": "run: arbor init",
    "stage": "run: arbor add PATH",
    "unstage": "run: arbor restore --staged PATH",
    "evaluate": "run: arbor eval FOLDER",
    "benchmark": "run: arbor eval FOLDER",
    "settings": "run: arbor config",
}
"""What a word that is no command probably means."""
