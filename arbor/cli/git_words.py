"""What options that git has, and arbor has not, probably mean here."""

from __future__ import annotations

_WHOLE = "a document is staged as a whole: arbor add PATH"
_NO_PARTS = "a document comes back as a whole: arbor restore PATH"
_HISTORY = "arbor log -p -- PATH shows every change of a document, and -S TEXT when a text came or went"
_PROGRAMS = "--json has it all for programs"
_SAME_MESSAGE = "take the message over: arbor log --format=%B -n 1 REV, and arbor commit -F FILE"
_JOINED = "histories are joined by a merge; --ff-only refuses one"
_ONE_WAY = "there is one way to compare: leave it out"
_WHOLE_HISTORY = "a history comes as a whole; what is large is left out with: arbor clone --cold"
_ONE_SIDE = "one side and then the other: arbor log A..B, and arbor log B..A"
_NO_SQUASH = "a merge keeps both histories; arbor merge --no-commit leaves the commit to you"
_PARTS_OF_WORDS = "lines are compared as wholes; -w leaves white space out of account"
_NUMBERS = tuple(f"-{digit}" for digit in range(10))
"""What is left of a number that was written right behind an option that takes none, as in `tag -n5`."""

_TOLD = {
    **dict.fromkeys(("-v", "--verbose"), "what moved is told without it"),
    **dict.fromkeys(("--progress", "--no-progress"), "a bar is drawn where standard error is a terminal"),
    **dict.fromkeys(("-j", "--jobs"), "leave it out"),
}

OPTIONS: dict[str, dict[str, str]] = {
    "arbor": {
        "-c": "run: arbor config NAME VALUE; for one command there are ARBOR_AUTHOR_NAME, --color and --no-pager",
        "-v": "run: arbor --version",
        "--no-optional-locks": "leave it out: who only reads takes no lock",
        "--git-dir": "run: arbor -C PATH COMMAND",
        "--work-tree": "run: arbor -C PATH COMMAND",
        **dict.fromkeys(("-p", "--paginate"), "long answers are paged on a terminal without being told to"),
    },
    "add": {
        **dict.fromkeys(("-p", "--patch", "-i", "--interactive", "-e", "--edit"), _WHOLE),
        **dict.fromkeys(
            ("-N", "--intent-to-add"), "arbor status lists what is not tracked; arbor add PATH stages it"
        ),
        "--ignore-errors": "what cannot be added is skipped in any case",
        "--renormalize": "a file is kept byte for byte: there is nothing to be made the same",
        "--chmod": "a document has no mode",
        "--pathspec-from-file": "run: xargs -d '\\n' arbor add < FILE",
    },
    "branch": {
        "-c": "run: arbor branch NEW OLD",
        "--copy": "run: arbor branch NEW OLD",
        "-t": "a branch made at a remote's follows it: arbor branch NAME REMOTE/BRANCH",
        "--track": "a branch made at a remote's follows it: arbor branch NAME REMOTE/BRANCH",
        "--no-track": "afterwards run: arbor branch --unset-upstream NAME",
        **dict.fromkeys(("-i", "--ignore-case", "--column"), "names are listed as they are, one a line"),
        **dict.fromkeys(("-q", "--quiet"), "nothing is said where a branch is made: leave it out"),
        "--edit-description": "a branch has no description; a tag has a message: arbor tag -a -m TEXT NAME",
    },
    "clone": {
        **_TOLD,
        **dict.fromkeys(("--depth", "--shallow-since", "--shallow-exclude"), _WHOLE_HISTORY),
        "--single-branch": "all branches come; -b NAME says which one to stand at",
        "--mirror": "run: arbor clone --bare URL",
        "--recurse-submodules": "there are no submodules",
        "--recursive": "there are no submodules",
        "--sparse": "the passages of one folder: arbor clone --at FOLDER URL",
    },
    "commit": {
        **dict.fromkeys(("-p", "--patch", "--interactive"), _WHOLE),
        **dict.fromkeys(("-i", "--include"), "run first: arbor add PATH, and then arbor commit"),
        **dict.fromkeys(("-o", "--only"), "it is as without it: arbor commit PATH"),
        **dict.fromkeys(("-v", "--verbose"), "look at it before: arbor diff --staged"),
        **dict.fromkeys(("--fixup", "--squash"), "change the last commit: arbor commit --amend"),
        **dict.fromkeys(("-s", "--signoff"), "write the line into the message; -S signs the commit"),
        **dict.fromkeys(("-C", "-c", "--reuse-message"), _SAME_MESSAGE),
        **dict.fromkeys(("-e", "--edit"), "without -m and -F an editor opens"),
        **dict.fromkeys(("-t", "--template"), "take the message from a file: -F FILE"),
        "--trailer": "write the line into the message: -m TEXT -m 'NAME: VALUE'",
        **dict.fromkeys(("--porcelain", "--short", "--long", "-z"), "run: arbor status"),
        "--reset-author": "name the author: --author 'NAME <EMAIL>'",
        "--dry-run": "run: arbor status",
        "--no-gpg-sign": "run: arbor commit --no-sign",
        "--allow-empty-message": "a commit says why: -m TEXT",
    },
    "config": {
        "--local": "leave it out: what is not --global is this knowledge base's",
        "--system": "there are two places: --global, and this knowledge base's own",
        **dict.fromkeys(("-e", "--edit"), "run: arbor config NAME VALUE; the file is .arbor/config.toml"),
        **dict.fromkeys(("--get-all", "--get-regexp"), "run: arbor config --list"),
        **dict.fromkeys(("--add", "--replace-all"), "a setting has one value: arbor config NAME VALUE"),
        "--unset-all": "run: arbor config --unset NAME",
        **dict.fromkeys(("--bool", "--int", "--path", "--type"), "a setting has its type: leave it out"),
        **dict.fromkeys(("-z", "--null", "--name-only", "--show-origin", "--show-scope"), _PROGRAMS),
    },
    "diff": {
        **dict.fromkeys(_NUMBERS, "-M takes no number; -U takes one, as in -U5"),
        "--no-index": "versions of documents are compared; for two files run: diff -u OLD NEW",
        "--merge-base": "run: arbor diff A...B",
        **dict.fromkeys(("--word-diff", "--color-words"), _PARTS_OF_WORDS),
        **dict.fromkeys(("--minimal", "--patience", "--histogram", "--diff-algorithm"), _ONE_WAY),
        **dict.fromkeys(("--ext-diff", "--no-ext-diff", "--textconv", "--no-textconv"), _ONE_WAY),
        **dict.fromkeys(("-a", "--text", "--binary"), "what is not text is shown by arbor cat PATH@REV"),
        **dict.fromkeys(
            ("-C", "--find-copies", "--find-copies-harder"), "copies are not looked for, renames are"
        ),
        **dict.fromkeys(
            ("--summary", "--compact-summary", "--dirstat"), "run: arbor diff --stat, or --name-status"
        ),
        **dict.fromkeys(("-W", "--function-context"), "-U takes a number of lines, as in -U20"),
        **dict.fromkeys(
            ("--relative", "--no-relative"),
            "names are from the top; what is below: arbor diff -- .",
        ),
        **dict.fromkeys(("--ours", "--theirs", "--base"), "run: arbor diff HEAD, or arbor diff MERGE_HEAD"),
        "--patch-with-stat": "run: arbor diff --stat -p",
        "--check": "white space is left as it is; arbor diff --name-only --diff-filter=U lists what is in conflict",
        "--ignore-blank-lines": "-w leaves white space within lines out of account",
        "--output": "run: arbor diff > FILE",
        "--raw": _PROGRAMS,
        **dict.fromkeys(("-S", "-G"), "run: arbor log -S TEXT"),
    },
    "fetch": {
        **dict.fromkeys(("--depth", "--unshallow", "--deepen"), _WHOLE_HISTORY),
        "-n": "write it out: --no-tags, or --dry-run",
        "-t": "tags come without being asked for; --no-tags leaves them out",
        **dict.fromkeys(("-a", "--append"), "from every remote: arbor fetch --all"),
        **_TOLD,
        "--multiple": "name one remote, or take --all",
    },
    "gc": {
        "--prune": "run: arbor gc --now, or with an age: arbor gc --grace 14d",
        "--auto": "nothing is collected without being told to; run: arbor gc",
        "--aggressive": "run: arbor gc",
    },
    "log": {
        "-L": _HISTORY,
        "-G": "run: arbor log -S TEXT",
        **dict.fromkeys(
            ("-E", "-P", "--extended-regexp", "--perl-regexp"), "patterns are Python's: leave it out"
        ),
        **dict.fromkeys(("-F", "--fixed-strings"), "put a backslash before ( [ * + ? in the pattern"),
        **dict.fromkeys(
            ("--topo-order", "--date-order", "--author-date-order"),
            "no commit comes before its children in any case",
        ),
        "--abbrev-commit": "run: arbor log --oneline, or give a format with %h",
        **dict.fromkeys(("--word-diff", "--color-words"), _PARTS_OF_WORDS),
        **dict.fromkeys(("-z", "--raw"), _PROGRAMS),
        **dict.fromkeys(("-g", "--walk-reflogs"), "run: arbor reflog"),
        "--merge": "run: arbor log HEAD...MERGE_HEAD",
        "--not": "put a ^ before what is left out: arbor log topic ^main",
        **dict.fromkeys(("--left-right", "--cherry", "--cherry-pick", "--cherry-mark"), _ONE_SIDE),
        "--committer": "run: arbor log --format='%h %cn %s'",
        **dict.fromkeys(
            ("--invert-grep", "--all-match"), "(?s)\\A(?!.*TEXT) matches what holds no TEXT, A.*B both"
        ),
        **dict.fromkeys(("--full-history", "--dense", "--sparse", "--full-diff", "--cc"), "leave it out"),
        "--simplify-by-decoration": "arbor branch -a and arbor tag list what they stand at",
        "--summary": "run: arbor log --name-status",
        "--abbrev": "the first digits of an oid are enough; %h shows them",
        "--glob": "name them: arbor log main topic",
        "--exclude": "put a ^ before what is left out: arbor log --all ^topic",
    },
    "ls": {
        **dict.fromkeys(("-s", "--stage"), _PROGRAMS),
        **dict.fromkeys(("-o", "--others", "-m", "--modified", "-d", "--deleted"), "run: arbor status"),
        "-r": "every document below is listed in any case",
    },
    "merge": {
        "--squash": _NO_SQUASH,
        **dict.fromkeys(
            ("-s", "--strategy"), "there is one strategy; -X ours or -X theirs settles conflicts"
        ),
        **dict.fromkeys(("-e", "--edit"), "give the message with -m"),
        "--quit": "run: arbor merge --abort",
        "--ff": "it is as without it",
        **dict.fromkeys(
            ("-n", "--no-stat", "--stat", "--summary", "-v"), "afterwards run: arbor diff --stat ORIG_HEAD"
        ),
        "--log": "arbor log A..B shows what a merge brings, and -m TEXT says it",
        "--no-verify": "no hook runs before a merge",
        **dict.fromkeys(("-S", "--gpg-sign"), "run: arbor config sign.commits true"),
        "--signoff": "give the message with -m",
        "--verify-signatures": "run: arbor pull --require-signed, or arbor verify --signatures REV",
        "--autostash": "changes that a merge does not touch stay; commit the others first",
    },
    "pull": {
        **dict.fromkeys(("-r", "--rebase"), _JOINED),
        "--all": "run: arbor fetch --all",
        **_TOLD,
        **dict.fromkeys(("-p", "--prune"), "run: arbor fetch --prune"),
        "--autostash": "changes that a merge does not touch stay; commit the others first",
        "--squash": _NO_SQUASH,
        **dict.fromkeys(
            ("-X", "--strategy-option"), "run: arbor fetch, then arbor merge -X ours or theirs, and @{u}"
        ),
        **dict.fromkeys(("--depth", "--unshallow"), _WHOLE_HISTORY),
        **dict.fromkeys(("-t", "--tags"), "tags come without being asked for"),
    },
    "push": {
        **_TOLD,
        "--porcelain": _PROGRAMS,
        "--thin": "only what is missing there is sent in any case",
        **dict.fromkeys(
            ("-o", "--push-option", "--signed"), "leave it out: commits and tags are what is signed"
        ),
        "--mirror": "run: arbor push --all --tags",
        "--follow-tags": "run: arbor push --tags",
        "--prune": "remove a branch there: arbor push -d REMOTE BRANCH",
        "--no-verify": "no hook runs before a push",
        "--atomic": "run it without; what was refused is named, and the exit code tells",
    },
    "reflog": {
        **dict.fromkeys(("--format", "--pretty"), _PROGRAMS),
        **dict.fromkeys(
            ("--date", "--oneline", "--no-abbrev"), "a move is one line, with its time: leave it out"
        ),
        "--all": "name one: arbor reflog main",
        "--expire": "moves are kept",
    },
    "remote": {
        **dict.fromkeys(("-p", "--prune"), "run: arbor fetch --prune NAME"),
        **dict.fromkeys(("-f", "--fetch"), "afterwards run: arbor fetch NAME"),
        "--push": "one address serves both ways: arbor remote set-url NAME URL",
        **dict.fromkeys(("-a", "--auto"), "a clone stands at one branch: arbor switch BRANCH"),
    },
    "reset": {
        **dict.fromkeys(("-p", "--patch"), _NO_PARTS),
        **dict.fromkeys(
            ("--keep", "--merge"), "local changes are kept by --soft and --mixed, and lost by --hard"
        ),
    },
    "restore": {
        **dict.fromkeys(("-p", "--patch"), _NO_PARTS),
        **dict.fromkeys(("-m", "--merge"), "to begin anew run: arbor merge --abort, and merge again"),
        **dict.fromkeys(("--progress", "--no-progress"), "leave it out"),
    },
    "revert": {
        **dict.fromkeys(("-e", "--edit"), "take -n, and give the message with: arbor commit -m TEXT"),
        **dict.fromkeys(
            ("-X", "--strategy-option"), "resolve the conflict, and run: arbor revert --continue"
        ),
        "--skip": "run: arbor revert --abort",
        "--quit": "run: arbor revert --abort",
    },
    "show": {
        **dict.fromkeys(("-q", "--quiet"), "run: arbor show -s"),
        **dict.fromkeys(("-m", "-c", "--cc"), "a merge is compared with its first parent"),
        "--summary": "run: arbor show --name-status",
        "--raw": _PROGRAMS,
        **dict.fromkeys(("--word-diff", "--color-words"), _PARTS_OF_WORDS),
    },
    "status": {
        "-v": "run: arbor diff --staged",
        "--verbose": "run: arbor diff --staged",
        **dict.fromkeys(("--renames", "--no-renames", "-M", "--find-renames"), "renames are told as such"),
        "--column": "one line a path: arbor status -s",
        "--show-stash": "there is no stash: arbor branch lists what is kept on branches",
        **dict.fromkeys(("--ahead-behind", "--no-ahead-behind"), "it is as without it: arbor status -s -b"),
    },
    "switch": {
        **dict.fromkeys(("-t", "--track"), "run: arbor switch BRANCH, which then follows the remote's"),
        "--orphan": "a history of its own begins in a folder of its own: arbor init FOLDER",
        **dict.fromkeys(("-m", "--merge"), "commit first, or throw the changes away with -f"),
        "-b": "run: arbor switch -c BRANCH",
        **dict.fromkeys(
            ("--guess", "--no-guess"), "a branch that only a remote has is made and followed in any case"
        ),
    },
    "tag": {
        **dict.fromkeys(_NUMBERS, "-n takes no number: the first lines of messages are shown"),
        "-F": "give the message with -m",
        **dict.fromkeys(("-i", "--ignore-case", "--column"), "names are listed as they are, one a line"),
        "-u": "set the key: arbor config sign.key FILE, and run: arbor tag -s",
    },
}
"""Command to option to what to type instead, or why it is not needed; `arbor` is what stands before a command."""

VALUES = {("--porcelain", "v2"): "run: arbor status --json"}
"""What a value of an option that git knows, and arbor does not, means here."""

REMOTE_ACTIONS = {
    "update": "run: arbor fetch --all",
    "set-head": "a clone stands at one branch: arbor clone -b BRANCH, or arbor switch BRANCH",
    "set-branches": "name the branches: arbor fetch REMOTE BRANCH",
}
"""What other words after `arbor remote` mean."""
