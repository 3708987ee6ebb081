//! One participant, nobody else: what lock + unlock costs, beside what else a program could take.
//!
//! `cargo bench --bench uncontended`. The turnlock rows are measured with 1, 8 and 64 slots in use, since the bakery
//! looks at every slot in use; the others know no slots. "C ABI" calls the shared library, as a C program does.
//! Absolute numbers belong to the machine; compare rows of one run.

#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use std::{
    ffi::{CStr, CString, c_char, c_int, c_void},
    hint::black_box,
    mem::MaybeUninit,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr,
};
use turnlock::{LockFile, Participant};

const SLOTS_IN_USE: [usize; 3] = [1, 8, 64];

/// Participants beside the one that is measured, so that so many slots are in use.
fn others(file: &LockFile, in_use: usize) -> Vec<Participant> {
    (1..in_use).map(|_| file.participant().unwrap()).collect()
}

fn turnlock_rust(c: &mut Criterion, folder: &Path) {
    let mut group = c.benchmark_group("uncontended/turnlock Rust");
    for in_use in SLOTS_IN_USE {
        let file = LockFile::open(folder.join(format!("rust-{in_use}.lock"))).unwrap();
        let _others = others(&file, in_use);
        let mutex = file.mutex("bench").unwrap();
        group.bench_function(BenchmarkId::from_parameter(format!("{in_use} slots")), |b| {
            b.iter(|| drop(black_box(mutex.lock().unwrap())));
        });
    }
}

type Open = unsafe extern "C" fn(*const c_char, *const c_void, *mut *mut c_void) -> i32;
type OpenMutex = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_void, *mut *mut c_void) -> i32;
type Lock = unsafe extern "C" fn(*mut c_void, *mut c_void) -> i32;
type Unlock = unsafe extern "C" fn(*mut c_void) -> i32;

/// The shared library beside this program: `target/release/libturnlock.so`.
fn shared_library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.ancestors()
        .map(|folder| folder.join("libturnlock.so"))
        .find(|file| file.exists())
        .expect("libturnlock.so")
}

fn symbol<T: Copy>(library: *mut c_void, name: &CStr) -> T {
    // SAFETY: `library` is open; the caller names the type that the header gives the function.
    unsafe {
        let found = libc::dlsym(library, name.as_ptr());
        assert!(!found.is_null(), "{name:?}");
        std::mem::transmute_copy(&found)
    }
}

fn turnlock_c(c: &mut Criterion, folder: &Path) {
    let mut group = c.benchmark_group("uncontended/turnlock C ABI");
    let path = CString::new(shared_library().as_os_str().as_bytes()).unwrap();
    // SAFETY: loading our own library has no surprising initialisers.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null(), "cannot load {path:?}");
    let open: Open = symbol(library, c"turnlock_file_open");
    let open_mutex: OpenMutex = symbol(library, c"turnlock_mutex_open");
    let lock: Lock = symbol(library, c"turnlock_mutex_lock");
    let unlock: Unlock = symbol(library, c"turnlock_mutex_unlock");
    for in_use in SLOTS_IN_USE {
        let path = folder.join(format!("c-{in_use}.lock"));
        let file = LockFile::open(&path).unwrap();
        let _others = others(&file, in_use);
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        let (mut file, mut mutex) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: strings, NULL options and places for the handles, as the header says.
        unsafe {
            assert_eq!(open(path.as_ptr(), ptr::null(), &mut file), 0);
            assert_eq!(open_mutex(file, c"bench".as_ptr(), ptr::null(), &mut mutex), 0);
        }
        group.bench_function(BenchmarkId::from_parameter(format!("{in_use} slots")), |b| {
            // SAFETY: a mutex handle, and no place for `acquired`.
            b.iter(|| unsafe { (lock(black_box(mutex), ptr::null_mut()), unlock(black_box(mutex))) });
        });
    }
}

/// A page that other processes could map, where a peer's lock lies.
fn shared<T>() -> *mut T {
    // SAFETY: a fresh anonymous mapping, kept for the life of the program.
    let page = unsafe {
        libc::mmap(
            ptr::null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(page, libc::MAP_FAILED);
    page.cast()
}

fn pthread_mutex(robust: bool) -> *mut libc::pthread_mutex_t {
    let mutex = shared::<libc::pthread_mutex_t>();
    let mut attributes = MaybeUninit::uninit();
    // SAFETY: attributes are initialised before use, and the mutex lies in memory that is never unmapped.
    unsafe {
        assert_eq!(libc::pthread_mutexattr_init(attributes.as_mut_ptr()), 0);
        libc::pthread_mutexattr_setpshared(attributes.as_mut_ptr(), libc::PTHREAD_PROCESS_SHARED);
        if robust {
            libc::pthread_mutexattr_setrobust(attributes.as_mut_ptr(), libc::PTHREAD_MUTEX_ROBUST);
        }
        assert_eq!(libc::pthread_mutex_init(mutex, attributes.as_ptr()), 0);
    }
    mutex
}

fn peers(c: &mut Criterion, folder: &Path) {
    let mut group = c.benchmark_group("uncontended/peers");
    for (name, robust) in [("pthread process-shared", false), ("pthread robust", true)] {
        let mutex = pthread_mutex(robust);
        group.bench_function(name, |b| {
            // SAFETY: an initialised mutex, unlocked by the thread that locked it.
            b.iter(|| unsafe {
                (libc::pthread_mutex_lock(black_box(mutex)), libc::pthread_mutex_unlock(mutex))
            });
        });
    }
    let semaphore = shared::<libc::sem_t>();
    // SAFETY: memory of our own, initialised once.
    assert_eq!(unsafe { libc::sem_init(semaphore, 1, 1) }, 0);
    group.bench_function("POSIX semaphore", |b| {
        // SAFETY: an initialised semaphore.
        b.iter(|| unsafe { (libc::sem_wait(black_box(semaphore)), libc::sem_post(semaphore)) });
    });
    let file = CString::new(folder.join("peer").as_os_str().as_bytes()).unwrap();
    // SAFETY: a path; the descriptor is our own.
    let descriptor =
        unsafe { libc::open(file.as_ptr(), libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC, 0o600) };
    assert!(descriptor >= 0);
    group.bench_function("flock", |b| {
        // SAFETY: an open descriptor.
        b.iter(|| unsafe {
            (libc::flock(black_box(descriptor), libc::LOCK_EX), libc::flock(descriptor, libc::LOCK_UN))
        });
    });
    group.bench_function("OFD lock", |b| {
        b.iter(|| (ofd(descriptor, libc::F_WRLCK), ofd(descriptor, libc::F_UNLCK)))
    });
}

fn ofd(descriptor: c_int, kind: c_int) -> c_int {
    // SAFETY: flock is plain data, all zeros is a value of it; the descriptor is open.
    unsafe {
        let mut request: libc::flock = std::mem::zeroed();
        request.l_type = kind as libc::c_short;
        request.l_len = 1;
        libc::fcntl(black_box(descriptor), libc::F_OFD_SETLKW, &request)
    }
}

fn uncontended(c: &mut Criterion) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    turnlock_rust(c, folder.path());
    turnlock_c(c, folder.path());
    peers(c, folder.path());
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(30).warm_up_time(std::time::Duration::from_millis(300))
        .measurement_time(std::time::Duration::from_secs(1));
    targets = uncontended
}
criterion_main!(benches);
