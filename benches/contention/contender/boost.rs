//! Boost.Interprocess, through a few lines of C++ (`boost.cpp`) that are compiled when the bench starts.

use super::{Lock, library::Library};
use harness::place::Place;
use std::{
    ffi::{c_ulong, c_void},
    fs::{self, File},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const SOURCE: &str = include_str!("boost.cpp");
/// How long the compiler may take.
const LONGEST: Duration = Duration::from_secs(120);

pub struct Family {
    make: unsafe extern "C" fn(*mut c_void),
    lock: unsafe extern "C" fn(*mut c_void),
    unlock: unsafe extern "C" fn(*mut c_void),
}

impl Family {
    pub fn new() -> Result<Self, String> {
        let library = compile()?;
        // SAFETY: the types that `boost.cpp` gives them.
        unsafe {
            let size: unsafe extern "C" fn() -> c_ulong = library.function(c"boost_mutex_size");
            assert!(size() <= 4096);
            Ok(Self {
                make: library.function(c"boost_mutex_make"),
                lock: library.function(c"boost_mutex_lock"),
                unlock: library.function(c"boost_mutex_unlock"),
            })
        }
    }
}

fn compile() -> Result<Library, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let made = folder.path().join("libboost_mutex.so");
    let (source, errors) = (folder.path().join("boost.cpp"), folder.path().join("errors"));
    fs::write(&source, SOURCE).map_err(|error| error.to_string())?;
    // Errors go into a file: a pipe's end would come only when all that the compiler started have ended too.
    let mut compiler = Command::new("g++")
        .args(["-std=c++17", "-O2", "-shared", "-fPIC", "-o"])
        .args([&made, &source])
        .stdin(Stdio::null())
        .stderr(File::create(&errors).map_err(|error| error.to_string())?)
        .spawn()
        .map_err(|_| "not installed: there is no g++; on Debian, apt-get install g++ libboost-dev")?;
    let began = Instant::now();
    let status = loop {
        match compiler.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if began.elapsed() < LONGEST => thread::sleep(Duration::from_millis(5)),
            None => {
                let _ = compiler.kill();
                return Err(format!("g++ has not ended after {LONGEST:?}"));
            }
        }
    };
    let said = fs::read_to_string(&errors).unwrap_or_default();
    if status.success() {
        Library::open(&made)
    } else if said.contains("boost/") && said.contains("No such file") {
        Err("not installed: on Debian, apt-get install libboost-dev".into())
    } else {
        Err(format!("does not compile: {}", said.lines().next().unwrap_or("")))
    }
}

impl super::Family for Family {
    type Lock = Attached;

    fn prepare(&self, place: &Place) {
        // SAFETY: the place is for one mutex, and it is not used yet.
        unsafe { (self.make)(place.page()) };
    }

    fn attach(&self, place: &Place, _: usize) -> Attached {
        Attached { mutex: place.page(), lock: self.lock, unlock: self.unlock }
    }
}

pub struct Attached {
    mutex: *mut c_void,
    lock: unsafe extern "C" fn(*mut c_void),
    unlock: unsafe extern "C" fn(*mut c_void),
}

impl Lock for Attached {
    type Held<'a> = ();

    #[inline]
    fn lock(&self) {
        // SAFETY: a mutex in memory that stays mapped.
        unsafe { (self.lock)(self.mutex) };
    }

    #[inline]
    fn unlock(&self, (): ()) {
        // SAFETY: as above, and this process has it.
        unsafe { (self.unlock)(self.mutex) };
    }
}
