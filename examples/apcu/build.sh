#!/bin/sh
# APCu (PHP's shared cache) with turnlock's locks: fetches APCu's source as Debian's package manager has it, builds it as it
# is and with turnlock, runs its own tests with both, and kills readers of both (apcu#632).
#
#     examples/apcu/build.sh [FOLDER]
#
# Debian or Ubuntu, with php-cli, php-dev and a C compiler installed, and `deb-src` among apt's sources (or APCu's .orig.tar
# of the package php-apcu in FOLDER already). FOLDER, `target/apcu` if not said, gets everything; nothing is installed.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
folder=${1:-$root/target/apcu}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

for tool in php phpize cc make cargo; do
    command -v "$tool" >/dev/null || { echo "$0: no $tool: apt-get install php-cli php-dev gcc make" >&2; exit 1; }
done
(cd "$root" && cargo build --release --lib)
lib=$root/target/release

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

# Three changes: the two types, and what implements the interface.
sed -i 's|typedef pthread_rwlock_t apc_lock_t;|#include "apc_turnlock.h"\n\t\ttypedef apc_turnlock_rwlock apc_lock_t;|' \
    turnlock/apc_lock.h
sed -i 's|typedef pthread_mutex_t apc_mutex_t;|#include "apc_turnlock.h"\ntypedef apc_turnlock_mutex apc_mutex_t;|' \
    turnlock/apc_mutex.h
grep -q apc_turnlock_rwlock turnlock/apc_lock.h && grep -q apc_turnlock_mutex turnlock/apc_mutex.h || {
    echo "$0: this APCu declares its locks otherwise: change build.sh" >&2
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

ended=0
for which in stock turnlock; do
    echo "== $which: APCu's own tests"
    # Each has a minute.
    (cd "$which" && TEST_PHP_EXECUTABLE=$(command -v php) php run-tests.php -n -q --set-timeout 60 \
        -d extension_dir="$PWD/modules" -d extension=apcu.so tests >tests.out 2>&1) || [ "$which" = stock ] || ended=1
    grep -E '^(Number of tests|Tests (skipped|failed|passed)|FAIL)' "$which/tests.out" || ended=1
    echo "== $which: readers are killed"
    said=$(cd "$which" && timeout 120 php -n -d extension_dir="$PWD/modules" $(php -r 'foreach (["pcntl", "posix"] as $e)
        if (file_exists(ini_get("extension_dir") . "/$e.so")) echo "-d extension=" . ini_get("extension_dir") . "/$e.so ";') \
        -d extension=apcu.so -d apc.enable_cli=1 "$here/wedge.php" 50) && came=through || came=wedged
    echo "$said"
    [ "$which" = stock ] || [ "$came" = through ] || ended=1
done
exit $ended
