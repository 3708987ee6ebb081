# shellcheck shell=bash
# What ./check and its parts run their rungs with: each under a limit of its own, after which all its processes are ended,
# the rung has failed, and it says where it stood. None can hang. At the end stands how long each took, and how many passed
# and failed. Sourced by ./check, by each part, and by tests/check.

[ -z "${rung_notes-}" ] || return 0
passed=0 failed=0 not_run=() rung_times=()
declare -A rung_pid rung_limit rung_began rung_sources
rung_shown_by=
# Which rungs have passed, with which sources: see begin_if_changed.
passed_rungs=${TURNLOCK_PASSED:-ci/passed}
patience=${TURNLOCK_CHECK_PATIENCE:-1}
case $patience in
    *[!0-9.]* | *.*.* | . | '')
        echo "check: TURNLOCK_CHECK_PATIENCE is a factor, such as 5 or 0.5, not '$patience'" >&2
        exit 2
        ;;
esac

rung_notes=$(mktemp -d)
trap end_all_rungs EXIT
trap 'exit 130' INT TERM HUP

# Reads the command line of a part that is run by itself: sets `size` to quick, usual or long. What ./check runs has its
# size from there.
part() { # part "$@"
    [ -z "${size-}" ] || return 0
    case "$*" in
        "") size=usual ;;
        --quick | --long) size=${1#--} ;;
        -h | --help) sed -n '2,/^[^#]/s/^#$\|^# //p' "$0"; exit ;;
        *) sed -n '2,/^[^#]/s/^#$\|^# //p' "$0" >&2; exit 2 ;;
    esac
    rungs_are_counted=1
    cd "$(dirname "${BASH_SOURCE[0]}")/.."
    lint_by_the_way
}

# Installs what is missing, or says what to install.
need() { # need COMMAND...
    local command package
    for command; do
        case $command in
            cargo) package= ;;
            setsid | unshare | nsenter | setpriv) package=util-linux ;;
            cc) package=gcc ;;
            c++) package=g++ ;;
            nm) package=binutils ;;
            pgrep) package=procps ;;
            etcd) package=etcd-server ;;
            etcdctl) package=etcd-client ;;
            protoc) package=protobuf-compiler ;;
            ip) package=iproute2 ;;
            *) package=$command ;;
        esac
        if command -v "$command" >/dev/null; then
            continue
        elif [ -z "$package" ]; then
            echo "check: cargo is missing; install Rust first" >&2
            exit 1
        elif [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            printf '\n== installing %s\n' "$package"
            timeout 300 apt-get update -qq &&
                DEBIAN_FRONTEND=noninteractive timeout 900 apt-get install -y -qq "$package" >/dev/null
        else
            echo "check: $command is missing; install it first (Debian: apt-get install $package)" >&2
            exit 1
        fi
    done
}

# How tests are built and run: where Clippy is there, it compiles them, and so lints them by the way. Each package that they depend on
# is compiled once; `cargo clippy` would check it once more. Not by cargo's own variable: a test that runs cargo would pass it on.
# The bindings' checks have it, too, so that nothing is built twice. Where all of it passed with these sources, nothing is linted, which
# takes a sixth of the time of building.
lint_by_the_way() {
    if ! has_passed "$linting" "$linted" && clippy-driver --version >/dev/null 2>&1; then
        export TURNLOCK_CARGO="env CLIPPY_ARGS=--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__ cargo --config build.rustc-workspace-wrapper='clippy-driver'"
    fi
    # shellcheck disable=SC2206 # several words
    tested=(${TURNLOCK_CARGO:-cargo})
}
linting="building and linting the tests"
linted="src core message capi cli link examples tests Cargo.toml Cargo.lock"
# With all parts of the command, its screens and plots too.
# shellcheck disable=SC2034 # for who sources this
whole=(--features turnlock-cli/full)

# Runs a command under a limit. Once a rung has failed, those after it are not run.
rung() { # rung NAME SECONDS COMMAND...
    begin_rung "$@"
    finish_rung "$1"
}

# Begins a rung that goes on beside others. It has a session of its own, by which all its processes are found, also those
# in process groups of their own. Its output goes into a file: a pipe's end is whenever the last of those who inherited it
# closes it. `timeout` is for the case that check itself is killed. With `rung_aside` set it leaves the processors to the others: by
# `nice`, and where the scheduler shares them among sessions (sched(7), "The autogroup feature"), by its session's own value.
begin_rung() { # begin_rung NAME SECONDS COMMAND...
    local name=$1 limit
    limit=$(awk -v seconds="$2" -v patience="$patience" 'BEGIN { print seconds * patience }')
    shift 2
    if [ "$failed" -gt 0 ]; then
        not_run+=("$name")
        return
    fi
    : >"$rung_notes/$name"
    # shellcheck disable=SC2016 # for the shell that is started
    setsid timeout --kill-after=10 "$(awk -v limit="$limit" 'BEGIN { print limit + 60 }')" \
        env rung_aside="${rung_aside-}" \
        bash -c 'status=0; ended=$1; shift
            # The kernel takes one such change in a tenth of a second.
            if [ -n "$rung_aside" ]; then
                renice -n 19 $$
                for try in 1 2 3 4 5; do echo 19 >/proc/$$/autogroup && break; sleep "0.$try"; done
            fi >/dev/null 2>&1 || true
            "$@" || status=$?; { date +%s; times; } >"$ended"; exit "$status"' \
        "$name" "$rung_notes/ended: $name" "$@" >>"$rung_notes/$name" 2>&1 </dev/null &
    rung_pid[$name]=$! rung_limit[$name]=$limit rung_began[$name]=$(date +%s)
}

# Begins a rung that a change of its sources alone can make fail: the searches of the models, which are not the shipped code, the
# rungs that only show that a check catches its mutants, and lints of what is linted already, in another form. Where it passed with
# these very sources, it is not run: ci/passed has a line for each such rung, the hash of its sources and its name, which a rung that
# passes writes. `--long` and TURNLOCK_EVERY_RUNG=1 have it run always.
begin_if_changed() { # begin_if_changed NAME SECONDS "SOURCE..." COMMAND...
    local name=$1 limit=$2 sources=$3
    shift 3
    if has_passed "$name" "$sources"; then
        printf '\n== %s: not run, passed with these sources (ci/passed)\n' "$name"
        return
    fi
    rung_sources[$name]=$(hash_of_sources "$sources")
    begin_rung "$name" "$limit" "$@"
}

# Begins a rung that searches what is shipped, with a command that heeds TURNLOCK_ONE_IN (ci/one-in, or the test itself). Where it
# passed whole with these very sources, it plays one in eight of its searches, chosen by chance each time; else all of them.
begin_search() { # begin_search NAME SECONDS "SOURCE..." COMMAND...
    local name=$1 limit=$2 sources=$3
    shift 3
    if has_passed "$name" "$sources"; then
        printf '\n== %s: one in eight, chosen by chance; passed whole with these sources (ci/passed)\n' "$name"
        begin_rung "$name" "$limit" env TURNLOCK_ONE_IN=8 "$@"
    else
        rung_sources[$name]=$(hash_of_sources "$sources")
        begin_rung "$name" "$limit" env TURNLOCK_ONE_IN=1 "$@"
    fi
}

# Whether a rung has passed with these sources, and is to make use of that.
has_passed() { # has_passed NAME "SOURCE..."
    [ "$size" != long ] && [ -z "${TURNLOCK_EVERY_RUNG-}" ] &&
        grep -qxF "$(hash_of_sources "$2")  $1" "$passed_rungs" 2>/dev/null
}

# Of files and folders: names and contents. Prose, and what editors and the like leave there, does not count.
hash_of_sources() { # hash_of_sources "SOURCE..."
    # shellcheck disable=SC2086 # several words
    find $1 -type f ! -name '.*' ! -name '*~' ! -name '*.orig' ! -name '*.md' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum |
        cut -c1-32
}

# Notes that a rung has passed with its sources. In a file made anew, in the order of the names.
note_passed() { # note_passed NAME
    {
        [ ! -f "$passed_rungs" ] || grep -v "^[0-9a-f]*  $1\$" "$passed_rungs" || true
        echo "${rung_sources[$1]}  $1"
    } | LC_ALL=C sort -k 2 >"$rung_notes/passed"
    cp "$rung_notes/passed" "$passed_rungs"
}

# Shows what a rung prints until it is over, or its limit is.
finish_rung() { # finish_rung NAME
    local name=$1 status=0 watched=0 took pid
    pid=${rung_pid[$name]-}
    [ -n "$pid" ] || return 0
    # Once a rung has failed, those beside it are not waited for.
    if [ "$failed" -gt 0 ] && [ -z "$(cat "$rung_notes/ended: $name" 2>/dev/null)" ]; then
        end_rung "$name"
        not_run+=("$name")
        return
    fi
    printf '\n== %s\n' "$name"
    # Behind us, since a signal to us is dealt with at once only while we `wait`.
    timeout "$(rung_time_left "$name")" tail -n +1 -s 0.1 --pid="$pid" -f "$rung_notes/$name" &
    rung_shown_by=$!
    wait "$rung_shown_by" || watched=$?
    rung_shown_by=
    took="$(rung_took "$name") s"
    [ ! -s "$rung_notes/ended: $name" ] || took+=" ($(processor_seconds "$(tail -n 1 "$rung_notes/ended: $name")") s of processor)"
    rung_times+=("$name $took")
    if [ "$watched" = 124 ]; then
        rung_stood "$name" "$pid" >&2
        end_rung "$name"
        printf '== %s: FAILED, ended after %s: its limit is %s s, with TURNLOCK_CHECK_PATIENCE=%s\n' \
            "$name" "$took" "${rung_limit[$name]}" "$patience" >&2
        failed=$((failed + 1))
        return
    fi
    # Not over only if nobody reads what we print; then `timeout` ends it.
    wait "$pid" 2>/dev/null || status=$?
    unset 'rung_pid[$name]'
    if [ "$status" = 0 ]; then
        printf '== %s: passed, %s\n' "$name" "$took"
        passed=$((passed + 1))
        [ -z "${rung_sources[$name]-}" ] || note_passed "$name"
    else
        end_session "$pid"
        printf '== %s: FAILED after %s, with status %s\n' "$name" "$took" "$status" >&2
        failed=$((failed + 1))
    fi
}

# How long it took, which may have been over before it was looked at; or takes so far.
rung_took() { # rung_took NAME
    local ended
    ended=$(head -n 1 "$rung_notes/ended: $1" 2>/dev/null || date +%s)
    echo "$((ended - rung_began[$1]))"
}

# Whole seconds, user and system together, of a line such as `times` prints: that of the children that were waited for. On a
# machine that does other things, too, it says more than a clock.
processor_seconds() { # processor_seconds "1m2.345s 0m6.789s"
    awk -F '[ms ]+' '{ printf "%.0f", 60 * $1 + $2 + 60 * $3 + $4 }' <<<"$1"
}

# At least a moment: a rung beside others may be over long since.
rung_time_left() { # rung_time_left NAME
    awk -v limit="${rung_limit[$1]}" -v spent="$(($(date +%s) - rung_began[$1]))" \
        'BEGIN { left = limit - spent; print (left > 1 ? left : 1) }'
}

# Where a rung stands: what it printed last, and its processes, each with its threads. A test's thread is called as the
# test is, as far as the kernel keeps the name.
rung_stood() { # rung_stood NAME PID
    local pid task thread threads
    printf '\n== %s hangs. It stood here:\n' "$1"
    tail -n 15 "$rung_notes/$1" | sed 's/^/    /'
    printf 'with these processes and threads:\n'
    for pid in $(in_session "$2"); do
        threads=
        for task in "/proc/$pid/task"/*; do
            { read -r thread <"$task/comm"; } 2>/dev/null && threads+=" $thread;"
        done
        printf '    %s %s:%s\n' "$pid" "$({ tr '\0\n' '  ' <"/proc/$pid/cmdline" | cut -c1-120; } 2>/dev/null)" "$threads"
    done
}

# The processes of a session, and the one that is about to begin it: a rung may be ended before `setsid` has come so far. In
# /proc/PID/stat the parent is the second field after the name, which may contain anything, and the session the fourth.
in_session() { # in_session SESSION
    local stat fields
    for stat in /proc/[0-9]*/stat; do
        { read -r fields <"$stat"; } 2>/dev/null || continue
        # shellcheck disable=SC2086 # several words
        set -- "$1" ${fields##*) }
        [ "$2" != Z ] || continue
        [ "$5" != "$1" ] && [ "${fields%% *} $3" != "$1 $$" ] || echo "${fields%% *}"
    done
    return 0
}

# First politely, so that they can clean up.
end_session() { # end_session SESSION
    local signal pid times
    for signal in TERM KILL; do
        for pid in $(in_session "$1"); do
            kill -"$signal" "$pid" 2>/dev/null || true
        done
        for times in 1 2 3 4 5 6 7 8 9 10; do
            [ -n "$(in_session "$1")" ] || return 0
            sleep "0.$times"
        done
    done
}

end_rung() { # end_rung NAME
    # Else bash would report the signal that we send.
    disown "${rung_pid[$1]}"
    end_session "${rung_pid[$1]}"
    unset 'rung_pid[$1]'
}

# When check ends, however it does: the last line says how many rungs passed and failed.
end_all_rungs() {
    local status=$? name processor
    # A process of ours that was ended before it became what it was begun for has our traps still.
    [ "$BASHPID" = "$$" ] || return
    trap '' INT TERM HUP
    set +e
    # Of this shell, and so not in one of its own.
    times >"$rung_notes/times"
    processor=$(tail -n 1 "$rung_notes/times")
    [ -z "$rung_shown_by" ] || { disown "$rung_shown_by"; kill "$rung_shown_by" 2>/dev/null; }
    for name in "${!rung_pid[@]}"; do
        end_rung "$name"
        not_run+=("$name")
    done
    rm -rf "$rung_notes"
    [ -z "${rungs_are_counted-}" ] && exit "$status"
    echo
    if [ "${#rung_times[@]}" -gt 0 ]; then
        printf 'in %s s (%s s of processor): %s\n' "$SECONDS" "$(processor_seconds "$processor")" "$(printf '%s; ' "${rung_times[@]}" | sed 's/; $//')"
    fi
    if [ "${#not_run[@]}" -gt 0 ]; then
        printf 'not run, or not to the end: %s\n' "$(printf '%s; ' "${not_run[@]}" | sed 's/; $//')"
        [ "$status" = 0 ] && status=1
    fi
    [ "$failed" -gt 0 ] && [ "$status" = 0 ] && status=1
    # Interrupted, for example. The last line alone must not look like success.
    [ "$failed" = 0 ] && [ "$status" != 0 ] && failed=1
    echo "$passed passed, $failed failed"
    exit "$status"
}
