//! The Debian packages that `ci/package` builds, unpacked into an empty folder: what they have works together.

use super::{built_folder, c_program, text};
use std::{fs, path::Path, process::Command};
use support::limit;

#[test]
fn unpacked_together_they_have_the_command_the_library_and_its_headers() {
    if !Command::new("dpkg-deb").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("left out: dpkg-deb is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    let built = built_folder(&here);
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("ci/package");
    let mut command = Command::new(package);
    command.args(["--out", "packages", "deb"]).current_dir(&here).env("TURNLOCK_BUILT", built);
    // They need not be small here, and should be made at once.
    command.env("DPKG_DEB_COMPRESSOR_TYPE", "none");
    let packaged = limit::output(&mut command).unwrap();
    assert!(packaged.status.success(), "{}", text(&packaged.stderr));
    let mut names: Vec<String> =
        text(&packaged.stdout).lines().map(|line| line.split('_').next().unwrap().into()).collect();
    names.sort_unstable();
    assert_eq!(names, ["libturnlock-dev", "libturnlock4", "turnlock"]);

    fs::write(here.join("program.c"), c_program()).unwrap();
    let script = "
        for package in packages/*.deb; do dpkg-deb -x \"$package\" root; done
        for package in packages/*.deb; do dpkg-deb -f \"$package\" Package Version Depends; done
        cc program.c -Iroot/usr/include -Lroot/usr/lib -lturnlock -o program
        LD_LIBRARY_PATH=root/usr/lib ./program
        root/usr/bin/turnlock --version
        readelf -d program | grep NEEDED";
    let ran = limit::output(Command::new("sh").args(["-ec", script]).current_dir(&here)).unwrap();
    let said = text(&ran.stdout);
    assert!(ran.status.success(), "{said}{}", text(&ran.stderr));
    let version = env!("CARGO_PKG_VERSION");
    for what in [
        &format!("Version: {version}\n"),
        &format!("Depends: libturnlock4 (= {version})\n"),
        "Depends: libc6 (>= 2.",
        "alone, with fencing token ",
        &format!("turnlock {version}\n"),
        // What the program asks the loader for is what the library's package has.
        "[libturnlock.so",
    ] {
        assert!(said.contains(what), "no {what:?}: {said}");
    }
}
