#!/bin/sh
# counter.sh: counter.c as a shell script, with `turnlock run`.
#
#     sh counter.sh FOLDER TURNS [--die-at N]
#
# A turn reads the number in `counter`, adds a line to `journal` and writes the number plus one; `demo.lock` is what
# keeps other programs out meanwhile. See counter.c for the whole story.
#
# The environment variable TURNLOCK says where the turnlock command is, if it is not on the PATH.

set -eu
me=counter.sh

# Part two: one turn. `turnlock run` starts it when it has the lock, gives the lock back when it ends, and says in the
# environment what came with the lock. A command that succeeds after an owner-dead notice is taken to have repaired the data;
# if it fails, the next one is told again.
if [ "${1-}" = --turn ]; then
    cd "$2"
    turn=$3
    die_at=$4
    if [ "$TURNLOCK_PREVIOUS_OWNER_DIED" = 1 ]; then
        # The previous holder died inside, perhaps between the journal and the counter. The lock cannot know what that
        # means for our data; we do. The journal is written first, so it is right; the counter, which may even be half
        # written, is made to agree with it.
        count=$(($(wc -l < journal)))
        echo "$count" 1<> counter
        echo "$me: told that $TURNLOCK_PREVIOUS_OWNER (process $TURNLOCK_PREVIOUS_OWNER_PID) died inside;" \
            "set the counter to $count"
    fi

    read -r count < counter
    echo "$me $TURNLOCK_FENCING_TOKEN" >> journal
    if [ "$turn" -eq "$die_at" ]; then
        echo "$me: stopped half-way through turn $turn, with fencing token $TURNLOCK_FENCING_TOKEN; now: kill -9 $$"
        while read -r _; do :; done
        kill -9 $$
    fi
    echo $((count + 1)) 1<> counter # in place, since the number never gets shorter
    exit
fi

# Part one: take TURNS turns.
if [ $# -ne 2 ] && { [ $# -ne 4 ] || [ "$3" != --die-at ]; }; then
    echo "usage: $0 FOLDER TURNS [--die-at N]" >&2
    exit 1
fi
folder=$1
turns=$2
die_at=${4-0}
turn=1
while [ "$turn" -le "$turns" ]; do
    "${TURNLOCK:-turnlock}" run --lock counter --label "$me" "$folder/demo.lock" -- \
        sh "$0" --turn "$folder" "$turn" "$die_at"
    turn=$((turn + 1))
done
echo "$me: done, $turns turns"
