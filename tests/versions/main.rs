//! What has to be written twice is compared: the ABI version, the crate's version, what the README promises.
#![cfg(not(any(loom, shuttle)))]

use std::{ffi::CStr, fs, path::Path};

support::watched_for_seconds!(support::watchdog::USUAL);

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

#[test]
fn the_soname_carries_the_abi_version() {
    let version = turnlock::capi::turnlock_abi_version();
    assert!(read("build.rs").contains(&format!("const ABI_VERSION: u32 = {version};")));
    assert!(read("install.sh").contains(&format!("abi={version}\n")));
    assert!(read("include/turnlock.h").contains(&format!("#define TURNLOCK_ABI_VERSION {version}\n")));
}

#[test]
fn the_library_says_the_crates_version() {
    // SAFETY: a NUL-terminated string that is valid for ever.
    let said = unsafe { CStr::from_ptr(turnlock::capi::turnlock_version()) };
    assert_eq!(said.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_c_texts_are_the_rust_texts() {
    for status in -40..=10 {
        // SAFETY: a NUL-terminated string that is valid for ever.
        let said = unsafe { CStr::from_ptr(turnlock::capi::turnlock_status_text(status)) };
        assert_eq!(said.to_str(), Ok(turnlock::status_text(status)));
    }
}

#[test]
fn ci_runs_the_readmes_test_command_and_nothing_else() {
    let ci = read(".ci/run");
    let command = ci.lines().rfind(|line| !line.trim().is_empty()).unwrap();
    assert!(read("README.md").contains(&format!("\n{command}\n")), "README.md does not say {command:?}");
}
