//! The words that only rwlocks, semaphores, range locks and keyed locks have: garbage in each, and one byte of each flipped,
//! while a participant holds the lock beside others and every function is called.

use crate::{
    scene::GARBAGE,
    watch::{AT_ONCE, Watch},
};
use std::{
    fs::{self, File, OpenOptions},
    ops::Range,
    os::unix::fs::FileExt,
    path::PathBuf,
    thread,
    time::Duration,
};
use support::{NoHang, Place, format::Format, join};
use turnlock::{GroupLock, KeyedLock, LockFile, Participant, RangeLock, Result, RwLock, Semaphore, inspect};

const LIMIT: Duration = Duration::from_millis(1);
const SHAPE: Format = Format { participants: 4, locks: 1 };
/// A cell is two lines: what every lock has, and what claims have.
const CELL_BYTES: u64 = 128;

/// A kind of lock, as far as it is called here.
trait Shared: Sized + Send + 'static {
    fn open(file: &LockFile) -> Result<Self>;

    /// Holds it as `me` while `meanwhile` runs, beside others that do.
    fn hold(&self, me: &Participant, meanwhile: impl FnOnce()) -> Result<()>;

    /// Takes it, waiting for [`LIMIT`] at most, in this of [`Shared::WAYS`] ways.
    fn take(&self, way: usize, me: Option<&Participant>) -> Result<()>;
    const WAYS: usize;

    /// Repairs what a death has left, as far as this kind has that.
    fn heal(&self) -> Result<()>;
}

impl Shared for RwLock {
    const WAYS: usize = 3;

    fn open(file: &LockFile) -> Result<Self> {
        let lock = file.rwlock("a")?;
        // So that it is biased to its readers.
        (0..3).try_for_each(|_| lock.read()?.unlock())?;
        Ok(lock)
    }

    fn hold(&self, me: &Participant, meanwhile: impl FnOnce()) -> Result<()> {
        let guard = self.read_as(me)?;
        meanwhile();
        guard.unlock()
    }

    fn take(&self, way: usize, me: Option<&Participant>) -> Result<()> {
        match (way, me) {
            (0, None) => self.read_for(LIMIT)?.unlock(),
            (0, Some(me)) => self.read_for_as(me, LIMIT)?.unlock(),
            (1, None) => self.write_for(LIMIT)?.downgrade()?.unlock(),
            (1, Some(me)) => self.write_for_as(me, LIMIT)?.unlock(),
            (_, None) => self.upgradable_for(LIMIT)?.upgrade_for(LIMIT)?.unlock(),
            (_, Some(me)) => self.upgradable_for_as(me, LIMIT)?.upgrade_for(LIMIT)?.unlock(),
        }
    }

    fn heal(&self) -> Result<()> {
        self.reset_for(LIMIT)
    }
}

impl Shared for Semaphore {
    const WAYS: usize = 2;

    fn open(file: &LockFile) -> Result<Self> {
        file.semaphore_options().permits(3).open("a")
    }

    fn hold(&self, me: &Participant, meanwhile: impl FnOnce()) -> Result<()> {
        let guard = self.acquire_as(me, 2)?;
        meanwhile();
        guard.unlock()
    }

    fn take(&self, way: usize, me: Option<&Participant>) -> Result<()> {
        let permits = [1, 3][way];
        match me {
            None => self.acquire_for(permits, LIMIT)?.unlock(),
            Some(me) => self.acquire_for_as(me, permits, LIMIT)?.unlock(),
        }
    }

    fn heal(&self) -> Result<()> {
        self.resize(3)
    }
}

impl Shared for RangeLock {
    const WAYS: usize = 3;

    fn open(file: &LockFile) -> Result<Self> {
        file.range_lock("a")
    }

    fn hold(&self, me: &Participant, meanwhile: impl FnOnce()) -> Result<()> {
        let guard = self.write_as(me, 10..20)?;
        meanwhile();
        guard.unlock()
    }

    fn take(&self, way: usize, me: Option<&Participant>) -> Result<()> {
        let range = [0..5, 15..16, 0..u64::MAX][way].clone();
        let mut guard = match me {
            None => self.write_for(range, LIMIT)?,
            Some(me) => return self.read_for_as(me, range, LIMIT)?.unlock(),
        };
        // Whatever it says: parts of dead ones are among the garbage.
        let _ = guard.mark_consistent();
        guard.unlock()
    }

    fn heal(&self) -> Result<()> {
        self.reset_for(LIMIT)
    }
}

impl Shared for KeyedLock {
    const WAYS: usize = 2;

    fn open(file: &LockFile) -> Result<Self> {
        file.keyed_lock("a")
    }

    fn hold(&self, me: &Participant, meanwhile: impl FnOnce()) -> Result<()> {
        let guard = self.write_as(me, "ada")?;
        meanwhile();
        guard.unlock()
    }

    fn take(&self, way: usize, me: Option<&Participant>) -> Result<()> {
        let key = ["ada", "grace"][way];
        let mut guard = match me {
            None => self.write_for(key, LIMIT)?,
            Some(me) => return self.read_for_as(me, key, LIMIT)?.unlock(),
        };
        let _ = guard.mark_consistent();
        guard.unlock()
    }

    fn heal(&self) -> Result<()> {
        self.reset_for(LIMIT)
    }
}

impl Shared for GroupLock {
    const WAYS: usize = 2;

    fn open(file: &LockFile) -> Result<Self> {
        file.group_lock("a")
    }

    fn hold(&self, me: &Participant, meanwhile: impl FnOnce()) -> Result<()> {
        let guard = self.lock_as(me, 1)?;
        meanwhile();
        guard.unlock()
    }

    fn take(&self, way: usize, me: Option<&Participant>) -> Result<()> {
        let group = [1, 2][way];
        let mut guard = match me {
            None => self.lock_for(group, LIMIT)?,
            Some(me) => return self.lock_for_as(me, group, LIMIT)?.unlock(),
        };
        // Whatever it says: deaths that there were not are among the garbage.
        let _ = guard.mark_consistent();
        guard.unlock()
    }

    fn heal(&self) -> Result<()> {
        self.reset_for(LIMIT)
    }
}

struct Scene<L> {
    _place: Place,
    path: PathBuf,
    file: LockFile,
    lock: L,
    other: Participant,
    /// The hostile one's way in.
    hand: File,
    image: Vec<u8>,
}

impl<L: Shared> Scene<L> {
    fn set() -> Self {
        let place = Place::new();
        let path = place.lock_file();
        let (participants, locks) = (SHAPE.participants as u32, SHAPE.locks as u32);
        let file = LockFile::options().participants(participants).locks(locks).open(&path).unwrap();
        let lock = L::open(&file).unwrap();
        drop(file.current_participant().unwrap());
        let other = file.participant().unwrap();
        let hand = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let image = fs::read(&path).unwrap();
        Self { _place: place, path, file, lock, other, hand, image }
    }

    fn word(&self, at: u64) -> u64 {
        u64::from_le_bytes(self.image[at as usize..][..8].try_into().unwrap())
    }

    /// Everything that one can call, while this word is as bad as it is.
    fn everything(&self, held: bool, at: u64, value: u64, watch: &mut Watch) {
        let poke = || self.hand.write_all_at(&value.to_le_bytes(), at).unwrap();
        let mut calls = || {
            poke();
            for way in 0..L::WAYS {
                let _ = watch.call("take", 2 * LIMIT, || self.lock.take(way, None));
            }
            let _ = watch.call("status", AT_ONCE, || inspect::snapshot(&self.path));
            if let Ok(fresh) = watch.call("participant", AT_ONCE, || self.file.participant()) {
                let _ = watch.call("take as a participant", 2 * LIMIT, || self.lock.take(0, Some(&fresh)));
                drop(fresh);
            }
        };
        if held {
            let _ = self.lock.hold(&self.other, calls);
        } else {
            calls();
            let _ = watch.call("take as another", 2 * LIMIT, || self.lock.take(1, Some(&self.other)));
        }
        let _ = watch.call("heal", LIMIT, || self.lock.heal());
        self.hand.write_all_at(&self.image, 0).unwrap();
    }
}

/// The words of a lock that only these kinds have, or read otherwise than a mutex does.
fn words() -> impl Iterator<Item = u64> {
    let line = |at: u64, bytes: u64| -> Range<u64> { at..at + bytes };
    let region = SHAPE.region(1);
    let cells =
        (0..SHAPE.participants).flat_map(move |slot| line(SHAPE.cell(1, slot), CELL_BYTES).step_by(8));
    // The bias word and what goes with it; permits and dead parts; dead members; numbers.
    let of_kinds = line(region + 384, 16).chain(line(region + 448, 16));
    let words = line(region, 64).chain(of_kinds).chain(line(SHAPE.number(1, 0), 32));
    words.step_by(8).chain(cells)
}

fn is_survived_by<L: Shared>() {
    let _no_hang = NoHang::for_seconds(120);
    const THREADS: u64 = 4;
    let mut watch = Watch::default();
    thread::scope(|threads| {
        let all: Vec<_> = (0..THREADS)
            .map(|mine| {
                threads.spawn(move || {
                    let scene = Scene::<L>::set();
                    let mut watch = Watch::default();
                    for at in words().filter(|at| at / 8 % THREADS == mine) {
                        let was = scene.word(at);
                        let flipped = (0..8).map(|byte| was ^ 0xff << (8 * byte));
                        for (turn, value) in GARBAGE.into_iter().chain(flipped).enumerate() {
                            scene.everything(turn % 2 == 0, at, value, &mut watch);
                        }
                    }
                    // As good as new.
                    scene.lock.heal().unwrap();
                    scene.lock.take(1, None).unwrap();
                    scene.lock.take(1, Some(&scene.other)).unwrap();
                    watch
                })
            })
            .collect();
        all.into_iter().map(join).for_each(|theirs| watch.add(theirs));
    });
    println!("{} words: {watch}", words().count());
    assert!(watch.calls > 6_000, "{watch}");
}

#[test]
fn garbage_in_the_words_of_a_rwlock_keeps_no_caller_beyond_the_limit() {
    is_survived_by::<RwLock>();
}

#[test]
fn garbage_in_the_words_of_a_semaphore_keeps_no_caller_beyond_the_limit() {
    is_survived_by::<Semaphore>();
}

#[test]
fn garbage_in_the_words_of_a_range_lock_keeps_no_caller_beyond_the_limit() {
    is_survived_by::<RangeLock>();
}

#[test]
fn garbage_in_the_words_of_a_keyed_lock_keeps_no_caller_beyond_the_limit() {
    is_survived_by::<KeyedLock>();
}

#[test]
fn garbage_in_the_words_of_a_group_lock_keeps_no_caller_beyond_the_limit() {
    is_survived_by::<GroupLock>();
}
