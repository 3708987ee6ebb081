//! One participant's seat at a lock by messages: its machine, and its mailboxes.

use super::open_file::OpenFile;
use crate::layout::{Algorithm, MailView};
use crate::message::{Bakery, Event, LamportQueue, Machine, Misuse, Node, RicartAgrawala, Standing};
use crate::registers::call_participant;
use crate::sync::Ordering::Relaxed;
use crate::transport::{Carried, Mailboxes, Place};
use std::sync::Arc;

/// The mailboxes of the lock in `region`.
pub struct MailOf {
    /// The file.
    pub file: Arc<OpenFile>,
    /// Which lock. The file has mail areas.
    pub region: usize,
}

impl Place for MailOf {
    fn mail(&self) -> MailView<'_> {
        self.file.view().mail(self.region)
    }

    fn call(&self, participant: usize) {
        call_participant(self.file.view(), self.region, participant);
    }

    fn write_number(&self, number: u64) {
        // Relaxed: only who has the token writes it, and the mailbox orders one after another.
        self.file.view().lock(self.region).words.token.store(number, Relaxed);
    }

    fn number(&self) -> u64 {
        self.file.view().lock(self.region).words.token.load(Relaxed)
    }
}

/// What is asked of a seat, whichever machine it has.
pub trait Seat: Send {
    /// Takes all that came, as far as what it leads to can be sent. Returns whether anything came.
    fn pump(&mut self) -> bool;
    /// Returns whether [`Seat::pump`] would find anything.
    fn has_news(&self) -> bool;
    /// Returns whether something waits for room in a mailbox.
    fn is_held_up(&self) -> bool;
    /// Does what there is to do on the way in: requests, makes a lost token anew.
    fn go_on(&mut self) -> Result<(), Misuse>;
    /// Gives up on the way in, or leaves the section.
    fn give_up(&mut self);
    /// Asks again what is unanswered, if the machine needs that.
    fn ask_again(&mut self);
    /// Returns whether it is inside.
    fn is_inside(&self) -> bool;
    /// Returns the fencing token that travels with the algorithm's token, if it has one.
    fn travelled_token(&self) -> Option<u64>;
    /// Returns whether something else than turnlock wrote into the mailboxes.
    fn is_overwritten(&self) -> bool;
}

/// In what machines differ for their hosts.
pub trait Hosted: Machine {
    /// Whether it has a token, which is lost with its participant.
    const HAS_TOKEN: bool;
    /// Whether its waiters ask again.
    const POLLS: bool;
}

impl Hosted for LamportQueue {
    const HAS_TOKEN: bool = false;
    const POLLS: bool = false;
}

impl Hosted for RicartAgrawala {
    const HAS_TOKEN: bool = true;
    const POLLS: bool = false;
}

impl Hosted for Bakery {
    const HAS_TOKEN: bool = false;
    const POLLS: bool = true;
}

/// Takes a seat for participant `me` in the lock of `place`, which runs `algorithm`. `None`: its lives are used up, or it is no
/// algorithm by messages.
pub fn take_seat(place: MailOf, me: usize, algorithm: Algorithm) -> Option<Box<dyn Seat>> {
    let participants = place.mail().stations.len();
    let mailboxes = Mailboxes::begin_life(place, me)?;
    let life = mailboxes.at().life;
    match algorithm {
        Algorithm::LamportQueue => seat(LamportQueue::absent(participants, me, life), mailboxes),
        Algorithm::RicartAgrawala => seat(RicartAgrawala::absent(participants, me, life), mailboxes),
        Algorithm::MessageBakery => seat(Bakery::absent(participants, me, life), mailboxes),
        _ => None,
    }
}

fn seat<A>(machine: Result<A, Misuse>, mailboxes: Mailboxes<MailOf>) -> Option<Box<dyn Seat>>
where
    A: Hosted + Send + 'static,
    A::Message: Carried + Send,
{
    let mut seated = Seated(Node::new(machine.ok()?, mailboxes).ok()?, false);
    // Before anything is received: it is to be told who is not there once it has asked.
    seated.join().ok()?;
    Some(Box::new(seated))
}

/// A machine at its mailboxes; and whether a message came that it refuses.
struct Seated<A: Machine>(Node<A, Mailboxes<MailOf>>, bool);

impl<A: Hosted> Seated<A>
where
    A::Message: Carried,
{
    fn standing(&self) -> Standing {
        self.0.machine().standing()
    }

    fn tell(&mut self, event: Event<A::Message>) -> Result<(), Misuse> {
        let told = self.0.tell(event);
        self.show();
        told
    }

    fn join(&mut self) -> Result<(), Misuse> {
        self.tell(Event::Join)?;
        if !A::HAS_TOKEN {
            // What numbers have been given the lock's word knows, whoever is there.
            let floor = self.0.transport().place().number();
            self.tell(Event::Recreate { floor })?;
        }
        Ok(())
    }

    /// Writes its standing down, for observers.
    fn show(&self) {
        let standing = match self.standing() {
            Standing::Absent => 0,
            Standing::Joining => 1,
            Standing::Idle | Standing::Leaving => 2,
            Standing::Waiting => 3,
            Standing::Inside => 4,
        };
        let (mailboxes, me) = (self.0.transport(), self.0.machine().me());
        mailboxes.place().mail().stations[me].standing.store(standing, Relaxed);
    }
}

impl<A: Hosted + Send> Seat for Seated<A>
where
    A::Message: Carried + Send,
{
    fn pump(&mut self) -> bool {
        let mut came = false;
        loop {
            match self.0.step() {
                Ok(true) => came = true,
                Ok(false) => break,
                // It is dropped; the call says so.
                Err(_) => self.1 = true,
            }
        }
        if came {
            self.show();
        }
        came
    }

    fn has_news(&self) -> bool {
        self.0.unsent() == 0 && self.0.transport().has_news()
    }

    fn is_held_up(&self) -> bool {
        self.0.unsent() != 0
    }

    fn go_on(&mut self) -> Result<(), Misuse> {
        loop {
            self.pump();
            match self.standing() {
                Standing::Idle => self.tell(Event::Request)?,
                Standing::Waiting if A::HAS_TOKEN => {
                    let Some(floor) = self.0.transport().take_lost_token() else { return Ok(()) };
                    self.tell(Event::Recreate { floor })?;
                }
                Standing::Joining if self.has_news() => {}
                _ => return Ok(()),
            }
        }
    }

    fn give_up(&mut self) {
        let _ = match self.standing() {
            Standing::Waiting => self.tell(Event::Withdraw),
            Standing::Inside => self.tell(Event::Release),
            _ => Ok(()),
        };
        if A::POLLS {
            // Nobody is told otherwise: those who wait ask again.
            let (place, me) = (self.0.transport().place(), self.0.machine().me());
            let waits = |peer: &usize| *peer != me && place.mail().stations[*peer].attended.load(Relaxed) != 0;
            (0..self.0.machine().participants()).filter(waits).for_each(|peer| place.call(peer));
        }
    }

    fn ask_again(&mut self) {
        if A::POLLS && self.0.unsent() == 0 {
            let _ = self.tell(Event::Retry);
        }
    }

    fn is_inside(&self) -> bool {
        self.standing() == Standing::Inside
    }

    fn travelled_token(&self) -> Option<u64> {
        self.0.fencing_token().filter(|_| A::HAS_TOKEN)
    }

    fn is_overwritten(&self) -> bool {
        self.1 || self.0.transport().is_overwritten()
    }
}
