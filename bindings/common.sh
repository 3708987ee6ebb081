# shellcheck shell=bash
# What the checks of all bindings share: where things are built, an installed turnlock to build and run against, a
# library of another ABI number to refuse, and how packages are installed. Sourced.
set -eu
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$repository/target}
case $target in /*) ;; *) target=$repository/$target ;; esac
work=$target/bindings
prefix=$work/prefix
# What cargo builds for the tests in Rust serves here too: a library that also asserts what it assumes.
built=$target/debug
mkdir -p "$work"
# Several checks may run beside each other.
check_name=$(basename "$(dirname "$(readlink -f "$0")")")
case_log=$work/case.$check_name.log

# Installs turnlock into a scratch prefix, once for all bindings: bindings/check says by TURNLOCK_BINDINGS_READY that it
# has done so.
install_turnlock() {
    if [ -z "${TURNLOCK_BINDINGS_READY-}" ]; then
        # In ./check with the cargo that has built the tests.
        (cd "$repository" && ${TURNLOCK_CARGO:-cargo} build --quiet --lib --bins --example counter --example agent --features turnlock-cli/full --target-dir "$target")
        TURNLOCK_BUILT=$built "$repository/install.sh" "$prefix" >"$work/install.log"
        make_fake_library
    fi
    export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    export LD_LIBRARY_PATH=$prefix/lib
    export TURNLOCK_LIBRARY=$prefix/lib/libturnlock.so
    # The smallest agent of a linked lock, for tests of one.
    export TURNLOCK_AGENT=$built/examples/agent
    export PATH=$prefix/bin:$PATH
}

# A library with every function of the header and an ABI number that no binding knows: all but the number abort.
make_fake_library() {
    mkdir -p "$work/fake"
    {
        echo '#include <stdlib.h>'
        exported_functions | grep -v '^turnlock_abi_version$' | sed 's/.*/int &(void) { abort(); }/'
        echo 'unsigned turnlock_abi_version(void) { return 999; }'
    } >"$work/fake/fake.c"
    cc -shared -fPIC -w -o "$work/fake/libturnlock.so" "$work/fake/fake.c"
}

# The names of the functions that the header declares.
exported_functions() {
    grep -oE '^[a-z][a-z0-9_ ]*[ *]turnlock_[a-z_]+\(' "$repository/include/turnlock.h" | grep -oE 'turnlock_[a-z_]+'
}

# Installs Debian packages where a command is missing and that is allowed; says whether the command is there then.
have() { # have COMMAND PACKAGE...
    local command=$1
    shift
    command -v "$command" >/dev/null && return 0
    install_packages "$@"
    command -v "$command" >/dev/null
}

install_packages() { # install_packages PACKAGE...
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 0
    # One at a time: apt-get does not wait for another one.
    (
        flock 9
        timeout 300 apt-get update -qq || true
        DEBIAN_FRONTEND=noninteractive timeout 900 apt-get install -y -qq -o DPkg::Lock::Timeout=600 "$@" || true
    ) 9>"$work/apt.lock" >>"$work/apt.log" 2>&1
}

# Cases, counted: each is a command with a limit.
passed=0 failed=0 skipped=0
case_of() { # case_of NAME SECONDS COMMAND...
    local name=$1 limit=$2 status=0
    shift 2
    timeout --kill-after=5 "$(awk -v s="$limit" -v p="${TURNLOCK_CHECK_PATIENCE:-1}" 'BEGIN { print s * p }')" \
        "$@" >"$case_log" 2>&1 </dev/null || status=$?
    if [ "$status" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        [ "$status" != 124 ] || echo "$name: not over after $limit s; it stood here:"
        echo "$name: FAILED with status $status"
        # Of many tests, what those say that failed; they may be far from the end.
        grep -E -A 30 '^ *(not ok|--- FAIL)' "$case_log" | head -n 80 | sed 's/^/    /' || true
        tail -n 40 "$case_log" | sed 's/^/    /'
    fi
}

skip() { # skip WHAT WHY
    skipped=$((skipped + 1))
    echo "$1: skipped, $2"
}

# The last line of a check, and its exit status.
verdict() {
    if [ "$skipped" = 0 ]; then
        echo "$passed passed, $failed failed"
    else
        echo "$passed passed, $failed failed, $skipped skipped"
    fi
    [ "$failed" = 0 ]
}
