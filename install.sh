#!/bin/sh
# Builds turnlock and installs the command, the C header, the shared and the static library, and a pkg-config file.
#
#   ./install.sh [PREFIX]        PREFIX is /usr/local if not said; DESTDIR is honoured
#
# Then: cc program.c $(pkg-config --cflags --libs turnlock)
set -eu
cd "$(dirname "$0")"

case "${1:-}" in
-h | --help)
    sed -n '2,6s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
esac
prefix=${1:-/usr/local}
root=${DESTDIR:-}$prefix
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
abi=2

# In a folder of its own: this library has a soname, the one in target/ has none.
TURNLOCK_SONAME=1 cargo build --release --target-dir target/install
built=target/install/release

mkdir -p "$root/bin" "$root/include" "$root/lib/pkgconfig"
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
[ -n "${DESTDIR:-}" ] || [ "$(id -u)" != 0 ] || ldconfig 2>/dev/null || true
echo "turnlock $version is in $root"
