//! The explanations at a lock file: who does what, in which order. What then happens is read from the file.

use super::{actor::Still, picture::Stop, stage::Stage};

/// The participants, in the order of their slots.
pub const LABELS: [&str; 3] = ["ada", "ben", "cleo"];
pub const ADA: usize = 0;
pub const BEN: usize = 1;
pub const CLEO: usize = 2;

/// Lamport's bakery: a number, a tie, a death.
pub fn bakery(stage: &mut Stage) -> Result<(), Stop> {
    stage.chapter(
        "A bakery with a queue of numbers",
        &[
            "Three processes share a lock in a file. Each has a slot, and in it a register that only it writes: its number. \
             0 means: I do not want the lock.",
            "A process that wants it takes a number larger than all it sees, and the smallest goes first. No \
             instruction does two things at once; reading and writing is enough.",
        ],
    )?;
    stage.tell(ADA, "lock")?;
    stage.play(ADA)?;
    come_at_the_same_time(stage)?;
    stage.chapter(
        "Leaving",
        &["ada unlocks. The next one is who has the smallest pair of number and slot."],
    )?;
    stage.tell(ADA, "unlock")?;
    stage.play(ADA)?;
    stage.play_to_the_end(BEN)?;
    stage.chapter(
        "Killed inside",
        &["ben is inside, cleo waits. Now ben is killed: kill -9, no handler runs, its registers stay as they are."],
    )?;
    stage.kill(BEN)?;
    stage.say(&[
        "ben is dead. Its number and its held word still stand in the file and would block everyone for ever. But the kernel \
         has let go of ben's byte lock, and cleo looks for that now and then while it waits.",
    ])?;
    stage.play_to_the_end(CLEO)?;
    stage.say(&[
        "cleo has the lock, and its lock() has told it that the previous owner died. It looks at the data, repairs them, and \
         says so.",
    ])?;
    stage.tell(CLEO, "repair")?;
    stage.play(CLEO)?;
    stage.tell(CLEO, "unlock")?;
    stage.play(CLEO)?;
    stage.say(&[
        "That was Lamport's bakery of 1974, with the registers of a real lock file, and with what a process that dies needs. \
         docs/algorithms.md has the rest; turnlock explain bias shows why most locks take no number at all.",
    ])
}

/// Two want the lock that ada has: abreast, where they can be stepped.
fn come_at_the_same_time(stage: &mut Stage) -> Result<(), Stop> {
    let abreast = stage.actors[BEN].is_stepped();
    if abreast {
        stage.chapter(
            "Two come at the same time",
            &["ada is inside. Now ben and cleo want the lock too, and go through the doorway abreast: an instruction of the one, \
               an instruction of the other."],
        )?;
        stage.tell(BEN, "lock")?;
        stage.tell(CLEO, "lock")?;
        for actor in [BEN, CLEO] {
            stage.step(actor)?;
        }
        stage.abreast(BEN, CLEO)?;
    } else {
        stage.chapter("Two others come", &["ada is inside. Now ben wants the lock too, and then cleo."])?;
    }
    for (actor, sees) in [(BEN, "ada"), (CLEO, "ben")] {
        if !abreast {
            stage.tell(actor, "lock")?;
        }
        if stage.play(actor)? == Still::Asleep {
            let label = LABELS[actor];
            stage.say(&[&format!(
                "{label} looks at the others, sees {sees} before it, and sleeps beside {sees}'s slot until that changes. (It \
                 would spin for a moment first, if spinning had paid before.)"
            )])?;
        }
    }
    Ok(())
}

/// A ring: who has the turn is known from states and links, and no message is sent.
pub fn ring(stage: &mut Stage) -> Result<(), Stop> {
    stage.chapter(
        "A ring on which a privilege goes round",
        &[
            "Each slot has a machine with a state S and a link: its left neighbour on the ring, and how many absent machines \
             lie between. From its own state and its neighbour's a machine knows whether it has the privilege.",
            "No message says whose turn it is: the holder changes its own state when it leaves, and the next one's \
             comparison comes out otherwise. At first the ring is empty.",
        ],
    )?;
    stage.tell(ADA, "lock")?;
    stage.play(ADA)?;
    stage.chapter("Others want their turns", &["ada has the turn. ben and cleo want one each."])?;
    for actor in [BEN, CLEO] {
        stage.tell(actor, "lock")?;
        if stage.play(actor)? == Still::Asleep {
            stage.say(&[&format!(
                "{} waits until the privilege comes round to its machine.",
                LABELS[actor]
            )])?;
        }
    }
    stage.chapter(
        "Passing it on",
        &["ada unlocks. Before it changes its state, it brings the ring up to date: who wants a turn is linked in, who does \
           not is left out. Each of these stores may be its last; none of them moves the privilege but the very last."],
    )?;
    stage.tell(ADA, "unlock")?;
    stage.play(ADA)?;
    stage.play_to_the_end(BEN)?;
    stage.chapter("Killed with the privilege", &["ben has the turn. It is killed there: kill -9."])?;
    stage.kill(BEN)?;
    stage.say(&[
        "The privilege is with a dead machine. cleo waits, finds out that ben is dead, takes its membership back, and \
         passes the privilege on for it.",
    ])?;
    stage.play_to_the_end(CLEO)?;
    stage.say(&["cleo has the turn, and was told that the previous owner died."])?;
    stage.tell(CLEO, "repair")?;
    stage.play(CLEO)?;
    stage.tell(CLEO, "unlock")?;
    stage.play(CLEO)?;
    stage.say(&[
        "That was a virtual ring (Raynal 1984; Dijkstra's of 1974 by --ring k-state). docs/algorithms.md has the rules.",
    ])
}

/// A bias: why a lock that one process uses costs almost nothing.
pub fn bias(stage: &mut Stage) -> Result<(), Stop> {
    stage.chapter(
        "A lock that one process uses again and again",
        &[
            "Most locks are taken by the same process as the last time. Reading every number for that is a waste. So a lock \
             can be biased to the one that had it last: it is its privilege to come back without asking.",
            "ada takes the lock for the first time, by a number, as in the bakery.",
        ],
    )?;
    for order in ["lock", "unlock"] {
        stage.tell(ADA, order)?;
        stage.play(ADA)?;
    }
    stage.chapter(
        "A second time in a row",
        &["ada takes it again, and no other program has wanted it in between."],
    )?;
    for order in ["lock", "unlock"] {
        stage.tell(ADA, order)?;
        stage.play(ADA)?;
    }
    stage.chapter(
        "From now on without a number",
        &["The bias word names ada. Look how short lock() is now."],
    )?;
    for order in ["lock", "unlock", "lock"] {
        stage.tell(ADA, order)?;
        stage.play(ADA)?;
    }
    stage.chapter(
        "Another one wants it",
        &["ada is inside, without a number: the queue is empty, and yet the lock is taken. Now ben comes, by the queue."],
    )?;
    stage.tell(BEN, "lock")?;
    if stage.play(BEN)? == Still::Asleep {
        stage.say(&[
            "ben has revoked the bias, and waits until ada is outside: ada may have looked at the bias word just before ben \
             marked it. It sleeps until held[0] is 0.",
        ])?;
    }
    stage.tell(ADA, "unlock")?;
    stage.play(ADA)?;
    stage.say(&["ada has woken ben, and no program can be inside by the bias any more."])?;
    stage.play_to_the_end(BEN)?;
    stage.chapter("Back to the queue", &["ada wants the lock again. It is not biased to it any more."])?;
    stage.tell(ADA, "lock")?;
    if stage.play(ADA)? == Still::Asleep {
        stage.say(&["ada waits in the queue like every other program."])?;
    }
    stage.tell(BEN, "unlock")?;
    stage.play(BEN)?;
    stage.play_to_the_end(ADA)?;
    stage.tell(ADA, "unlock")?;
    stage.play(ADA)?;
    stage.say(&[
        "A revocation costs a system call that interrupts every processor; so a lock whose bias did not pay is biased again \
         only after more and more acquisitions. docs/algorithms.md has the proof obligations, spec/biased_tso.pml the model.",
    ])
}
