//! What a language does around a lock: exceptions, two copies of the library, Ctrl-C.

use super::assert_told_of;
use nix::{sys::signal::Signal, unistd::Pid};
use std::{
    ffi::{CStr, CString, c_char, c_void},
    fs,
    os::unix::ffi::OsStrExt,
    process::{Command, Stdio},
};
use support::{NoHang, Place, built::libraries, limit, until_waiting};
use turnlock::{
    Error, LockFile,
    inspect::{self},
};

#[test]
fn an_exception_in_cpp_leaves_the_lock_to_the_next_one_which_is_told() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let program = r#"
        #include <cstring>
        #include <exception>
        #include <stdexcept>
        #include <turnlock.h>
        struct Guard {
            turnlock_mutex *mutex;
            int exceptions = std::uncaught_exceptions();
            explicit Guard(turnlock_mutex *taken) : mutex(taken) { if (turnlock_mutex_lock(mutex, nullptr) < 0) throw 1; }
            ~Guard() {
                if (std::uncaught_exceptions() == exceptions) turnlock_mutex_unlock(mutex);
                else turnlock_mutex_abandon(mutex);
            }
        };
        int main(int, char **arguments) {
            turnlock_file *file;
            turnlock_mutex *mutex;
            if (turnlock_file_open(arguments[1], nullptr, &file) < 0) return 2;
            if (turnlock_mutex_open(file, "a", nullptr, &mutex) < 0) return 3;
            try { Guard guard(mutex); throw std::runtime_error("inside"); } catch (const std::runtime_error &) {}
            if (turnlock_mutex_unlock(mutex) != TURNLOCK_ERROR_NOT_OWNER) return 4;
            if (turnlock_mutex_lock(mutex, nullptr) != TURNLOCK_OWNER_DEAD) return 5;
            if (turnlock_mutex_mark_consistent(mutex) < 0 || turnlock_mutex_unlock(mutex) < 0) return 6;
            Guard guard(mutex);
            throw std::runtime_error("this one is not caught: the process ends inside");
        }"#;
    fs::write(place.at("program.cpp"), program).unwrap();
    let libraries = libraries();
    let mut compiler = Command::new("c++");
    compiler
        .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([place.at("program"), place.at("program.cpp")])
        .arg(format!("-I{}/include", env!("CARGO_MANIFEST_DIR")))
        .arg(format!("-L{}", libraries.display()))
        .args(["-lturnlock"]);
    let compiled = limit::output(&mut compiler).unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let mut running = Command::new(place.at("program"))
        .arg(place.lock_file())
        .env("LD_LIBRARY_PATH", libraries)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let status = limit::end_of(&mut running, "the program");
    assert_eq!(status.code(), None, "it ends by abort");
    assert_told_of(&place.lock_file(), running.id());
}

#[test]
fn two_copies_of_the_library_in_one_process_exclude_each_other() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    let path = CString::new(place.lock_file().as_os_str().as_bytes()).unwrap();
    let copy = CString::new(libraries().join("libturnlock.so").as_os_str().as_bytes()).unwrap();
    // SAFETY: our own library; loaded beside the one that this test is linked with, with symbols of its own.
    let copy = unsafe { libc::dlopen(copy.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    assert!(!copy.is_null());
    let symbol = |name: &CStr| {
        // SAFETY: the library is open.
        let found = unsafe { libc::dlsym(copy, name.as_ptr()) };
        assert!(!found.is_null(), "{name:?}");
        found
    };
    type Open = unsafe extern "C" fn(*const c_char, *const c_void, *mut *mut c_void) -> i32;
    type OpenMutex = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_void, *mut *mut c_void) -> i32;
    type Try = unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32;
    type Unlock = unsafe extern "C" fn(*mut c_void) -> i32;
    let ours = LockFile::open(place.lock_file()).unwrap().mutex("a").unwrap();
    let (mut file, mut theirs) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the types are those of the header, and the arguments what it asks for.
    unsafe {
        let open: Open = std::mem::transmute(symbol(c"turnlock_file_open"));
        let open_mutex: OpenMutex = std::mem::transmute(symbol(c"turnlock_mutex_open"));
        let try_lock: Try = std::mem::transmute(symbol(c"turnlock_mutex_try_lock"));
        let unlock: Unlock = std::mem::transmute(symbol(c"turnlock_mutex_unlock"));
        assert_eq!(open(path.as_ptr(), std::ptr::null(), &mut file), 0);
        assert_eq!(open_mutex(file, c"a".as_ptr(), std::ptr::null(), &mut theirs), 0);
        let guard = ours.lock().unwrap();
        assert_eq!(try_lock(theirs, std::ptr::null_mut()), turnlock::status::TURNLOCK_ERROR_WOULD_BLOCK);
        guard.unlock().unwrap();
        assert_eq!(try_lock(theirs, std::ptr::null_mut()), 0);
        assert!(matches!(ours.try_lock(), Err(Error::WouldBlock(_))));
        assert_eq!(unlock(theirs), 0);
    }
    drop(ours.try_lock().unwrap());
}

#[test]
fn ctrl_c_ends_the_wait_of_a_python_program_at_once() {
    let (_no_hang, place) = (NoHang::for_seconds(60), Place::new());
    fs::write(place.at("counter"), "0\n").unwrap();
    fs::write(place.at("journal"), "").unwrap();
    let path = place.at("demo.lock");
    let mutex = LockFile::open(&path).unwrap().mutex("counter").unwrap();
    let guard = mutex.lock().unwrap();
    let output = fs::File::create(place.at("output")).unwrap();
    let mut python = Command::new("python3")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/counter.py"))
        .args([place.folder().to_str().unwrap(), "1"])
        .env("TURNLOCK_LIBRARY", libraries().join("libturnlock.so"))
        .stderr(output)
        .spawn()
        .unwrap();
    until_waiting(&path, "counter", 1);
    nix::sys::signal::kill(Pid::from_raw(python.id() as i32), Signal::SIGINT).unwrap();
    let status = limit::end_of(&mut python, "the program");
    assert_eq!(status.code(), Some(1));
    let said = fs::read_to_string(place.at("output")).unwrap();
    assert!(said.contains("interrupted"), "{said}");
    let after = inspect::snapshot(&path).unwrap();
    assert!(after.locks[0].queue.is_empty() && after.locks[0].state == "consistent", "{after:?}");
    guard.unlock().unwrap();
}
