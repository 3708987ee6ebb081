//! `turnlock grow`, killed before each of its system calls: the old file stands, or the new one.
//!
//! Between two system calls it writes into the memory of a file that has no name yet, and nothing that others can see.

use super::{
    growing::{locks, tokens, with_everything},
    *,
};
use serde_json::Value;
use std::{ffi::c_long, os::unix::process::CommandExt, ptr};

/// More than it makes, by far.
const MOST: u32 = 20_000;

/// Has this thread and the processes that it starts run on the processor that it is on: each stop is then a switch there, and wakes up no
/// other processor.
fn stay_on_this_processor() {
    // SAFETY: plain data, of which all zeros is the empty set.
    let mut here: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is ours, and a processor's number is in it.
    unsafe {
        libc::CPU_SET(libc::sched_getcpu() as usize, &mut here);
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&here), &here), 0);
    }
}

/// Runs `command` and kills it before its system call number `call`, counted from its start. Returns whether it came to that
/// call.
fn kill_before(command: &mut Command, call: u32) -> bool {
    // SAFETY: between fork and exec; asks the kernel only to be traced by the parent.
    unsafe {
        command.pre_exec(|| match libc::ptrace(libc::PTRACE_TRACEME) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
    #[allow(clippy::zombie_processes, reason = "waited for by its number, as a tracer does")]
    let pid = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap().id() as i32;
    // It has stopped, or ended.
    let wait = || {
        let mut status = 0;
        // SAFETY: the status is ours.
        let waited = unsafe { libc::waitpid(pid, &mut status, 0) };
        assert_eq!(waited, pid, "{}", std::io::Error::last_os_error());
        status
    };
    let ask = |request, data: c_long| {
        // SAFETY: a child that is stopped; these requests touch no memory of ours.
        let asked = unsafe { libc::ptrace(request, pid, ptr::null_mut::<u8>(), data) };
        assert_eq!(asked, 0, "{}", std::io::Error::last_os_error());
    };
    assert!(libc::WIFSTOPPED(wait()), "it ended at exec");
    ask(libc::PTRACE_SETOPTIONS, c_long::from(libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_EXITKILL));
    // Each call stops it before and after.
    for stop in 1.. {
        ask(libc::PTRACE_SYSCALL, 0);
        let status = wait();
        if libc::WIFEXITED(status) {
            assert_eq!(libc::WEXITSTATUS(status), 0);
            return false;
        }
        assert!(libc::WIFSTOPPED(status) && libc::WSTOPSIG(status) == libc::SIGTRAP | 0x80, "{status:#x}");
        if stop == 2 * call - 1 {
            break;
        }
    }
    // SAFETY: our child, which has not been waited for.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    assert!(libc::WIFSIGNALED(wait()));
    true
}

#[test]
fn killed_at_any_moment_the_old_file_stands_or_the_new_one() {
    let model = new_fixture();
    with_everything(&model);
    let (before, bytes) = (json_of(&model, "status"), std::fs::read(&model.file).unwrap());
    let fixture = new_fixture();
    stay_on_this_processor();
    let (mut old, mut new, mut left) = (0, 0, 0);
    for call in 1..MOST {
        for entry in fixture.folder().read_dir().unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        std::fs::copy(&model.file, &fixture.file).unwrap();
        let mut grow = fixture.command("grow", &["--participants", "20", "--locks", "30"]);
        let was_killed = kill_before(&mut grow, call);
        let status = turnlock::inspect::snapshot(&fixture.file).unwrap();
        match (status.participant_capacity, status.lock_capacity) {
            (8, 14) => {
                old += 1;
                assert!(was_killed);
                assert!(
                    std::fs::read(&fixture.file).unwrap() == bytes,
                    "it has changed the old file, call {call}"
                );
            }
            (20, 30) => {
                new += 1;
                let after: Value = serde_json::to_value(&status).unwrap();
                assert_eq!(locks(&after), locks(&before), "call {call}");
                assert!(tokens(&after).iter().zip(tokens(&before)).all(|(after, before)| *after > before));
            }
            other => panic!("killed before call {call}, it has room for {other:?}"),
        }
        for entry in fixture.folder().read_dir().unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            left += u32::from(name != "test.lock");
            assert!(name == "test.lock" || name.starts_with(".turnlock-"), "{name}");
        }
        // The next one gets in.
        let file = turnlock::LockFile::options().must_exist(true).open(&fixture.file).unwrap();
        drop(file.mutex("well").unwrap().lock().unwrap());
        drop(file);
        if !was_killed {
            println!(
                "killed before each of {} calls: the old file {old} times, the new one {new}; {left} left beside",
                call - 1
            );
            assert!(old > 50 && new > 3, "{old} {new}");
            return;
        }
    }
    panic!("it makes more than {MOST} system calls");
}
