//! `turnlock doctor`: what it finds, and what it says to do.

use super::*;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

/// What it says of `about`, whatever else it finds.
fn findings<'a>(report: &'a Value, about: &str) -> Vec<&'a Value> {
    report["findings"].as_array().unwrap().iter().filter(|one| one["about"] == about).collect()
}

/// The one thing that it says of it.
fn one<'a>(report: &'a Value, about: &str) -> &'a Value {
    let found = findings(report, about);
    assert_eq!(found.len(), 1, "{about}: {report:#}");
    found[0]
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_file_that_is_well_has_no_problem() {
    let fixture = new_fixture();
    assert_eq!(fixture.run(&[], &["true"]), Some(0));
    let output = fixture.turnlock("doctor", &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let report = json(&output);
    assert_eq!(report["problems"], 0);
    for about in ["kernel", "version", "boot", "membarrier", "dead participants", "permissions"] {
        assert_eq!(one(&report, about)["severity"], "good", "{about}: {report:#}");
    }
    let all = text(&fixture.turnlock("doctor", &["--all"]));
    assert!(all.contains("  well: room for locks: 1 of 64 locks are in use\n"), "{all}");
    assert!(all.lines().all(|line| line.chars().count() <= 80), "{all}");
    let few = text(&fixture.turnlock("doctor", &[]));
    assert!(!few.contains("well: ") && few.contains("--all shows them"), "{few}");
}

#[test]
fn each_problem_is_found_and_what_it_says_to_do_helps() {
    let fixture = new_fixture();
    let (file, folder) = (fixture.file.clone(), fixture.folder().to_owned());
    assert_eq!(fixture.turnlock("create", &["--locks", "2", "--participants", "9"]).status.code(), Some(0));
    let dies = ["sh", "-c", "kill -9 $$"];
    assert_eq!(fixture.run(&["--lock", "it's closed", "--on-death", "inform"], &dies), Some(137));
    drop(turnlock::LockFile::open(&file).unwrap().mutex("it's closed").unwrap().lock().unwrap());
    assert_eq!(fixture.run(&["--lock", "other", "--on-death", "inform"], &dies), Some(137));
    fixture.leave_dead(&["--lock", "other"]);
    set_mode(&file, 0o1664);
    set_mode(&folder, 0o777);
    std::fs::write(folder.join(".turnlock-0123456789abcdef"), "").unwrap();
    let output = fixture.turnlock("doctor", &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    assert_eq!(report["problems"], 4, "{report:#}");
    for about in ["permissions", "folder", "room for locks"] {
        assert_eq!(one(&report, about)["severity"], "problem", "{report:#}");
    }
    let locks = findings(&report, "lock");
    assert_eq!(locks[0]["severity"], "problem");
    for about in ["dead participants", "leftovers"] {
        assert_eq!(one(&report, about)["severity"], "note", "{report:#}");
    }
    // Every line that is a command of its own, as it stands there.
    let commands =
        report["findings"].as_array().unwrap().iter().filter_map(|one| one["to_do"].as_str()).map(|to_do| {
            let command = to_do.rsplit("then: ").next().unwrap();
            command.split(", then").next().unwrap().to_owned()
        });
    let starts = ["chmod ", "rm ", "turnlock reap ", "turnlock reset ", "turnlock grow "];
    let commands: Vec<String> =
        commands.filter(|command| starts.iter().any(|start| command.starts_with(start))).collect();
    assert_eq!(commands.len(), 6, "{report:#}");
    let bin = Path::new(TURNLOCK).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    for command in &commands {
        let ran = limit::output(Command::new("sh").args(["-c", command]).env("PATH", &path)).unwrap();
        assert!(ran.status.success(), "{command}: {}", errors(&ran));
    }
    let after = fixture.turnlock("doctor", &["--json"]);
    assert_eq!(after.status.code(), Some(0), "{}", text(&after));
    let report = json(&after);
    for about in ["permissions", "room for locks", "dead participants"] {
        assert_eq!(one(&report, about)["severity"], "good", "{report:#}");
    }
    assert_eq!(findings(&report, "leftovers").len() + findings(&report, "folder").len(), 0, "{report:#}");
}

#[test]
fn a_holder_that_is_stopped_in_others_way_is_a_problem() {
    let fixture = new_fixture();
    let holder = fixture.hold(&["--label", "sleepy"]);
    let mut waiter = fixture.command("run", &[]).arg("true").spawn().unwrap();
    let kill = |signal: &str| {
        let pid = holder.pid().to_string();
        assert!(limit::status(Command::new("kill").args([signal, &pid])).unwrap().success());
    };
    kill("-STOP");
    until("a waiter waits for a stopped holder", || {
        !findings(&json_of(&fixture, "doctor"), "lock").is_empty()
    });
    let report = json_of(&fixture, "doctor");
    let found = one(&report, "lock");
    assert_eq!(found["severity"], "problem");
    assert!(found["finding"].as_str().unwrap().contains("is held by sleepy"), "{found}");
    assert!(found["to_do"].as_str().unwrap().contains(&format!("kill -CONT {}", holder.pid())), "{found}");
    kill("-CONT");
    drop(holder);
    assert!(limit::end_of(&mut waiter, "the waiter").success());
}

#[test]
fn participants_that_wait_for_one_another_are_a_problem() {
    let fixture = new_fixture();
    with_deadlock(&fixture, || {
        let report = json_of(&fixture, "doctor");
        let found = self::one(&report, "deadlock");
        assert_eq!(found["severity"], "problem", "{found}");
        let said = found["finding"].as_str().unwrap();
        assert!(said.contains("holds \"a\" and has waited for \"b\" for"), "{said}");
        assert!(said.contains("holds \"b\" and has waited for \"a\" for"), "{said}");
        assert!(
            found["to_do"].as_str().unwrap().contains(&format!("kill {}", std::process::id())),
            "{found}"
        );
    });
    assert_eq!(findings(&json_of(&fixture, "doctor"), "deadlock").len(), 0);
}

#[test]
fn where_no_file_can_be_created() {
    let of = |path: &str| {
        let output = limit::output(Command::new(TURNLOCK).args(["doctor", "--json", path])).unwrap();
        assert_eq!(output.status.code(), Some(1), "{path}: {}", text(&output));
        json(&output)
    };
    for path in ["/proc/a.lock", "/sys/a.lock"] {
        assert_eq!(one(&of(path), "file system")["severity"], "problem", "{path}");
    }
}

#[test]
fn what_is_no_lock_file_and_where_none_is_yet() {
    let fixture = new_fixture();
    let report = fixture.turnlock("doctor", &["--json"]);
    assert_eq!(report.status.code(), Some(0), "{}", text(&report));
    assert_eq!(one(&json(&report), "file")["severity"], "note");
    std::fs::write(
        &fixture.file,
        "something else, that is long enough to be read as the beginning of a lock file",
    )
    .unwrap();
    set_mode(&fixture.file, 0o666);
    let other = fixture.turnlock("doctor", &["--json"]);
    assert_eq!(other.status.code(), Some(1));
    let found = json(&other)["findings"].clone();
    assert_eq!(found.as_array().unwrap().len(), 1, "no advice to change what is not ours: {found:#}");
    let mut nowhere = Command::new(TURNLOCK);
    let nowhere = limit::output(nowhere.args(["doctor", "--json", "/no/such/folder/a.lock"])).unwrap();
    assert_eq!(
        (nowhere.status.code(), one(&json(&nowhere), "folder")["severity"].as_str()),
        (Some(1), Some("problem"))
    );
}

/// The files of former formats, as they were.
#[test]
fn a_file_of_another_format_is_a_problem_of_versions() {
    let fixture = new_fixture();
    let golden = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("tests/golden/format-1.0.lock");
    std::fs::copy(golden, &fixture.file).unwrap();
    set_mode(&fixture.file, 0o1600);
    let output = fixture.turnlock("doctor", &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    let found = one(&report, "version");
    assert_eq!(found["severity"], "problem");
    assert!(found["finding"].as_str().unwrap().contains("1.0"), "{found}");
}

/// `turnlock status` of this version cannot say whether it can be deleted.
#[test]
fn the_processes_that_use_a_file_of_another_format_are_named() {
    use std::os::fd::AsRawFd;
    let fixture = new_fixture();
    let golden = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join("tests/golden/format-1.0.lock");
    std::fs::copy(golden, &fixture.file).unwrap();
    let said = || {
        let rm = fixture.turnlock("rm", &[]);
        assert_eq!(rm.status.code(), Some(66));
        let report = json(&fixture.turnlock("doctor", &["--json"]));
        (errors(&rm), one(&report, "version")["to_do"].as_str().unwrap().to_owned())
    };
    let is_unused = |(rm, doctor): (String, String)| {
        let unused = "no process uses it now, as far as /proc shows";
        assert!(rm.contains(unused) && doctor.contains(unused), "{rm}{doctor}");
    };
    let is_used = |(rm, doctor): (String, String), user: &str| {
        assert!(rm.contains(user) && doctor.contains(user), "{rm}{doctor}: {user}");
    };
    is_unused(said());

    let mut reader =
        Command::new("sleep").arg("1000").stdin(std::fs::File::open(&fixture.file).unwrap()).spawn().unwrap();
    // What this program starts has its name until it becomes another one.
    until("it is sleep", || {
        std::fs::read_to_string(format!("/proc/{}/comm", reader.id())).unwrap() == "sleep\n"
    });
    is_used(said(), &format!("sleep (pid {}) uses it now", reader.id()));
    reader.kill().unwrap();
    reader.wait().unwrap();
    is_unused(said());

    // Mapped, and not open any more: as turnlock has it.
    let file = std::fs::File::open(&fixture.file).unwrap();
    // SAFETY: a new mapping, which nothing reads.
    let map = unsafe {
        libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    assert_ne!(map, libc::MAP_FAILED);
    drop(file);
    is_used(said(), &format!("(pid {}) uses it now", std::process::id()));
    // SAFETY: the mapping that was made above.
    assert_eq!(unsafe { libc::munmap(map, 4096) }, 0);
    is_unused(said());
}

/// A mount namespace of one's own, with an overlay, where this machine lets one have that.
#[test]
fn an_overlay_and_a_read_only_mount_are_named() {
    let fixture = new_fixture();
    let script = "set -e; cd \"$1\"; mkdir over back; mount -t tmpfs none back; mkdir back/low back/up back/work;
        mount -t overlay -o lowerdir=back/low,upperdir=back/up,workdir=back/work none over
        \"$0\" create over/a.lock >/dev/null; \"$0\" doctor --json over/a.lock
        mkdir still; mount -t tmpfs none still; \"$0\" create still/a.lock >/dev/null; mount -o remount,ro still
        \"$0\" doctor --json still/a.lock > out || test $? = 1; cat out";
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "--map-root-user", "sh", "-c", script, TURNLOCK]).arg(fixture.folder());
    let Ok(output) = limit::output(&mut unshare) else {
        println!("left out: unshare(1) is not installed");
        return;
    };
    if !output.status.success() {
        println!("left out: {}", errors(&output));
        return;
    }
    let mut reports = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
    let overlay = reports.next().unwrap().unwrap();
    assert_eq!(one(&overlay, "file system")["severity"], "note");
    assert!(one(&overlay, "file system")["finding"].as_str().unwrap().contains("overlay"), "{overlay:#}");
    let still = reports.next().unwrap().unwrap();
    assert_eq!(one(&still, "file system")["severity"], "problem", "{still:#}");
}
