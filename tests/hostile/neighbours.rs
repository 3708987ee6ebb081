//! Processes that lock and unlock while another one writes bytes and whole words of garbage all over their file.

use crate::{
    scene::GARBAGE,
    watch::{AT_ONCE, Watch},
};
use std::{
    fs::{self, File, OpenOptions},
    os::unix::fs::FileExt,
    path::Path,
    thread,
    time::{Duration, Instant},
};
use support::{
    Dice, NoHang, Place,
    actor::{Actor, say},
    format::Format,
    join,
};
use turnlock::{LockFile, Result, inspect};

const SHAPE: Format = Format { participants: 8, locks: 3 };
/// Opening waits so long for those of another boot to leave, which garbage in the boot id looks like.
const OPENING: Duration = Duration::from_secs(6);
const NEIGHBOURS: u64 = 4;
const ROUNDS: u64 = 3;
const ROUND: Duration = Duration::from_millis(1_200);
/// The constant header and the boot id.
const START: usize = 80;

fn open(path: &Path) -> Result<LockFile> {
    LockFile::options().participants(SHAPE.participants as u32).locks(SHAPE.locks as u32).open(path)
}

/// Words: the lock file, for how many milliseconds, a seed. Says its watch's record.
pub fn neighbour(words: &[String]) {
    let (path, milliseconds) = (Path::new(&words[0]), words[1].parse().unwrap());
    let end = Instant::now() + Duration::from_millis(milliseconds);
    let (mut watch, mut dice) = (Watch::default(), Dice(words[2].parse().unwrap()));
    while Instant::now() < end {
        // On a thread of its own, whose end is that of its slot, whatever stands in it.
        let visit = thread::scope(|threads| join(threads.spawn(|| visit(path, end, &mut watch, &mut dice))));
        if visit.is_err() {
            thread::sleep(Duration::from_micros(200));
        }
    }
    say(&watch.line());
}

/// Takes part for a while, as this thread and as a participant.
fn visit(path: &Path, end: Instant, watch: &mut Watch, dice: &mut Dice) -> Result<()> {
    let file = watch.call("open", OPENING, || open(path))?;
    let mutex = watch.call("existing_mutex", AT_ONCE, || file.existing_mutex("a"))?;
    let participant = watch.call("participant", AT_ONCE, || file.participant())?;
    for _ in 0..100 {
        if Instant::now() > end {
            break;
        }
        let limit = Duration::from_micros(100 << dice.roll(6));
        let _ = match dice.roll(8) {
            0 | 1 => watch.call("lock_for", limit, || mutex.lock_for(limit)).and_then(|mut guard| {
                if dice.roll(4) == 0 {
                    let _ = watch.call("mark_consistent", AT_ONCE, || guard.mark_consistent());
                }
                thread::sleep(Duration::from_micros(dice.roll(100)));
                watch.call("unlock", AT_ONCE, || guard.unlock())
            }),
            2 | 3 => watch.call("lock_for_as", limit, || mutex.lock_for_as(&participant, limit)).and_then(
                |guard| {
                    // Both at once, now and then.
                    let _ = watch.call("lock_for", limit, || mutex.lock_for(limit).map(drop));
                    watch.call("unlock_as", AT_ONCE, || guard.unlock())
                },
            ),
            4 => watch.call("try_lock", AT_ONCE, || mutex.try_lock().map(drop)),
            5 => watch.call("try_lock_as", AT_ONCE, || mutex.try_lock_as(&participant)?.unlock()),
            6 => watch.call("status", AT_ONCE, || inspect::snapshot(path).map(drop)),
            _ => watch.call("reset_for", limit, || mutex.reset_for(limit)),
        };
    }
    watch.call("end of a visit", AT_ONCE, || {
        drop((participant, mutex, file));
        Ok(())
    })
}

/// Writes garbage until the time is up; gives how often.
fn vandalise(hand: &File, sound: &[u8], end: Instant, dice: &mut Dice) -> u64 {
    let size = sound.len() as u64;
    let registers = SHAPE.slot(0);
    let mut pokes = 0;
    while Instant::now() < end {
        // Everywhere; and more often where something stands that changes.
        let at = if dice.roll(2) == 0 { dice.roll(size) } else { registers + dice.roll(size - registers) };
        if dice.roll(2) == 0 {
            let mut byte = [0];
            hand.read_exact_at(&mut byte, at).unwrap();
            hand.write_all_at(&[byte[0] ^ (1 << dice.roll(8))], at).unwrap();
        } else {
            let noise = dice.roll(u64::MAX);
            let value = GARBAGE.get(dice.roll(GARBAGE.len() as u64 + 2) as usize).copied().unwrap_or(noise);
            hand.write_all_at(&value.to_le_bytes(), at & !7).unwrap();
        }
        pokes += 1;
        // What everything else hangs on comes back after a while, or they would only be told so until the end.
        if dice.roll(64) == 0 {
            hand.write_all_at(&sound[..START], 0).unwrap();
            hand.write_all_at(&sound[4096..registers as usize], 4096).unwrap();
            let (token, state) = (SHAPE.token(1) as usize, SHAPE.state(1) as usize);
            hand.write_all_at(&sound[token..state + 4], token as u64).unwrap();
        }
        if dice.roll(4) == 0 {
            thread::sleep(Duration::from_micros(dice.roll(100)));
        }
    }
    pokes
}

#[test]
fn processes_whose_file_is_overwritten_at_random_neither_crash_nor_wait_beyond_their_limits() {
    let _no_hang = NoHang::for_seconds(120);
    let place = Place::new();
    let path = place.lock_file();
    let (mut watch, mut pokes) = (Watch::default(), 0);
    for round in 0..ROUNDS {
        open(&path).unwrap().mutex("a").unwrap();
        let sound = fs::read(&path).unwrap();
        let hand = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let neighbours: Vec<_> = (0..NEIGHBOURS)
            .map(|number| {
                let (time, seed) = (ROUND.as_millis().to_string(), (round * NEIGHBOURS + number).to_string());
                Actor::start("neighbour", &[path.to_str().unwrap(), &time, &seed])
            })
            .collect();
        pokes += vandalise(&hand, &sound, Instant::now() + ROUND, &mut Dice(1_000 + round));
        for mut neighbour in neighbours {
            // One that ended by a signal or by a panic says nothing, or ends badly.
            watch.add(Watch::parse(&neighbour.hear()));
            neighbour.end_well();
        }
        fs::remove_file(&path).unwrap();
        a_fresh_file_works(&path);
        fs::remove_file(&path).unwrap();
    }
    println!("{ROUNDS} rounds of {NEIGHBOURS} processes, {pokes} times garbage: {watch}");
    assert!(pokes > 1_000 && watch.calls > 1_000);
}

fn a_fresh_file_works(path: &Path) {
    let mutex = open(path).unwrap().mutex("a").unwrap();
    let mut neighbours: Vec<_> = (0..2)
        .map(|seed| Actor::start("neighbour", &[path.to_str().unwrap(), "50", &seed.to_string()]))
        .collect();
    let mut last = 0;
    for _ in 0..100 {
        let guard = mutex.lock().unwrap();
        assert!(guard.fencing_token() > last && !guard.acquired().previous_owner_died);
        last = guard.fencing_token();
        guard.unlock().unwrap();
    }
    for neighbour in &mut neighbours {
        neighbour.hear();
    }
    neighbours.into_iter().for_each(Actor::end_well);
}
