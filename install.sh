#!/bin/sh
# Builds turnlock and installs the command, the C header, the shared and the static library, and a pkg-config file.
#
#   ./install.sh [PREFIX]
#
# PREFIX            where to: /usr/local if not said; a relative one is below the current folder
# DESTDIR           a folder that stands for / until a package is unpacked elsewhere
# CARGO_TARGET_DIR  where to build: target/ beside this script if not said
# TURNLOCK_BUILT    a folder with turnlock, libturnlock.so and libturnlock.a that were built before: installs these, and
#                   builds nothing. (Built without TURNLOCK_SONAME=1, such a library has no soname.)
#
# It ends by saying how to compile and run a C program with what it installed.
set -eu

case "${1:-}" in
-h | --help)
    sed -n '2,/^[^#]/s/^#$\|^# //p' "$0"
    exit 0
    ;;
-*)
    echo "install.sh: there is no option $1; see --help" >&2
    exit 64
    ;;
esac

absolute() { # absolute PATH: below the folder that this was called from, without a slash at the end
    case $1 in
    /) echo / ;;
    /*) printf '%s\n' "${1%/}" ;;
    *) printf '%s\n' "$(pwd)/${1%/}" | sed 's:/\(\./\)*:/:g; s:/\.$::' ;;
    esac
}

prefix=$(absolute "${1:-/usr/local}")
root=$prefix
[ -z "${DESTDIR:-}" ] || root=$(absolute "$DESTDIR")$prefix
built=${TURNLOCK_BUILT:+$(absolute "$TURNLOCK_BUILT")}
[ -z "${CARGO_TARGET_DIR:-}" ] || CARGO_TARGET_DIR=$(absolute "$CARGO_TARGET_DIR")
case $prefix in
*[[:space:]\'\"\\\$\`\#\&\;\|\<\>\(\)\*\?]*)
    echo "install.sh: $prefix: pkg-config cannot pass such a path on to a compiler; choose one without blanks, quotes" \
        "and the like" >&2
    exit 64
    ;;
esac

cd "$(dirname "$0")"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
abi=3

if [ -z "$built" ]; then
    # In a folder of its own: this library has a soname, the one that cargo builds by itself has none.
    target=${CARGO_TARGET_DIR:-target}/install
    TURNLOCK_SONAME=1 cargo build --release --target-dir "$target"
    built=$target/release
fi

mkdir -p "$root/bin" "$root/include" "$root/lib/pkgconfig"
if [ -z "${DESTDIR:-}" ]; then
    # Without a ".." that was in it.
    prefix=$(cd "$prefix" && pwd)
    root=$prefix
fi
install -m 755 "$built/turnlock" "$root/bin/turnlock"
install -m 644 include/turnlock.h "$root/include/turnlock.h"
install -m 755 "$built/libturnlock.so" "$root/lib/libturnlock.so.$version"
ln -sf "libturnlock.so.$version" "$root/lib/libturnlock.so.$abi"
ln -sf "libturnlock.so.$abi" "$root/lib/libturnlock.so"
install -m 644 "$built/libturnlock.a" "$root/lib/libturnlock.a"
cat > "$root/lib/pkgconfig/turnlock.pc" <<EOF
prefix=$prefix
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: turnlock
Description: Locks in a memory-mapped file, shared by programs in any language
Version: $version
Libs: -L\${libdir} -lturnlock
Libs.private: -lpthread -ldl -lm
Cflags: -I\${includedir}
EOF

echo "turnlock $version is in $root"
if [ -n "${DESTDIR:-}" ]; then
    echo "It is for $prefix: copy it there before using it."
    exit 0
fi

# From here on: what a compiler and the loader find by themselves, so as to say what they have to be told.
found_by_loader() { ldconfig -p 2>/dev/null | grep -q "=> $prefix/lib/libturnlock\.so"; }
PATH=$PATH:/sbin:/usr/sbin
if [ "$(id -u)" = 0 ] && ldconfig -N -v 2>/dev/null | grep -q "^$prefix/lib:"; then
    ldconfig
fi
if ! command -v pkg-config >/dev/null; then
    flags="-I$prefix/include -L$prefix/lib -lturnlock"
elif [ "$(pkg-config --variable=prefix turnlock 2>/dev/null)" = "$prefix" ]; then
    flags='$(pkg-config --cflags --libs turnlock)'
else
    flags="\$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs turnlock)"
fi
echo
echo "To compile and run a C program with it:"
echo "  cc program.c $flags -o program"
if found_by_loader; then
    echo "  ./program"
else
    echo "  LD_LIBRARY_PATH=$prefix/lib ./program"
    echo "Or, so that the program finds the library by itself:"
    echo "  cc program.c $flags -Wl,-rpath,$prefix/lib -o program"
    echo "  ./program"
fi
if [ "$(command -v turnlock)" != "$prefix/bin/turnlock" ]; then
    echo "To have the command at hand:"
    echo "  PATH=$prefix/bin:\$PATH"
fi
