//! What a truncated file does to the processes that have it mapped: an error instead of a death by SIGBUS.
//!
//! Touching a mapped page that the file no longer has is answered by SIGBUS. A handler looks whether the address lies in one of
//! our mappings; if so it puts zeroed memory of our own in the whole mapping's place and lets the access go on. The zeros have
//! no incarnation word, so the next check says that the file is damaged, and no participant gets in. Any other SIGBUS goes to
//! the handler of before.

use std::{ffi::c_int, mem::MaybeUninit, ptr};
use turnlock_core::sync::{
    AtomicBool, AtomicPtr, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

/// More mappings than this at once are not guarded.
const GUARDED: usize = 256;

struct Place {
    base: AtomicUsize,
    bytes: AtomicUsize,
    writable: AtomicBool,
}

static PLACES: [Place; GUARDED] = [const {
    Place { base: AtomicUsize::new(0), bytes: AtomicUsize::new(0), writable: AtomicBool::new(false) }
}; GUARDED];

/// The handler of SIGBUS before us; leaked.
static BEFORE: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());

/// A mapping that is guarded as long as this exists.
pub struct Guard(Option<&'static Place>);

impl Guard {
    /// Guards `bytes` bytes from `base`.
    pub fn new(base: *mut u8, bytes: usize, writable: bool) -> Self {
        install();
        for place in &PLACES {
            // 1 is not the base of any mapping: taken, but not yet to be looked at.
            if place.base.compare_exchange(0, 1, AcqRel, Relaxed).is_ok() {
                place.bytes.store(bytes, Relaxed);
                place.writable.store(writable, Relaxed);
                // Release. Partner: the acquire load in `on_bus_error`.
                place.base.store(base.addr(), Release);
                return Self(Some(place));
            }
        }
        Self(None)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(place) = self.0 {
            place.base.store(0, Release);
        }
    }
}

/// Once in a process. A program that installs a SIGBUS handler of its own after this one, and does not pass on what is
/// not its own, has no guard.
fn install() {
    if !BEFORE.load(Acquire).is_null() {
        return;
    }
    let before = Box::into_raw(Box::new(MaybeUninit::<libc::sigaction>::zeroed())).cast::<libc::sigaction>();
    // SAFETY: asks for the present action and writes it into memory of our own.
    if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), before) } != 0
        || BEFORE.compare_exchange(ptr::null_mut(), before, AcqRel, Acquire).is_err()
    {
        // SAFETY: made above, and not published yet.
        drop(unsafe { Box::from_raw(before) });
        return;
    }
    // SAFETY: all zeros is a sigaction; the handler has the signature that SA_SIGINFO wants and does only what is
    // allowed in a handler. On the alternative stack where there is one, as Go wants it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_bus_error as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &action, ptr::null_mut());
    }
}

/// Only loads of atomics and one `mmap`: safe in a signal handler. `errno` is kept for the code that was interrupted.
unsafe extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel hands over a valid siginfo; for SIGBUS it has an address.
    let address = unsafe { (*info).si_addr() }.addr();
    for place in &PLACES {
        // Acquire. Partner: the release store in `Guard::new`.
        let base = place.base.load(Acquire);
        let bytes = place.bytes.load(Relaxed);
        if base > 1 && (base..base + bytes).contains(&address) {
            let access = libc::PROT_READ | if place.writable.load(Relaxed) { libc::PROT_WRITE } else { 0 };
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            // SAFETY: errno belongs to this thread. The range is a mapping of ours (its guard goes before the mapping
            // does), and zeros are a value of everything that is read through it.
            let put = unsafe {
                let errno = *libc::__errno_location();
                let put = libc::mmap(ptr::with_exposed_provenance_mut(base), bytes, access, flags, -1, 0);
                *libc::__errno_location() = errno;
                put
            };
            if put != libc::MAP_FAILED {
                return;
            }
        }
    }
    // SAFETY: `install` put it there before this handler.
    let before = unsafe { &*BEFORE.load(Acquire) };
    match before.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // Back to what it was: the access that is tried again then does what it would have done without us.
            // SAFETY: an action that was valid before.
            unsafe { libc::sigaction(signal, before, ptr::null_mut()) };
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            type Handler = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut libc::c_void);
            // SAFETY: with SA_SIGINFO the handler has this signature.
            unsafe { std::mem::transmute::<usize, Handler>(handler)(signal, info, context) };
        }
        // SAFETY: without SA_SIGINFO it has this one.
        handler => unsafe { std::mem::transmute::<usize, unsafe extern "C" fn(c_int)>(handler)(signal) },
    }
}
