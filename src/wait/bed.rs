//! Where waiters sleep, and how they are woken.

use crate::os::futex;
use crate::sync::{
    AtomicU32,
    Ordering::{Relaxed, Release},
    full_fence,
};

/// The futex words of one slot in one lock: whoever waits for that slot sleeps here.
#[derive(Clone, Copy)]
pub struct Bed<'a> {
    /// Changes whenever the sleepers should look again.
    pub wake: &'a AtomicU32,
    /// 0, or how whoever may sleep here wants to be woken.
    pub sleepers: &'a AtomicU32,
    /// 0, or the slot that comes next after this one and is awake, plus 1.
    pub heir: &'a AtomicU32,
    /// A number for the bed, never 0, by which [`super::Cancel`] names it.
    pub name: u64,
}

/// Who waited for a slot that has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nobody, or somebody who has just come.
    Nobody,
    /// Somebody who slept, and is woken.
    Asleep,
    /// This slot, or it was a moment ago: whoever sleeps beside it may want to know.
    Awake(usize),
}

/// In [`Bed::sleepers`]: when the slot has left.
pub const IN_TIME: u32 = 1;
/// In [`Bed::sleepers`]: as soon as only that slot is before it, to be awake when it leaves.
pub const AHEAD_OF_TIME: u32 = 2;

impl Bed<'_> {
    /// Has everyone who sleeps here look again, if anyone does. Comes after the store that they wait for.
    ///
    /// Gives who is next now, as far as can be seen.
    #[inline]
    pub fn wake_sleepers(&self) -> Next {
        // Partner: the fence in `Ladder::sleep`. If ours comes first, the sleeper's last look sees what we stored and
        // it does not sleep; if theirs comes first, we see `sleepers`.
        full_fence();
        let mut next = Next::Nobody;
        if self.sleepers.load(Relaxed) != 0 {
            self.sleepers.store(0, Relaxed);
            self.shake();
            next = Next::Asleep;
        }
        let heir = self.heir.load(Relaxed);
        if heir != 0 {
            self.heir.store(0, Relaxed);
            next = Next::Awake(heir as usize - 1);
        }
        next
    }

    /// Has whoever sleeps here look again already now, if it wants to: only this slot is before it.
    #[cold]
    pub fn wake_ahead_of_time(&self) {
        // Relaxed: should it not be seen, the sleeper is woken in time.
        if self.sleepers.load(Relaxed) == AHEAD_OF_TIME {
            self.sleepers.store(0, Relaxed);
            self.shake();
        }
    }

    /// Has everyone who sleeps here, or is about to, look again.
    pub fn shake(&self) {
        self.wake.fetch_add(1, Release);
        futex::wake_all(self.wake);
    }
}

/// Where those sleep who stepped out of the line of a lock, to let others pass.
#[derive(Clone, Copy)]
pub struct Lobby<'a> {
    /// Changes when one of them should come back.
    pub event: &'a AtomicU32,
    /// Not 0 while somebody may sleep there.
    pub polite: &'a AtomicU32,
}

impl Lobby<'_> {
    /// Has the one who has slept longest come back, if anyone sleeps. After a full fence that comes after the store
    /// which let the next one in.
    #[inline]
    pub fn call_one(&self) {
        // Partner: the fence in `Ladder::step_aside`.
        if self.polite.load(Relaxed) != 0 {
            self.polite.store(0, Relaxed);
            self.event.fetch_add(1, Release);
            futex::wake_one(self.event);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Words {
        wake: AtomicU32,
        sleepers: AtomicU32,
        heir: AtomicU32,
    }

    impl Words {
        fn bed(&self) -> Bed<'_> {
            Bed { wake: &self.wake, sleepers: &self.sleepers, heir: &self.heir, name: 1 }
        }

        /// How often somebody was told to look again, who may sleep here still, and who is next.
        fn now(&self) -> [u32; 3] {
            [&self.wake, &self.sleepers, &self.heir].map(|word| word.load(Relaxed))
        }
    }

    #[test]
    fn who_leaves_wakes_sleepers_once_and_names_the_next_one_once() {
        let words = Words::default();
        assert_eq!((words.bed().wake_sleepers(), words.now()), (Next::Nobody, [0, 0, 0]));
        for how in [IN_TIME, AHEAD_OF_TIME] {
            words.sleepers.store(how, Relaxed);
            let before = words.now()[0];
            assert_eq!((words.bed().wake_sleepers(), words.now()), (Next::Asleep, [before + 1, 0, 0]));
            assert_eq!((words.bed().wake_sleepers(), words.now()), (Next::Nobody, [before + 1, 0, 0]));
        }
        words.heir.store(7 + 1, Relaxed);
        assert_eq!((words.bed().wake_sleepers(), words.now()), (Next::Awake(7), [2, 0, 0]));
        assert_eq!(words.bed().wake_sleepers(), Next::Nobody);
    }

    #[test]
    fn only_who_wants_it_is_woken_ahead_of_time() {
        for (how, woken) in [(0, false), (IN_TIME, false), (AHEAD_OF_TIME, true)] {
            let words = Words::default();
            words.sleepers.store(how, Relaxed);
            words.bed().wake_ahead_of_time();
            assert_eq!(words.now(), if woken { [1, 0, 0] } else { [0, how, 0] });
        }
    }

    #[test]
    fn one_is_called_where_somebody_stepped_aside() {
        let (event, polite) = (AtomicU32::new(0), AtomicU32::new(0));
        let lobby = Lobby { event: &event, polite: &polite };
        lobby.call_one();
        assert_eq!(event.load(Relaxed), 0);
        polite.store(1, Relaxed);
        lobby.call_one();
        lobby.call_one();
        assert_eq!((event.load(Relaxed), polite.load(Relaxed)), (1, 0));
    }
}
