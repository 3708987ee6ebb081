//! Open lock files whose path leads elsewhere, or nowhere.

use nix::{
    sched::{CloneFlags, unshare},
    sys::wait::{WaitStatus, waitpid},
    unistd::{ForkResult, chdir, chroot, fork, geteuid},
};
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::Path,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
};
use support::{
    NoHang, Place,
    actor::{Actor, hear, say},
    descriptor::memfd,
    elsewhere, join,
    namespace::{in_private_mounts, mount_memory},
    puppet::Puppet,
};
use turnlock::{Error, LockFile, Mutex, inspect, status::*};

/// New threads attach, one after the other, until `renames` is through.
fn threads_attach_while(mutex: &Mutex, renames: impl FnOnce()) {
    let done = AtomicBool::new(false);
    let attached = thread::scope(|threads| {
        let attaching = threads.spawn(|| {
            let mut attached = 0;
            while attached == 0 || !done.load(SeqCst) {
                elsewhere(|| mutex.lock().map(drop)).unwrap();
                attached += 1;
            }
            attached
        });
        renames();
        done.store(true, SeqCst);
        join(attaching)
    });
    assert!(attached > 0);
}

#[test]
fn while_the_file_and_its_folder_are_renamed_new_threads_attach() {
    let _no_hang = NoHang::for_seconds(100);
    let place = Place::new();
    let folder = |name: &str| place.at(name);
    fs::create_dir_all(folder("one").join("inner")).unwrap();
    let path = folder("one").join("inner/test.lock");
    let file = LockFile::options().participants(4).locks(1).open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    threads_attach_while(&mutex, || {
        for _ in 0..200 {
            fs::rename(folder("one"), folder("two")).unwrap();
            fs::rename(folder("two").join("inner"), folder("two").join("moved")).unwrap();
            fs::rename(folder("two").join("moved/test.lock"), folder("two").join("other.lock")).unwrap();
            fs::rename(folder("two").join("other.lock"), folder("two").join("moved/test.lock")).unwrap();
            fs::rename(folder("two").join("moved"), folder("two").join("inner")).unwrap();
            fs::rename(folder("two"), folder("one")).unwrap();
        }
    });
    assert_eq!(inspect::snapshot(&path).unwrap().participants.len(), 1, "all have left but this one");
}

#[test]
fn after_a_rename_deaths_are_seen_and_participants_are_inherited() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    fs::create_dir(place.at("one")).unwrap();
    let path = place.at("one").join("test.lock");
    let file = LockFile::open(&path).unwrap();
    let mutex = file.mutex("a").unwrap();
    let mut holder = Puppet::that_holds(&path, "a");
    fs::rename(place.at("one"), place.at("two")).unwrap();
    assert!(matches!(elsewhere(|| mutex.try_lock().map(drop)), Err(Error::WouldBlock(_))));
    holder.0.kill();
    let mut guard = mutex.lock().unwrap();
    assert_eq!(guard.previous_owner().unwrap().pid, holder.0.pid());
    guard.mark_consistent().unwrap();
    drop(guard);
    // One that a child inherits has an open file of its own, which no kept descriptor is.
    let inherited = file.participant_options().inherited_by_children(true).open().unwrap();
    mutex.lock_as(&inherited).unwrap().unlock().unwrap();
    assert_eq!(
        file.path(),
        path.parent().unwrap().parent().unwrap().canonicalize().unwrap().join("one/test.lock")
    );
}

/// A forked child opens the file for itself, by what it has of its parent.
pub fn child_attaches(words: &[String]) {
    let [old, new] = [0, 1].map(|word| Path::new(&words[word]));
    let file = LockFile::open(old).unwrap();
    let mutex = file.mutex("a").unwrap();
    drop(mutex.lock().unwrap());
    if words[2] == "delete" {
        fs::remove_file(old).unwrap();
    } else {
        fs::rename(old, new).unwrap();
    }
    if words[2] == "replace" {
        drop(LockFile::open(old).unwrap());
    }
    // SAFETY: this process has one thread.
    match unsafe { fork() }.unwrap() {
        ForkResult::Child => {
            let code = mutex.lock().map_or_else(|error| -error.code(), |_| 0);
            // SAFETY: ends this process, and nothing else of it runs.
            unsafe { libc::_exit(code) }
        }
        ForkResult::Parent { child } => match waitpid(child, None).unwrap() {
            WaitStatus::Exited(_, code) => say(&format!("child {code}")),
            other => panic!("{other:?}"),
        },
    }
    hear();
}

#[test]
fn a_forked_child_attaches_after_a_rename_and_is_told_of_a_deletion() {
    let _no_hang = NoHang::for_seconds(60);
    for (what, code) in
        [("rename", 0), ("delete", -TURNLOCK_ERROR_REPLACED), ("replace", -TURNLOCK_ERROR_REPLACED)]
    {
        let place = Place::new();
        let (old, new) = (place.lock_file(), place.at("new.lock"));
        let words = [old.to_str().unwrap(), new.to_str().unwrap(), what];
        let mut parent = Actor::start("child_attaches", &words);
        assert_eq!(parent.expect_number("child"), code as u64, "{what}");
        parent.dismiss();
    }
}

#[test]
fn where_the_path_names_another_file_newcomers_are_told() {
    let place = Place::new();
    fs::create_dir(place.at("one")).unwrap();
    let path = place.at("one").join("test.lock");
    let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
    fs::rename(place.at("one"), place.at("two")).unwrap();
    elsewhere(|| mutex.lock().map(drop)).unwrap();
    fs::create_dir(place.at("one")).unwrap();
    elsewhere(|| mutex.lock().map(drop)).unwrap();
    LockFile::open(&path).unwrap();
    let told = elsewhere(|| mutex.lock().map(drop)).unwrap_err();
    assert_eq!(told.code(), TURNLOCK_ERROR_REPLACED, "{told}");
    // Back in its place, it is what it was.
    fs::remove_dir_all(place.at("one")).unwrap();
    fs::rename(place.at("two"), place.at("one")).unwrap();
    elsewhere(|| mutex.lock().map(drop)).unwrap();
    // A link in its place is another file too.
    fs::rename(&path, place.at("moved.lock")).unwrap();
    std::os::unix::fs::symlink(place.at("moved.lock"), &path).unwrap();
    assert_eq!(elsewhere(|| mutex.lock().map(drop)).unwrap_err().code(), TURNLOCK_ERROR_REPLACED);
}

/// What a mount hides, the file's own descriptor finds.
#[test]
fn under_a_mount_over_its_folder_new_threads_attach() {
    let _no_hang = NoHang::for_seconds(60);
    let place = Place::new();
    let folder = place.at("run");
    fs::create_dir(&folder).unwrap();
    let path = folder.join("test.lock");
    in_private_mounts(|| {
        let mutex = LockFile::open(&path).unwrap().mutex("a").unwrap();
        mount_memory(&folder, 1 << 20)?;
        // Threads of this one have its mounts.
        elsewhere(|| mutex.lock().map(drop)).unwrap();
        // Here newcomers take turns in another file.
        LockFile::open(&path).unwrap();
        assert_eq!(elsewhere(|| mutex.lock().map(drop)).unwrap_err().code(), TURNLOCK_ERROR_REPLACED);
        Ok(())
    });
}

#[test]
fn a_file_is_closed_with_all_that_was_kept_of_it() {
    let place = Place::new();
    let ours = |path: &Path| {
        let number = fs::metadata(path).unwrap().ino();
        let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
        links.filter(|link| fs::metadata(link.path()).is_ok_and(|to| to.ino() == number)).count()
    };
    let path = place.lock_file();
    let file = LockFile::open(&path).unwrap();
    assert_eq!(ours(&path), 3, "look, spare and anchor");
    let mutex = file.mutex("a").unwrap();
    elsewhere(|| mutex.lock().map(drop)).unwrap();
    assert_eq!(ours(&path), 3);
    elsewhere(|| drop((file, mutex)));
    drop(LockFile::open(place.at("other.lock")).unwrap().mutex("a").unwrap().lock().unwrap());
    assert_eq!(ours(&path), 0);
}

/// In an empty root the file has neither a path nor `/proc`.
pub fn loses_proc(words: &[String]) {
    let given = memfd();
    let by_path = LockFile::open(&words[0]).unwrap();
    let by_descriptor = LockFile::open_descriptor(&given).unwrap();
    let allowed = geteuid().is_root() || unshare(CloneFlags::CLONE_NEWUSER).is_ok();
    if !allowed || chroot(Path::new(&words[1])).and_then(|()| chdir("/")).is_err() {
        return say("not allowed");
    }
    let again = LockFile::open_descriptor(&given).map(drop).unwrap_err();
    assert_eq!(again.code(), TURNLOCK_ERROR_SYSTEM);
    assert!(again.to_string().contains("/proc must be mounted"), "{again}");
    for file in [by_path, by_descriptor] {
        let mutex = file.mutex("a").unwrap();
        elsewhere(|| mutex.lock().map(drop)).unwrap();
        let inherited = file.participant_options().inherited_by_children(true).open().map(drop).unwrap_err();
        assert!(inherited.to_string().contains("by way of /proc, fails"), "{inherited}");
        // SAFETY: this process has one thread.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                let refused = mutex.lock().map(drop).unwrap_err();
                let told = refused.to_string().contains("by way of /proc, fails");
                // SAFETY: ends this process, and nothing else of it runs.
                unsafe { libc::_exit(i32::from(!told)) }
            }
            ForkResult::Parent { child } => {
                assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
            }
        }
        elsewhere(|| mutex.lock().map(drop)).unwrap();
    }
    say("done");
    hear();
}

#[test]
fn what_needs_an_open_file_of_its_own_is_refused_without_proc_and_threads_go_on() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    fs::create_dir(place.at("empty")).unwrap();
    let (file, root) = (place.lock_file(), place.at("empty"));
    let mut actor = Actor::start("loses_proc", &[file.to_str().unwrap(), root.to_str().unwrap()]);
    if actor.hear() == "not allowed" {
        println!("LEFT OUT, since this machine does not allow it: another root");
    } else {
        actor.dismiss();
    }
}

/// Elsewhere the words of a path name something else, which says nothing of the file.
#[test]
fn below_another_root_a_file_of_the_same_path_is_nothing_to_it() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let root = place.at("root");
    let path = place.lock_file();
    let inside = root.join(path.strip_prefix("/").unwrap());
    fs::create_dir_all(inside.parent().unwrap()).unwrap();
    fs::write(&inside, "another file").unwrap();
    let mut actor = Actor::start("changes_its_root", &[path.to_str().unwrap(), root.to_str().unwrap()]);
    if actor.hear() == "not allowed" {
        println!("LEFT OUT, since this machine does not allow it: another root");
    } else {
        actor.dismiss();
    }
}

pub fn changes_its_root(words: &[String]) {
    let mutex = LockFile::open(&words[0]).unwrap().mutex("a").unwrap();
    let allowed = geteuid().is_root() || unshare(CloneFlags::CLONE_NEWUSER).is_ok();
    if !allowed || chroot(Path::new(&words[1])).and_then(|()| chdir("/")).is_err() {
        return say("not allowed");
    }
    assert!(fs::metadata(&words[0]).is_ok(), "there is such a file");
    elsewhere(|| mutex.lock().map(drop)).unwrap();
    say("done");
    hear();
}
