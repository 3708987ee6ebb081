//! What has to be written twice is compared: the ABI version, the crate's version, what the README promises.

use std::{ffi::CStr, fs, path::Path};

support::watched_for_seconds!(support::watchdog::USUAL);

fn read(file: &str) -> String {
    fs::read_to_string(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(file)).unwrap()
}

#[test]
fn the_soname_carries_the_abi_version() {
    let version = turnlock::capi::turnlock_abi_version();
    assert!(read("capi/build.rs").contains(&format!("const ABI_VERSION: u32 = {version};")));
    assert!(read("install.sh").contains(&format!("abi={version}\n")));
    // cargo-c's.
    assert!(read("capi/Cargo.toml").contains(&format!("\nversion = \"{version}.0.0\"\n")));
    assert!(read("include/turnlock.h").contains(&format!("#define TURNLOCK_ABI_VERSION {version}\n")));
}

#[test]
fn the_library_says_the_crates_version() {
    // SAFETY: a NUL-terminated string that is valid for ever.
    let said = unsafe { CStr::from_ptr(turnlock::capi::turnlock_version()) };
    assert_eq!(said.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_header_says_the_crates_version() {
    let header = read("include/turnlock.h");
    let value = |name: &str| {
        let line = header.lines().find_map(|line| line.strip_prefix(&format!("#define {name} ")));
        line.unwrap_or_else(|| panic!("no {name}")).to_owned()
    };
    let parts = ["MAJOR", "MINOR", "PATCH"].map(|part| value(&format!("TURNLOCK_VERSION_{part}")));
    assert_eq!(parts.join("."), env!("CARGO_PKG_VERSION"));
    assert_eq!(value("TURNLOCK_VERSION"), format!("\"{}\"", env!("CARGO_PKG_VERSION")));
    let [major, minor, patch] = parts.map(|part| part.parse::<u32>().unwrap());
    let number = major * 1_000_000 + minor * 1_000 + patch;
    assert_eq!(turnlock::capi::turnlock_version_number(), number);
    let formula =
        "(TURNLOCK_VERSION_MAJOR * 1000000 + TURNLOCK_VERSION_MINOR * 1000 + TURNLOCK_VERSION_PATCH)";
    assert_eq!(value("TURNLOCK_VERSION_NUMBER"), formula);
}

/// The numbers that stand in lock files: `src/layout/kinds.rs` has them, and a test there compares the format's document
/// with them; here the document is compared with the header and with the command.
#[test]
fn the_header_and_the_command_have_the_numbers_and_names_of_the_format() {
    let (document, header) = (read("docs/format.md"), read("include/turnlock.h"));
    let row = |field: &str| -> Vec<(u32, String)> {
        let line = document.lines().find(|line| line.contains(&format!("| `{field}` |"))).unwrap();
        let meaning = line.rsplit('|').nth(1).unwrap().split(';').next().unwrap();
        let pairs = meaning.split(',').map(|pair| pair.split_once(" = ").unwrap());
        pairs.map(|(number, name)| (number.trim().parse().unwrap(), name.trim().to_owned())).collect()
    };
    let (algorithms, policies) = (row("algorithm"), row("death_policy"));
    let mut constants: Vec<(u32, String)> = header
        .lines()
        .filter_map(|line| line.strip_prefix("#define TURNLOCK_ALGORITHM_")?.split_once(' '))
        .map(|(name, number)| (number.parse().unwrap(), name.to_lowercase().replace('_', "-")))
        .collect();
    // Those of each kind stand with it.
    constants.sort();
    assert_eq!(constants, algorithms);
    assert_eq!(policies, [(0, "inform".to_owned()), (1, "release".to_owned())]);
    for (kind, policy) in ["MUTEX", "RWLOCK", "RANGELOCK", "KEYEDLOCK", "RING"]
        .into_iter()
        .flat_map(|kind| [(kind, "INFORM"), (kind, "RELEASE")])
    {
        assert!(header.contains(&format!("#define TURNLOCK_{kind}_{policy}_ON_DEATH ")), "{kind}");
    }
    for (option, names) in [("--algorithm", algorithms), ("--on-death", policies)] {
        let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_turnlock"));
        let refused = run.args(["run", option, "none", "file", "true"]).output().unwrap();
        let names: Vec<String> = names.into_iter().map(|(_, name)| name).collect();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains(&format!("[possible values: {}]", names.join(", "))), "{said}");
    }
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
