#!/bin/sh
# APCu (PHP's shared cache) with turnlock's locks: fetches APCu's source as Debian's package manager has it, builds it as it
# is and with turnlock, runs its own tests with both, kills readers of both (apcu#632), and writers of the one with turnlock.
#
#     integrations/apcu/build.sh [FOLDER [KILLS]]
#
# Debian or Ubuntu, with php-cli, php-dev and a C compiler installed, and `deb-src` among apt's sources (or APCu's .orig.tar
# of the package php-apcu in FOLDER already). FOLDER, `target/apcu` if not said, gets everything; nothing is installed. KILLS
# is how many processes are killed at random moments, 300 if not said.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=${1:-$root/target/apcu}
kills=${2:-300}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

for tool in php phpize cc make patch cargo; do
    command -v "$tool" >/dev/null || { echo "$0: no $tool: apt-get install php-cli php-dev gcc make patch" >&2; exit 1; }
done
(cd "$root" && cargo build --release --lib)
lib=${CARGO_TARGET_DIR:-$root/target}/release

cd "$folder"
set -- php-apcu_*.orig.tar.*
if [ ! -f "$1" ]; then
    apt-get source --download-only php-apcu || {
        echo "$0: apt has no source of php-apcu: add deb-src to its sources, and apt-get update" >&2
        exit 1
    }
    set -- php-apcu_*.orig.tar.*
fi
rm -rf source stock turnlock
mkdir source
tar -xf "$1" -C source
# The package has an older APCu too, for older PHP.
newest=$(ls -d source/apcu-5.* | tail -n 1)
cp -r "$newest" stock
cp -r "$newest" turnlock

patch -s -d turnlock -p1 <"$here/apcu.patch" || {
    echo "$0: apcu.patch is for APCu 5.1.22 to 5.1.24, and this is ${newest#source/}" >&2
    exit 1
}
cp "$here/apc_turnlock.h" turnlock/
cp "$here/apc_turnlock.c" turnlock/apc_lock.c
: >turnlock/apc_mutex.c

for which in stock turnlock; do
    (
        cd "$which"
        phpize >phpize.out 2>&1
        CFLAGS="-O2 -g -I$root/include" ./configure --enable-apcu >configure.out 2>&1
        link=-lrt
        [ "$which" = stock ] || link="-lrt -L$lib -lturnlock -Wl,-rpath,$lib"
        make -s APCU_SHARED_LIBADD="$link" >make.out 2>&1 || { cat make.out >&2; exit 1; }
    )
done

# run WHICH PROGRAM ARGUMENT: runs a program of this folder with one of the two.
run() {
    (
        cd "$1"
        # In some packages of PHP these two are files of their own.
        extensions=$(php -r 'foreach (["pcntl", "posix"] as $e)
            if (file_exists(ini_get("extension_dir") . "/$e.so")) echo "-d extension=" . ini_get("extension_dir") . "/$e.so ";')
        timeout 600 php -n -d extension_dir="$PWD/modules" $extensions -d extension=apcu.so -d apc.enable_cli=1 "$here/$2" "$3"
    )
}

ended=0
for which in stock turnlock; do
    echo "== $which: APCu's own tests"
    # Each has a minute.
    (cd "$which" && TEST_PHP_EXECUTABLE=$(command -v php) php run-tests.php -n -q --set-timeout 60 \
        -d extension_dir="$PWD/modules" -d extension=apcu.so tests >tests.out 2>&1) || [ "$which" = stock ] || ended=1
    grep -E '^(Number of tests|Tests (skipped|failed|passed)|FAIL)' "$which/tests.out" || ended=1
    echo "== $which: readers are killed"
    run "$which" wedge.php 50 || [ "$which" = stock ] || ended=1
done
echo "== turnlock: writers are killed"
run turnlock kill.php "$kills" || ended=1
exit $ended
