//! Lamport's queue: its clocks, its queues, and its script.

use super::{
    shown::{MessageOf, Shown, Told, list},
    world::World,
};
use crate::explain::{
    picture::Stop,
    scripts::{ADA, BEN, CLEO, LABELS},
};
use turnlock::message::{Event, LamportQueue, LamportQueueMessage as Say, Machine, Misuse, Standing};

impl Shown for LamportQueue {
    const FENCING: &'static str = "its stamp as one number, clock x 4096 + participant";
    const COLUMNS: &'static [(&'static str, usize)] =
        &[("clock", 5), ("of ada", 7), ("of ben", 7), ("of cleo", 7)];

    fn begun(participants: usize, me: usize) -> Result<Self, Misuse> {
        Self::founding(participants, me)
    }

    fn cells(&self, down: &[bool]) -> Vec<String> {
        let of = |peer: usize| match (down[peer], self.has_request_of(peer), self.last_clock_of(peer)) {
            (true, ..) => "out".to_owned(),
            (_, true, clock) => format!("req {clock}"),
            (_, false, 0) => "-".into(),
            (_, false, clock) => clock.to_string(),
        };
        std::iter::once(self.clock().to_string()).chain((0..down.len()).map(of)).collect()
    }

    fn text(message: &MessageOf<Self>) -> String {
        match message {
            Say::Request { clock } => format!("REQUEST({clock})"),
            Say::Acknowledge { clock } => format!("ACK({clock})"),
            Say::Release { clock } => format!("RELEASE({clock})"),
            other => turnlock::message::Message::kind(other).to_uppercase(),
        }
    }

    fn told(told: &Told<Self>) -> Vec<String> {
        let (who, now) = (told.who(), told.now);
        let mut said = match told.event {
            Event::Request => {
                let stamp = now.last_clock_of(now.me());
                vec![format!("{who} writes a request into its own queue. Its clock is the stamp: {stamp}.")]
            }
            Event::Release => vec![format!("{who} takes its request out of its own queue.")],
            Event::Receive { from, message } => vec![received(told, LABELS[*from], message)],
            Event::Down { peer } => {
                let peer = LABELS[*peer];
                vec![format!("{who} leaves {peer} out of its queue, and {peer}'s request with it.")]
            }
            _ => Vec::new(),
        };
        if told.before.standing() == Standing::Waiting || now.standing() == Standing::Inside {
            said.extend(what_now(told));
        }
        said
    }
}

fn received(told: &Told<LamportQueue>, from: &str, message: &Say) -> String {
    let (who, clock) = (told.who(), told.now.clock());
    match message {
        Say::Request { .. } => format!(
            "{who} writes the request into its queue and answers. Its clock goes past both stamps, and is {clock} now."
        ),
        Say::Acknowledge { .. } => format!(
            "A link keeps its order, so nothing older of {from}'s is on its way to {who} any more. {who}'s clock is {clock} now."
        ),
        _ => format!("{who} takes {from}'s request out of its queue."),
    }
}

/// Returns why it enters, or what it waits for.
fn what_now(told: &Told<LamportQueue>) -> Option<String> {
    let (who, me, now) = (told.who(), told.now.me(), told.now);
    let stamp = |peer: usize| (now.last_clock_of(peer), peer);
    let in_words = |peer: usize| format!("({}, {})", now.last_clock_of(peer), LABELS[peer]);
    match now.standing() {
        Standing::Inside if told.before.standing() == Standing::Waiting => Some(format!(
            "{who}'s request {} is the oldest in its queue, and it has heard something later from each other one.",
            in_words(me)
        )),
        Standing::Waiting => {
            let before_it = told.others().filter(|peer| stamp(*peer) < stamp(me));
            let (older, silent): (Vec<_>, Vec<_>) = before_it.partition(|peer| now.has_request_of(*peer));
            let older: Vec<String> = older.into_iter().map(in_words).collect();
            let silent: Vec<&str> = silent.into_iter().map(|peer| LABELS[peer]).collect();
            let mut why = Vec::new();
            if !older.is_empty() {
                let older = older.iter().map(String::as_str).collect::<Vec<_>>();
                let are = if older.len() == 1 { "is" } else { "are" };
                why.push(format!("{} {are} older", list(&older)));
            }
            if !silent.is_empty() {
                why.push(format!("nothing later has come from {}", list(&silent)));
            }
            let why = why.join(", and ");
            Some(format!("{who}'s own request is {}. It waits: {why}.", in_words(me)))
        }
        _ => None,
    }
}

/// Two at the same time, a third, a death.
pub fn script(world: &mut World<LamportQueue>) -> Result<(), Stop> {
    world.chapter(
        "Lamport's queue (lamport-queue)",
        &[
            "Each participant has a clock and a whole queue of its own: what it has heard last of ada, ben and cleo, a request \
             (req) or something later. A request goes to all, with the sender's clock as its stamp, and each one \
             acknowledges it.",
            "A participant enters when its own request is older than all else in its queue. Of equal stamps that of the \
             participant with the smaller number is older.",
        ],
    )?;
    world.lock(ADA)?;
    world.lock(BEN)?;
    world.say(&[
        "ada and ben have chosen the same stamp, and neither knows of the other yet. Now the messages come.",
    ])?;
    world.deliver_all()?;
    world.chapter(
        "Lamport's queue: a third one comes",
        &["ada is inside, and ben waits. cleo wants the lock too."],
    )?;
    world.lock(CLEO)?;
    world.deliver_all()?;
    world.chapter("Lamport's queue: leaving", &["ada unlocks, and says so to all."])?;
    world.unlock(ADA)?;
    world.deliver_all()?;
    world
        .chapter("Lamport's queue: killed inside", &["ben is inside, and cleo waits. Now ben is killed."])?;
    world.kill(BEN)?;
    world.say(&[
        "ben's request stands in all queues, and no RELEASE will come. In a lock file the kernel lets go of ben's byte lock. \
         A waiter looks for that now and then, and ends ben's life there: the others are told.",
    ])?;
    world.end_life(BEN)?;
    world.say(&["In a lock file, cleo's lock() says that the previous owner died."])?;
    world.unlock(CLEO)?;
    world.deliver_all()?;
    let count = world.count();
    world.say(&[
        "That was Lamport's queue of 1978: first come first served by stamps, at 3(n-1) messages for an entry among n.",
        &count,
    ])
}
