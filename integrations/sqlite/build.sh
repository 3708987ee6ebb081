#!/bin/sh
# Builds the extension turnlock_vfs for SQLite.
#
#   integrations/sqlite/build.sh INCLUDE LIB OUT
#
# INCLUDE has turnlock.h, LIB has libturnlock.so; OUT is the extension, as a rule LIB/turnlock_vfs.so: the library is looked for
# beside it. CC is the compiler, cc if not said. Exits with 3, and says what is missing, where the compiler or sqlite3ext.h is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ "$#" != 3 ]; then
    sed -n '2,/^[^#]/s/^#$\|^# //p' "$0" >&2
    exit 64
fi
if ! echo '#include <sqlite3ext.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then
    echo "${CC:-cc} finds no sqlite3ext.h: install a C compiler and SQLite's headers first (Debian: gcc libsqlite3-dev)" >&2
    exit 3
fi
# shellcheck disable=SC2086
${CC:-cc} -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Wpedantic ${CFLAGS-} -fPIC -fvisibility=hidden -shared -o "$3" \
    "$here/turnlock_vfs.c" "$here/turn.c" -I"$1" -L"$2" -lturnlock -pthread '-Wl,-rpath,$ORIGIN' ${LDFLAGS-}
