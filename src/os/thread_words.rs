//! A few pointers for each thread, read in one instruction, also from a shared library.
//!
//! What `thread_local!` compiles to in a shared library is a call of `__tls_get_addr` for each access: a quarter of a
//! biased acquisition's time. The *initial-exec* model needs none, and the compiler offers no stable way to ask for it, so
//! on x86-64 with glibc the words are written down in assembly. (glibc keeps room for such variables of libraries
//! that are loaded later; musl does not, and has `thread_local!` here like everyone else.)
//!
//! No word is ever NULL: one that was never set points to a cache line of zeros, which saves a look at each access.

use super::wipe_on_fork::Wipeable;
use turnlock_core::sync::{AtomicUsize, Ordering::Relaxed};

/// How many there are. A library that is loaded late shares 512 bytes for such variables with all others.
pub const WORDS: usize = 8;

/// One of the words, the same one for each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadWord(words::Place);

impl ThreadWord {
    /// Returns all of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..WORDS).map(|word| Self(words::place(word)))
    }

    /// Returns one of them.
    pub fn any() -> Self {
        Self(words::place(0))
    }

    /// Returns the calling thread's word: what it was set to, or zeros that are never changed.
    #[inline(always)]
    pub fn get<T: Wipeable>(self) -> *const T {
        const { assert!(size_of::<T>() <= LINE && align_of::<T>() <= LINE) };
        words::get(self.0).cast()
    }

    /// Sets the calling thread's, by one store.
    ///
    /// # Safety
    /// A `T` is at `place` as long as the word says so; each reader of the word expects a `T`.
    #[inline(always)]
    pub unsafe fn set<T: Wipeable>(self, place: *const T) {
        words::set(self.0, place.cast());
    }

    /// Has the calling thread's point to zeros again, by one store.
    pub fn clear(self) {
        words::set(self.0, words::zeros());
    }
}

/// Returns a number for the calling thread, in one instruction where there is one for it; a page's size or more. A thread that
/// has ended may have had the same, and so has the one that forked in a child.
#[inline(always)]
pub fn this_thread() -> usize {
    words::this_thread()
}

/// A cache line, in bytes.
const LINE: usize = 64;

/// How many users each word has.
static USERS: [AtomicUsize; WORDS] = [const { AtomicUsize::new(0) }; WORDS];

/// A word for one user of the process, which has it to itself where there are no more users than words.
pub struct WordInUse {
    word: ThreadWord,
    users: &'static AtomicUsize,
}

impl WordInUse {
    /// Returns the one with the fewest users.
    pub fn of_fewest_users() -> Self {
        // Relaxed: a guess. Two at once may choose the same, which costs them time and nothing else.
        let fewest = ThreadWord::all().zip(&USERS).min_by_key(|(_, users)| users.load(Relaxed));
        let (word, users) = fewest.unwrap_or((ThreadWord(words::place(0)), &USERS[0]));
        users.fetch_add(1, Relaxed);
        Self { word, users }
    }

    /// Returns which one it is.
    pub fn word(&self) -> ThreadWord {
        self.word
    }
}

impl Drop for WordInUse {
    fn drop(&mut self) {
        self.users.fetch_sub(1, Relaxed);
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod words {
    use super::{LINE, WORDS};
    use std::arch::{asm, global_asm};

    // The version, so that two turnlocks linked into one program are not taken for one.
    macro_rules! name {
        () => {
            concat!("turnlock_words_", env!("CARGO_PKG_VERSION"))
        };
    }
    macro_rules! zeros {
        () => {
            concat!("turnlock_zeros_", env!("CARGO_PKG_VERSION"))
        };
    }

    global_asm!(
        ".pushsection .rodata.turnlock_zeros,\"a\",@progbits",
        ".balign {line}",
        concat!(".hidden \"", zeros!(), "\""),
        concat!(".globl \"", zeros!(), "\""),
        concat!(".type \"", zeros!(), "\",@object"),
        concat!(".size \"", zeros!(), "\",{line}"),
        concat!("\"", zeros!(), "\":"),
        ".zero {line}",
        ".popsection",
        ".pushsection .tdata,\"awT\",@progbits",
        ".balign 8",
        concat!(".hidden \"", name!(), "\""),
        concat!(".globl \"", name!(), "\""),
        concat!(".type \"", name!(), "\",@object"),
        concat!(".size \"", name!(), "\",8*{words}"),
        concat!("\"", name!(), "\":"),
        ".rept {words}",
        concat!(".quad \"", zeros!(), "\""),
        ".endr",
        ".popsection",
        line = const LINE,
        words = const WORDS,
    );

    /// How far a word lies from the thread pointer: the same for each thread, as long as this library is loaded.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Place(isize);

    pub fn place(word: usize) -> Place {
        assert!(word < WORDS);
        let first: isize;
        // SAFETY: loads a constant that the dynamic linker has written.
        unsafe {
            asm!(
                concat!("mov {0}, qword ptr [rip + \"", name!(), "\"@GOTTPOFF]"),
                out(reg) first,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        Place(first + 8 * word as isize)
    }

    #[inline(always)]
    pub fn get(Place(place): Place) -> *const () {
        let value;
        // SAFETY: loads one of the calling thread's copies of the variables above, which exist as long as the thread.
        unsafe {
            asm!(
                "mov {0}, qword ptr fs:[{1}]",
                out(reg) value,
                in(reg) place,
                options(readonly, nostack, preserves_flags)
            );
        }
        value
    }

    #[inline(always)]
    pub fn set(Place(place): Place, value: *const ()) {
        // SAFETY: as above; no other thread writes it.
        unsafe {
            asm!(
                "mov qword ptr fs:[{0}], {1}",
                in(reg) place,
                in(reg) value,
                options(nostack, preserves_flags)
            );
        }
    }

    #[inline(always)]
    pub fn this_thread() -> usize {
        let thread;
        // SAFETY: loads the thread pointer, which lies where it points to (the psABI's thread control block).
        unsafe {
            asm!("mov {0}, qword ptr fs:[0]", out(reg) thread, options(pure, readonly, nostack, preserves_flags));
        }
        thread
    }

    pub fn zeros() -> *const () {
        let place;
        // SAFETY: computes the address of the line above.
        unsafe {
            asm!(
                concat!("lea {0}, [rip + \"", zeros!(), "\"]"),
                out(reg) place,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        place
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
mod words {
    use super::{LINE, WORDS};
    use std::{cell::Cell, ptr};

    #[repr(align(64))]
    struct Zeros(#[allow(dead_code, reason = "its address is what counts")] [u8; LINE]);

    static ZEROS: Zeros = Zeros([0; LINE]);

    thread_local! {
        static VALUES: [Cell<*const ()>; WORDS] = const { [const { Cell::new(zeros()) }; WORDS] };
    }

    /// Which word it is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Place(usize);

    pub fn place(word: usize) -> Place {
        Place(word)
    }

    #[inline(always)]
    pub fn get(Place(word): Place) -> *const () {
        VALUES.with(|values| values[word].get())
    }

    #[inline(always)]
    pub fn set(Place(word): Place, value: *const ()) {
        VALUES.with(|values| values[word].set(value));
    }

    #[inline(always)]
    pub fn this_thread() -> usize {
        VALUES.with(|values| ptr::from_ref(values).addr())
    }

    pub const fn zeros() -> *const () {
        ptr::from_ref(&ZEROS).cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Numbers([u64; 8]);
    // SAFETY: plain numbers.
    unsafe impl Wipeable for Numbers {}

    fn numbers(word: ThreadWord) -> Numbers {
        // SAFETY: zeros, or what a test below has set, which outlives it.
        unsafe { word.get::<Numbers>().read() }
    }

    #[test]
    fn each_thread_has_its_own_and_they_begin_as_zeros() {
        let set = Numbers([7; 8]);
        for word in ThreadWord::all() {
            assert_eq!(numbers(word), Numbers([0; 8]));
            // SAFETY: `set` lives until it is cleared.
            unsafe { word.set(&raw const set) };
            for other in ThreadWord::all() {
                assert_eq!(numbers(other) == set, other == word);
            }
            std::thread::scope(|threads| {
                threads.spawn(|| assert_eq!(numbers(word), Numbers([0; 8])));
            });
            word.clear();
            assert_eq!(numbers(word), Numbers([0; 8]));
        }
    }

    #[test]
    fn a_word_is_shared_only_where_users_are_more_than_words() {
        // Other tests of this process use some too.
        let in_use: Vec<WordInUse> = (0..3 * WORDS).map(|_| WordInUse::of_fewest_users()).collect();
        for word in ThreadWord::all() {
            assert!(in_use.iter().any(|used| used.word() == word), "{word:?} has no user");
        }
    }
}
