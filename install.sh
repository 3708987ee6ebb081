#!/bin/sh
# Builds turnlock and installs the command, the headers for C and C++, the shared and the static library, the manual pages,
# what bash, zsh and fish complete its command lines by, what pkg-config and CMake find it by, and, where SQLite's headers are
# (libsqlite3-dev), the extension turnlock_vfs for SQLite.
#
#   ./install.sh [PREFIX]
#
# PREFIX            where to: /usr/local if not said; a relative one is below the current folder
# DESTDIR           a folder that stands for / until a package is unpacked elsewhere
# CARGO_TARGET_DIR  where to build: target/ beside this script if not said. What `cargo build --release` has built there is
#                   not built again, but for the C library, which has a soname then, and the command, which has all of its parts then
# TURNLOCK_SYMBOLS  not empty: symbols and line numbers are installed too, for debuggers and profilers (the command is five times as large then)
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
abi=4

if [ -z "$built" ]; then
    # With a soname, which the library that cargo builds by itself has not: under that name only an installed one is found.
    TURNLOCK_SONAME=1 cargo build --release --features turnlock-cli/full
    built=${CARGO_TARGET_DIR:-target}/release
fi

mkdir -p "$root/bin" "$root/include/turnlock" "$root/lib/pkgconfig" "$root/lib/cmake/turnlock" "$root/share/man/man1" \
    "$root/share/man/man3"
if [ -z "${DESTDIR:-}" ]; then
    # Without a ".." that was in it.
    prefix=$(cd "$prefix" && pwd)
    root=$prefix
fi
without() { # without WHAT FILE: leaves it out of an installed file, where there is strip(1)
    if [ -z "${TURNLOCK_SYMBOLS:-}" ] && command -v strip >/dev/null; then
        strip "$1" "$2"
    fi
}
install -m 755 "$built/turnlock" "$root/bin/turnlock"
without --strip-all "$root/bin/turnlock"
install -m 644 include/turnlock.h bindings/cpp/turnlock.hpp "$root/include/"
install -m 644 bindings/cpp/turnlock/*.hpp "$root/include/turnlock/"
install -m 755 "$built/libturnlock.so" "$root/lib/libturnlock.so.$version"
without --strip-unneeded "$root/lib/libturnlock.so.$version"
ln -sf "libturnlock.so.$version" "$root/lib/libturnlock.so.$abi"
ln -sf "libturnlock.so.$abi" "$root/lib/libturnlock.so"
install -m 644 "$built/libturnlock.a" "$root/lib/libturnlock.a"
without --strip-debug "$root/lib/libturnlock.a"
# The extension for SQLite, where its headers are.
rm -f "$root/lib/turnlock_vfs.so"
extension=0
said=$(integrations/sqlite/build.sh include "$root/lib" "$root/lib/turnlock_vfs.so" 2>&1) || extension=$?
if [ "$extension" != 0 ] && [ "$extension" != 3 ]; then
    printf '%s\n' "$said" >&2
    exit 1
fi
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


# For find_package(turnlock). It says no path: wherever it lies, the rest lies beside it.
cat > "$root/lib/cmake/turnlock/turnlockConfig.cmake" <<'EOF'
get_filename_component(_turnlock_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET turnlock::turnlock)
  add_library(turnlock::turnlock SHARED IMPORTED)
  set_target_properties(turnlock::turnlock PROPERTIES
    IMPORTED_LOCATION "${_turnlock_prefix}/lib/libturnlock.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_turnlock_prefix}/include")
  add_library(turnlock::static STATIC IMPORTED)
  set_target_properties(turnlock::static PROPERTIES
    IMPORTED_LOCATION "${_turnlock_prefix}/lib/libturnlock.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_turnlock_prefix}/include"
    INTERFACE_LINK_LIBRARIES "pthread;dl;m")
endif()
unset(_turnlock_prefix)
EOF
# Versions before 1.0 are compatible within a minor one, later ones within a major one.
cat > "$root/lib/cmake/turnlock/turnlockConfigVersion.cmake" <<EOF
set(PACKAGE_VERSION "$version")
set(_turnlock_series "^${version%%.*}(\\\\.|\$)")
EOF
cat >> "$root/lib/cmake/turnlock/turnlockConfigVersion.cmake" <<'EOF'
if(PACKAGE_VERSION MATCHES "^(0\\.[0-9]+)\\.")
  set(_turnlock_series "^(0|${CMAKE_MATCH_1}(\\.[0-9]+)*)$")
endif()
if(PACKAGE_FIND_VERSION STREQUAL "" OR
   (PACKAGE_FIND_VERSION MATCHES "${_turnlock_series}" AND NOT PACKAGE_VERSION VERSION_LESS PACKAGE_FIND_VERSION))
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
else()
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
endif()
if(PACKAGE_VERSION VERSION_EQUAL PACKAGE_FIND_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
unset(_turnlock_series)
EOF

# A page of section 1 for each command; and of section 3 for each noun, which its functions are links to.
for page in man/*; do
    name=$(basename "$page")
    section=${name##*.}
    install -m 644 "$page" "$root/share/man/man$section/"
    sed -n 's/^\.\\" link: //p' "$page" | while read -r link; do
        ln -sf "$name" "$root/share/man/man$section/$link.$section"
    done
done

# Where each shell looks for what it completes by.
completions() { # completions SHELL FILE
    mkdir -p "$(dirname "$root/share/$2")"
    "$built/turnlock" completions "$1" > "$root/share/$2"
}
completions bash bash-completion/completions/turnlock
completions zsh zsh/site-functions/_turnlock
completions fish fish/vendor_completions.d/turnlock.fish

echo "turnlock $version is in $root"
[ "$extension" = 0 ] || echo "without turnlock_vfs, the extension for SQLite: $said"
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
