//! What a machine has to say of itself to be shown.

use super::records::Host;
use crate::explain::scripts::LABELS;
use turnlock::message::{Action, Event, Machine, Misuse, Wire};

/// The messages of a machine.
pub type MessageOf<A> = <A as Machine>::Message;
/// What was done without a message, in sentences and as actions.
pub type Attended<A> = (Vec<String>, Vec<Action<MessageOf<A>>>);

/// A machine that is shown.
pub trait Shown: Machine<Message: Wire> + Clone {
    /// What its fencing tokens are made of.
    const FENCING: &'static str;
    /// The names of its tokens, in the order of their numbers.
    const TOKENS: &'static [&'static str] = &[];
    /// The heads of the columns between who it is and what it does, and their widths.
    const COLUMNS: &'static [(&'static str, usize)];

    /// Returns the machine of participant `me`, as it begins.
    fn begun(participants: usize, me: usize) -> Result<Self, Misuse>;

    /// Returns what it has, in the order of the columns. `down`: which others it was told are down.
    fn cells(&self, down: &[bool]) -> Vec<String>;

    /// Returns a message with its numbers.
    fn text(message: &MessageOf<Self>) -> String;

    /// Returns the number of a token that is the privilege.
    fn token_number(_: &MessageOf<Self>) -> Option<u64> {
        None
    }

    /// Returns what an event has led to, but for what is sent and who enters.
    fn told(told: &Told<Self>) -> Vec<String>;

    /// Does what there is to do by what its host sees, and no message.
    fn attend(&mut self, _: &mut Host) -> Result<Attended<Self>, Misuse> {
        Ok((Vec::new(), Vec::new()))
    }
}

/// An event, and the machine before and after.
pub struct Told<'t, A: Machine> {
    pub event: &'t Event<A::Message>,
    pub before: &'t A,
    pub now: &'t A,
    pub actions: &'t [Action<A::Message>],
    /// Which others the participant was told are down.
    pub down: &'t [bool],
}

impl<A: Machine> Told<'_, A> {
    /// Returns the label of the participant.
    pub fn who(&self) -> &'static str {
        LABELS[self.now.me()]
    }

    /// Returns those that the participant takes to be there.
    pub fn others(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.down.len()).filter(|peer| *peer != self.now.me() && !self.down[*peer])
    }
}

/// Returns names as a list.
pub fn list(names: &[&str]) -> String {
    match names {
        [] => "no participant".into(),
        [one] => (*one).into(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
