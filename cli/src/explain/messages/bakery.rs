//! The bakery by messages: its questions and answers, and its script.

use super::{
    shown::{MessageOf, Shown, Told, list},
    world::World,
};
use crate::explain::{
    picture::Stop,
    scripts::{ADA, BEN, CLEO, LABELS},
};
use turnlock::message::{Bakery, BakeryMessage as Say, Event, Machine, Message, Misuse, Standing};

impl Shown for Bakery {
    const FENCING: &'static str = "its number and itself as one, number x 4096 + participant";
    const COLUMNS: &'static [(&'static str, usize)] =
        &[("choosing", 8), ("number", 6), ("heard", 5), ("asks", 8)];

    fn begun(participants: usize, me: usize) -> Result<Self, Misuse> {
        Self::founding(participants, me)
    }

    fn cells(&self, down: &[bool]) -> Vec<String> {
        let is_asked = |peer: &usize| *peer != self.me() && !down[*peer] && !self.has_passed(*peer);
        let waits = self.standing() == Standing::Waiting;
        let asked: Vec<&str> = (0..down.len()).filter(is_asked).map(|peer| LABELS[peer]).collect();
        vec![
            u8::from(self.is_choosing()).to_string(),
            self.number().to_string(),
            self.highest().to_string(),
            if waits && !asked.is_empty() { asked.join(" ") } else { "-".into() },
        ]
    }

    fn text(message: &MessageOf<Self>) -> String {
        match message {
            Say::Ask { number: 0, .. } => "ASK".into(),
            Say::Ask { number, .. } => format!("ASK({number})"),
            Say::Answer { choosing: true, .. } => "ANSWER(choosing)".into(),
            Say::Answer { number, .. } => format!("ANSWER({number})"),
            other => other.kind().to_uppercase(),
        }
    }

    fn told(told: &Told<Self>) -> Vec<String> {
        let (who, now) = (told.who(), told.now);
        let mut said = match told.event {
            Event::Request => vec![format!("{who} is choosing, and asks each other one for its number.")],
            Event::Release => vec![format!(
                "{who}'s number is 0 again. It sends nothing: the others learn it when they ask."
            )],
            Event::Receive { from, message: Say::Ask { .. } } => {
                vec![format!("{who} tells {} what it has at this moment.", LABELS[*from])]
            }
            Event::Receive { from, message: Say::Answer { question: _, choosing, number, .. } } => {
                vec![answered(told, *from, *choosing, *number)]
            }
            Event::Down { peer } => {
                vec![format!("{who} counts {} as one that has no number.", LABELS[*peer])]
            }
            _ => Vec::new(),
        };
        if told.before.is_choosing() && now.number() != 0 {
            said.push(format!(
                "All have answered. {who} has heard of no number above {}, and takes {}. Then it asks again, with its number.",
                now.number() - 1,
                now.number()
            ));
        }
        if told.before.standing() == Standing::Waiting && now.standing() == Standing::Inside {
            said.push(format!("No other one is in {who}'s way."));
        }
        said
    }
}

/// Returns what an answer means.
fn answered(told: &Told<Bakery>, from: usize, choosing: bool, number: u64) -> String {
    let (who, from_label, before) = (told.who(), LABELS[from], told.before);
    let own = before.number();
    if before.is_choosing() {
        let left: Vec<&str> =
            told.others().filter(|peer| !told.now.has_passed(*peer)).map(|peer| LABELS[peer]).collect();
        return match told.now.is_choosing() {
            true => format!("{who} still needs the answer of {}.", list(&left)),
            false => format!("{who} has the last answer that it needed."),
        };
    }
    if choosing {
        return format!(
            "{from_label} is choosing, and may take a number before {who}'s. {who} has to ask again."
        );
    }
    match (number, told.now.standing() == Standing::Inside || told.now.has_passed(from)) {
        (0, _) => format!("{from_label} wants nothing, and lets {who} pass."),
        (_, true) => {
            format!("({number}, {from_label}) comes after ({own}, {who}): {from_label} lets {who} pass.")
        }
        (_, false) => {
            format!(
                "({number}, {from_label}) comes before ({own}, {who}). {who} has to ask {from_label} again later."
            )
        }
    }
}

/// A number for one, the same number for two, a death.
pub fn script(world: &mut World<Bakery>) -> Result<(), Stop> {
    world.chapter(
        "Lamport's bakery by messages (message-bakery)",
        &[
            "Each participant keeps its own number, and whether it is choosing one. What shared memory would let another read, it \
             has to ask for: ASK, and ANSWER with the number at that moment. Each answer is shown with its question.",
            "A participant asks all others, takes a number above all that it has heard of, and asks all again. It enters \
             when none of them is choosing or has a smaller pair of number and participant.",
        ],
    )?;
    world.lock(ADA)?;
    for _ in 0..2 {
        world.exchange(ADA, BEN)?;
        world.exchange(ADA, CLEO)?;
    }
    world.chapter(
        "The bakery by messages: two at the same time",
        &["ada is inside, after 4(n-1) messages. ben and cleo want the lock at the same time."],
    )?;
    world.lock(BEN)?;
    world.lock(CLEO)?;
    world.exchange(BEN, ADA)?;
    world.exchange(CLEO, ADA)?;
    // Both questions come before either answer.
    for (from, to) in [(BEN, CLEO), (CLEO, BEN), (CLEO, BEN), (BEN, CLEO)] {
        world.deliver(from, to)?;
    }
    for (asker, other) in [(BEN, ADA), (BEN, CLEO), (CLEO, ADA), (CLEO, BEN)] {
        world.exchange(asker, other)?;
    }
    world.say(&["ben and cleo have the same number. Of equal numbers that of the smaller participant goes first: ben."])?;
    world.chapter(
        "The bakery by messages: leaving",
        &["ada unlocks. A waiter learns of that by asking again. In a lock file ada wakes the waiters, so that they do."],
    )?;
    world.unlock(ADA)?;
    world.ask_again(BEN)?;
    world.exchange(BEN, ADA)?;
    world.ask_again(CLEO)?;
    world.exchange(CLEO, ADA)?;
    world.exchange(CLEO, BEN)?;
    world.chapter(
        "The bakery by messages: killed inside",
        &["ben is inside, and cleo waits. Now ben is killed."],
    )?;
    world.kill(BEN)?;
    world.ask_again(CLEO)?;
    world.say(&[
        "ben will not answer. In a lock file the kernel lets go of ben's byte lock. A waiter looks for that now and then, and ends \
         ben's life there: the others are told.",
    ])?;
    world.end_life(BEN)?;
    world.say(&["In a lock file, cleo's lock() says that the previous owner died."])?;
    world.unlock(CLEO)?;
    let count = world.count();
    world.say(&[
        "That was Lamport's bakery of 1974 by messages: first come first served, and no bound on the messages, since waiters ask \
         again and again. turnlock explain bakery shows it in shared memory.",
        &count,
    ])
}
