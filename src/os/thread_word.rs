//! One pointer for each thread, read in two instructions, also from a shared library.
//!
//! What `thread_local!` compiles to in a shared library is a call of `__tls_get_addr` for each access: a quarter of a
//! biased acquisition's time. The *initial-exec* model needs none, and the compiler offers no stable way to ask for it, so
//! on x86-64 with glibc the variable is written down in assembly. (glibc keeps room for such variables of libraries
//! that are loaded later; musl does not, and has `thread_local!` here like everyone else.)

/// The word: NULL in a new thread.
pub struct ThreadWord(());

/// The one there is.
pub static LATEST: ThreadWord = ThreadWord(());

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod word {
    use std::arch::{asm, global_asm};

    // The version, so that two turnlocks linked into one program are not taken for one.
    macro_rules! name {
        () => {
            concat!("turnlock_latest_", env!("CARGO_PKG_VERSION"))
        };
    }

    global_asm!(
        ".pushsection .tbss,\"awT\",@nobits",
        ".balign 8",
        concat!(".hidden \"", name!(), "\""),
        concat!(".globl \"", name!(), "\""),
        concat!(".type \"", name!(), "\",@object"),
        concat!(".size \"", name!(), "\",8"),
        concat!("\"", name!(), "\":"),
        ".zero 8",
        ".popsection",
    );

    #[inline(always)]
    pub fn get() -> *const () {
        let word;
        // SAFETY: loads the calling thread's copy of the variable above, which exists as long as the thread.
        unsafe {
            asm!(
                concat!("mov {0}, qword ptr [rip + \"", name!(), "\"@GOTTPOFF]"),
                "mov {0}, qword ptr fs:[{0}]",
                out(reg) word,
                options(readonly, nostack, preserves_flags)
            );
        }
        word
    }

    #[inline(always)]
    pub fn set(word: *const ()) {
        // SAFETY: as above; nobody else writes it.
        unsafe {
            asm!(
                concat!("mov {0}, qword ptr [rip + \"", name!(), "\"@GOTTPOFF]"),
                "mov qword ptr fs:[{0}], {1}",
                out(reg) _,
                in(reg) word,
                options(nostack, preserves_flags)
            );
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
mod word {
    use std::cell::Cell;

    thread_local! {
        static WORD: Cell<*const ()> = const { Cell::new(std::ptr::null()) };
    }

    #[inline(always)]
    pub fn get() -> *const () {
        WORD.get()
    }

    #[inline(always)]
    pub fn set(word: *const ()) {
        WORD.set(word);
    }
}

impl ThreadWord {
    /// The calling thread's.
    #[inline(always)]
    pub fn get<T>(&self) -> *const T {
        word::get().cast()
    }

    /// Sets the calling thread's.
    #[inline(always)]
    pub fn set<T>(&self, word: *const T) {
        word::set(word.cast());
    }
}
