#!/bin/sh
# contend.sh KIND FOLDER TURNS [--die-at N]: contend.c as a shell script, with `turnlock run`.

set -eu
me=contend.sh

stop() {
    echo "$me: stopped inside; now: kill -9 $$"
    while read -r _; do :; done
    kill -9 $$
}

read_and_append() {
    read -r count < counter
    echo "$me $TURNLOCK_FENCING_TOKEN" >> journal
}

# One turn, inside: `turnlock run` starts it.
case $1 in
    --write)
        if [ "$TURNLOCK_PREVIOUS_OWNER_DIED" = 1 ]; then
            echo $(($(wc -l < journal))) 1<> counter
            echo "$me: told that $TURNLOCK_PREVIOUS_OWNER (process $TURNLOCK_PREVIOUS_OWNER_PID) died inside"
        fi
        read_and_append
        [ "$2" = 0 ] || stop
        echo $((count + 1)) 1<> counter # in place, since the number never gets shorter
        exit
        ;;
    --read)
        read -r count < counter
        [ "$TURNLOCK_PREVIOUS_OWNER_DIED" = 1 ] || [ "$count" -eq $(($(wc -l < journal))) ] || {
            echo "$me: a reader saw half a turn" >&2
            exit 1
        }
        exit
        ;;
    --permit)
        [ "$2" = 0 ] || stop
        read_and_append
        echo $((count + 1)) 1<> counter
        exit
        ;;
esac

kind=$1 turns=$3 die_at=${5-0} turn=1
case $0 in /*) this=$0 ;; *) this=$PWD/$0 ;; esac
cd "$2"
inside() { # inside OPTION... FILE COMMAND...: runs the command with the lock taken so
    turnlock run --lock "$kind" --label "$me" "$@"
}
while [ "$turn" -le "$turns" ]; do
    dies=$((turn == die_at))
    if [ "$kind" = rwlock ]; then
        inside --exclusive --on-death inform demo.lock sh "$this" --write "$dies"
        inside --shared --on-death inform demo.lock sh "$this" --read
    else
        inside --permits 1 demo.lock sh "$this" --permit "$dies"
    fi
    turn=$((turn + 1))
done
