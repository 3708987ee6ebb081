#!/bin/sh
# Builds the plugin turnlock for uWSGI.
#
#   integrations/uwsgi/build.sh INCLUDE LIB OUT
#
# INCLUDE has turnlock.h, LIB has libturnlock.so; OUT is the plugin, as a rule LIB/turnlock_plugin.so: the library is looked for beside it,
# and uWSGI wants that name. UWSGI is the uWSGI that is to load it, uwsgi if not said: the plugin fits that build alone. CC is the
# compiler, cc if not said; SOURCES are other sources than the plugin's, for the tests. Exits with 3, and says what is missing, where the compiler, uWSGI or a header that it was built with is.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ "$#" != 3 ]; then
    sed -n '2,/^[^#]/s/^#$\|^# //p' "$0" >&2
    exit 64
fi
uwsgi=${UWSGI:-uwsgi}
if ! flags=$("$uwsgi" --cflags 2>/dev/null); then
    echo "there is no $uwsgi that could be asked for its --cflags: install uWSGI (Debian: uwsgi-core)" >&2
    exit 3
fi
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$uwsgi" --dot-h >"$made/uwsgi.h" 2>/dev/null
printf 'static const char built_for[] = "%s";\n' "$(printf %s "$flags" | sed 's/["\\]/\\&/g')" >"$made/built_for.h"
absolute() {
    case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s\n' "$(pwd)/$1" ;;
    esac
}
include=$(absolute "$1")
lib=$(absolute "$2")
out=$(absolute "$3")
# The flags have -I., which is to find no other header.
cd "$made"
# They are quoted as for a shell.
eval "set -- $flags"
if ! said=$(echo '#include <uwsgi.h>' | ${CC:-cc} "$@" -E - 2>&1 >/dev/null); then
    echo "${CC:-cc} cannot read uWSGI's header: install a C compiler and the headers that uWSGI was built with" \
        "(Debian: gcc libcap-dev libpcre3-dev libssl-dev libxml2-dev uuid-dev zlib1g-dev)" >&2
    echo "$said" | grep -m 1 -i error >&2 || true
    exit 3
fi
: "${SOURCES:=$here/turnlock_plugin.c $here/torn_cache.c}"
# shellcheck disable=SC2086
${CC:-cc} "$@" -std=gnu11 -Wno-unused-parameter ${CFLAGS-} -fPIC -fvisibility=hidden -shared -o "$out" \
    $SOURCES -I"$here" -I"$include" -L"$lib" -lturnlock \
    -pthread '-Wl,-rpath,$ORIGIN' ${LDFLAGS-}
