//! `cargo cinstall`, by cargo-c, gives what `install.sh` gives: soname, exported functions, headers, static library,
//! `turnlock.pc`; and what it gives works.
//!
//! Both are built here as a user builds them, but quickly. Where cargo-c is missing the test says so, and how to get it;
//! with `TURNLOCK_CARGO_C=needed`, as `ci/bindings --long` sets it, that is a failure.

use super::{c_program, text};
use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};
use support::{built, limit, watchdog};

/// How cargo-c is installed: `ci/bindings` has the version that is known to work.
fn how_to_get_it() -> String {
    let part = include_str!("../../../ci/bindings");
    let version =
        part.lines().find_map(|line| line.strip_prefix("cargo_c=")).expect("the version of cargo-c");
    format!("cargo install cargo-c --version {version} --locked")
}

fn is_there() -> bool {
    let asked = Command::new(env!("CARGO")).args(["cinstall", "--version"]).output();
    asked.is_ok_and(|asked| asked.status.success())
}

/// Runs a build, which may take minutes, from the sources and without the network.
fn build(command: &mut Command) {
    let quickly = [("LTO", "off"), ("CODEGEN_UNITS", "16"), ("DEBUG", "0")];
    command.envs(quickly.map(|(key, value)| (format!("CARGO_PROFILE_RELEASE_{key}"), value)));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).env("CARGO_NET_OFFLINE", "true");
    for of_ours in ["DESTDIR", "TURNLOCK_BUILT", "TURNLOCK_SONAME", "RUSTFLAGS"] {
        command.env_remove(of_ours);
    }
    let printed = tempfile::NamedTempFile::new().unwrap();
    command.stdout(printed.reopen().unwrap()).stderr(printed.reopen().unwrap());
    let mut child = command.spawn().unwrap();
    let ended = limit::within(limit::seconds(500), || child.try_wait().unwrap());
    let said = || fs::read_to_string(printed.path()).unwrap();
    let Some(status) = ended else {
        let _ = child.kill();
        panic!("{command:?} has not ended; it said: {}", said());
    };
    assert!(status.success(), "{command:?}: {}", said());
    watchdog::sign_of_life();
}

/// Runs a line of shell and returns what it prints.
fn shell(folder: &Path, line: &str) -> String {
    let mut command = Command::new("sh");
    command.args(["-ec", line]).current_dir(folder);
    for elsewhere in ["LD_LIBRARY_PATH", "PKG_CONFIG_PATH"] {
        command.env_remove(elsewhere);
    }
    let ran = limit::output(&mut command).unwrap();
    assert!(ran.status.success(), "{line}: {}{}", text(&ran.stdout), text(&ran.stderr));
    text(&ran.stdout)
}

/// The files of a folder, and what they say.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_owned();
                found.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// What can be compared of an installed turnlock: the same for both ways to install it.
fn facts(prefix: &Path) -> BTreeMap<&'static str, String> {
    let here = prefix.display().to_string();
    let ask = |line: &str| shell(prefix, line).replace(&here, "PREFIX").trim().to_owned();
    let pc = |what: &str| ask(&format!("PKG_CONFIG_PATH=lib/pkgconfig pkg-config {what} turnlock"));
    BTreeMap::from([
        ("soname", ask("readelf -d lib/libturnlock.so | grep SONAME | sed 's/.*\\[//; s/\\].*//'")),
        ("flags of the loader", ask("readelf -d lib/libturnlock.so | grep FLAGS_1 | sed 's/.*Flags: //'")),
        ("functions", ask("nm -D --defined-only lib/libturnlock.so | sed 's/.* //' | sort")),
        (
            "static functions",
            // Not by `nm`, which leaves what may be bitcode to a plugin of whichever LLVM is installed.
            ask("readelf -sW lib/libturnlock.a |
                sed -n 's/.* FUNC  *GLOBAL .* [0-9]* \\(turnlock_\\)/\\1/p' | sort"),
        ),
        ("names of the library", ask("cd lib; ls libturnlock.* | grep -v 'so[.][0-9]*[.]'")),
        ("compiler", pc("--cflags")),
        ("linker", pc("--libs")),
        ("version", pc("--modversion")),
        ("description", ask("grep ^Description: lib/pkgconfig/turnlock.pc")),
    ])
}

#[test]
fn cargo_c_installs_what_install_sh_does() {
    if !is_there() {
        let wanted = std::env::var_os("TURNLOCK_CARGO_C").is_some();
        let how = how_to_get_it();
        assert!(!wanted, "cargo-c is missing: {how}");
        // Not by a macro, whose words are kept from view.
        let said = format!("cargo cinstall: skipped, cargo-c is missing ({how}; or ci/bindings --long)\n");
        let _ = std::io::stderr().write_all(said.as_bytes());
        return;
    }
    let target = built::folders().0.parent().unwrap().join("cargo-c");
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    let (theirs, ours) = (here.join("cargo-c"), here.join("install.sh"));
    let mut cinstall = Command::new(env!("CARGO"));
    cinstall
        .args(["cinstall", "--release", "--locked", "-p", "turnlock-capi", "--libdir", "lib", "--prefix"])
        .arg(&theirs);
    build(cinstall.env("CARGO_TARGET_DIR", &target));
    build(Command::new(super::SCRIPT).arg(&ours).env("CARGO_TARGET_DIR", &target));

    let (by_cargo_c, by_us) = (facts(&theirs), facts(&ours));
    assert_eq!(by_cargo_c, by_us);
    assert!(
        by_us["soname"].starts_with("libturnlock.so.") && by_us["flags of the loader"].contains("NODELETE")
    );
    for functions in ["functions", "static functions"] {
        assert!(by_us[functions].lines().count() > 100, "{by_us:?}");
    }
    // Compared as such: they are too long to be shown.
    let headers = [&theirs, &ours].map(|prefix| contents(&prefix.join("include")));
    assert!(headers[0] == headers[1], "{:?}", headers.map(|found| found.into_keys().collect::<Vec<_>>()));

    // Both libraries of each, the shared one as the loader finds it by its soname.
    let program = here.join("program.c");
    fs::write(&program, c_program()).unwrap();
    for prefix in [&theirs, &ours] {
        let printed = shell(
            prefix,
            "export PKG_CONFIG_PATH=$PWD/lib/pkgconfig
            cc ../program.c $(pkg-config --cflags --libs turnlock) -o shared
            rm lib/libturnlock.so
            cc ../program.c $(pkg-config --cflags --static --libs turnlock) -o static
            LD_LIBRARY_PATH=$PWD/lib ./shared
            ./static
            LD_LIBRARY_PATH=$PWD/lib ldd ./shared | grep -o 'libturnlock.so.[0-9]*' | sort -u
            ! ldd ./static | grep libturnlock",
        );
        assert_eq!(printed.matches("alone, with fencing token ").count(), 2, "{printed}");
        assert!(printed.contains(&by_us["soname"]), "{printed}");
    }
}
