//! Being told when a thread ends, and when the process does.
//!
//! By a key of POSIX (`pthread_key_create`) and not by the destructors of `thread_local!`: those run before every key's
//! destructor, so that what the program does in its own (its first lock, the unlock of one that its thread holds) would
//! come too late; and where they are registered as late as that, they never run at all. Destructors of keys run in up
//! to four rounds, in no order. At the first round a thread is only told that it may end ([`Ending::MayGoOn`]); it is
//! ended at the next, when those of all other keys have run once.
//!
//! What a thread has is kept in `thread_local!` variables that need no destructor, and so are there to the very end.

use std::{cell::Cell, ffi::c_void, ptr};
use turnlock_core::error::{Error, Result};
use turnlock_core::sync::{
    AtomicPtr, AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed},
};

/// What a thread that ends is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Other destructors may still use what it has: what is in use stays, and it will be told once more.
    MayGoOn,
    /// Nothing of it runs after this but the destructors of a late round.
    Ends,
    /// The process ends by `exit`, called by this thread. Nothing of the process runs after this but the end of other
    /// libraries.
    ProcessEnds,
}

/// Told that its thread ends. Returns whether it wants to be told once more.
pub type Hook = fn(Ending) -> bool;

const HOOKS: usize = 3;
static TOLD: [AtomicPtr<()>; HOOKS] = [const { AtomicPtr::new(ptr::null_mut()) }; HOOKS];

/// The key, plus 1; 0 = none yet.
static KEY: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// How often this thread was told that it ends.
    static ROUNDS: Cell<u32> = const { Cell::new(0) };
}

/// Has `hook` told when the calling thread ends. As often as one likes.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub fn tell_at_end(hook: Hook) -> Result<()> {
    let told = hook as *mut ();
    let free_or_told = |place: &&AtomicPtr<()>| {
        let before = place.compare_exchange(ptr::null_mut(), told, AcqRel, Acquire);
        before.is_ok() || before == Err(told)
    };
    TOLD.iter()
        .find(free_or_told)
        .ok_or_else(|| Error::Internal("too many are told of a thread's end".into()))?;
    arm()
}

fn arm() -> Result<()> {
    // SAFETY: the key exists. Any value but NULL has the destructor called.
    match unsafe { libc::pthread_setspecific(key()?, ptr::dangling::<c_void>()) } {
        0 => Ok(()),
        _ => Err(Error::OutOfMemory),
    }
}

fn key() -> Result<libc::pthread_key_t> {
    // Acquire. Partner: the exchange below.
    if let Some(key) = KEY.load(Acquire).checked_sub(1) {
        return Ok(key);
    }
    let mut key = 0;
    // SAFETY: a place for the key; the destructor has the signature that is asked for.
    let made = unsafe { libc::pthread_key_create(&mut key, Some(thread_ends)) };
    if made != 0 {
        let source = std::io::Error::from_raw_os_error(made);
        return Err(Error::System { what: "making a thread key (pthread_key_create)".into(), source });
    }
    match KEY.compare_exchange(0, key + 1, AcqRel, Acquire) {
        Ok(_) => Ok(key),
        Err(others) => {
            // SAFETY: made above, and not published yet.
            unsafe { libc::pthread_key_delete(key) };
            Ok(others - 1)
        }
    }
}

fn tell(ending: Ending) -> bool {
    let told = TOLD.iter().map(|hook| hook.load(Acquire)).filter(|hook| !hook.is_null());
    // SAFETY: `tell_at_end` put functions of this type there, and nothing else.
    let ask = |hook: *mut ()| unsafe { std::mem::transmute::<*mut (), Hook>(hook) }(ending);
    // All of them, whatever one says.
    told.filter(|hook| ask(*hook)).count() > 0
}

unsafe extern "C" fn thread_ends(_: *mut c_void) {
    let rounds = ROUNDS.get();
    ROUNDS.set(rounds + 1);
    let ending = if rounds == 0 { Ending::MayGoOn } else { Ending::Ends };
    if tell(ending) && ending == Ending::MayGoOn {
        // There was memory for it before.
        let _ = arm();
    }
}

/// Run by `exit`, after all handlers of `atexit` and all static destructors of the program that uses this library.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = process_ends;

extern "C" fn process_ends() {
    if KEY.load(Relaxed) != 0 {
        tell(Ending::ProcessEnds);
    }
}
