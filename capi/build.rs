//! Has the shared library stay loaded once it is, and gives an installed one its soname, so that a program linked against one ABI
//! never loads another.
//!
//! The soname only where `TURNLOCK_SONAME` is set, as `install.sh` does: a library that is used from `target/` has no
//! `libturnlock.so.4` beside it. The number is that of `src/capi/version.rs`; `cli/tests/versions` compares the two.

const ABI_VERSION: u32 = 4;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=TURNLOCK_SONAME");
    // The library's handler for SIGBUS, its thread key and its fork handlers outlive `dlclose`: so must the library.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    if std::env::var_os("TURNLOCK_SONAME").is_some() {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libturnlock.so.{ABI_VERSION}");
    }
}
