#!/bin/sh
# The main job on real documents: add, commit, search, verify, ripple. Run by `make demo` with `arbor` on the PATH.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/arbor-demo.XXXXXX")
trap 'rm -rf "$work"' EXIT
bold= plain=
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then bold=$(printf '\033[1m') plain=$(printf '\033[0m'); fi
say() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain"; }
run() { # as it would be typed: words with spaces in quotation marks
  shown=
  for word; do
    case $word in *' '*) word="\"$word\"" ;; esac
    shown="$shown$word "
  done
  say "${shown% }"
  "$@"
}

mkdir "$work/kb"
cp -R "$here/concepts" "$here/design" "$here/format" "$here/guides" "$work/kb/" 2>/dev/null || true
cp "$here/../README.md" "$here/../ARCHITECTURE.md" "$work/kb/"
cd "$work/kb"

run arbor init
run arbor add .
run arbor commit -m "The documentation of arbor itself"
run arbor search "how is a commit made durable" --mode STRICT -n 3
run arbor verify
cat > ripple-notes.md <<'NOTE'
# What a ripple update does

When a document enters, leaves or changes, its effect on consensus travels over the similarity graph with a weight
that shrinks at every hop until it falls under epsilon, and labels move between NOVEL, EXTENDED and CORROBORATED.
NOTE
run arbor add ripple-notes.md
run arbor commit -m "A note about ripples"
run arbor consensus ripple-notes.md
run arbor log --oneline
say "rm -rf .arbor/cache   # derived state: nothing is lost"
rm -rf .arbor/cache
run arbor search "ripple update" --mode STRICT -n 2
run arbor verify
run arbor demo ripple
