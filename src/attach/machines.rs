//! Endpoints at locks by messages: a machine and its mailboxes.

use super::{
    endpoint::{Endpoint, Refused, skip_numbers},
    open_file::OpenFile,
};
use crate::layout::{Algorithm, MailView};
use crate::registers::call_participant;
use crate::transport::{Carried, Mailboxes, Place, WAITING};
use std::sync::Arc;
use turnlock_core::sync::{Ordering::Relaxed, full_fence};
use turnlock_message::{
    Bakery, DemandRing, Event, LamportQueue, Machine, Misuse, Node, RicartAgrawala, Standing,
};

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
        let words = self.file.view().lock(self.region).words;
        skip_numbers(words, number);
        // Relaxed: only the participant that has the token writes it, and the mailbox orders one after another.
        words.token.store(number, Relaxed);
    }

    fn number(&self) -> u64 {
        self.file.view().lock(self.region).words.token.load(Relaxed)
    }
}

/// A machine and its mailboxes.
type AtMail<A> = Node<A, Mailboxes<MailOf>>;

/// What differs between the machines for their hosts.
pub trait Hosted: Machine {
    /// Whether it has a token, which is lost with its participant.
    const HAS_TOKEN: bool;
    /// Whether its waiters ask again.
    const POLLS: bool;
    /// Whether its tokens stay where they are until a waiter asks for them.
    const RESTS: bool = false;

    /// Does what there is to do by what the file says, and no message: makes a lost token anew, wakes one that rests. Returns
    /// whether that was anything.
    fn attend(_: &mut AtMail<Self>) -> Result<bool, Misuse>
    where
        Self: Sized,
    {
        Ok(false)
    }

    /// Returns whether [`Hosted::attend`] of a machine whose tokens rest would do anything.
    fn is_to_attend(_: &AtMail<Self>) -> bool
    where
        Self: Sized,
    {
        false
    }

    /// Returns whether others wait for something that it does before it waits itself.
    fn is_choosing(&self) -> bool {
        false
    }
}

impl Hosted for LamportQueue {
    const HAS_TOKEN: bool = false;
    const POLLS: bool = false;
}

impl Hosted for RicartAgrawala {
    const HAS_TOKEN: bool = true;
    const POLLS: bool = false;

    fn attend(node: &mut AtMail<Self>) -> Result<bool, Misuse> {
        if node.machine().standing() != Standing::Waiting {
            return Ok(false);
        }
        let Some(floor) = node.links().take_lost_token(0) else { return Ok(false) };
        node.tell(Event::Recreate { floor })?;
        Ok(true)
    }
}

impl Hosted for DemandRing {
    const HAS_TOKEN: bool = true;
    const POLLS: bool = false;
    const RESTS: bool = true;

    fn attend(node: &mut AtMail<Self>) -> Result<bool, Misuse> {
        // Partner: the fence in `Mailboxes::call_for_token`, as it says there.
        full_fence();
        Ok(node.attend(DemandRing::attend))
    }

    fn is_to_attend(node: &AtMail<Self>) -> bool {
        node.machine().is_to_attend(node.links())
    }
}

impl Hosted for Bakery {
    const HAS_TOKEN: bool = false;
    const POLLS: bool = true;

    fn is_choosing(&self) -> bool {
        Bakery::is_choosing(self)
    }
}

/// Opens the endpoint of participant `me` in the lock of `region`, which runs `algorithm`. `None`: its lives are used up, or it is no
/// algorithm by messages.
pub fn open_endpoint(
    file: Arc<OpenFile>,
    region: usize,
    me: usize,
    algorithm: Algorithm,
) -> Option<Box<dyn Endpoint>> {
    let place = MailOf { file, region };
    let participants = place.mail().peer_records.len();
    let mailboxes = Mailboxes::begin_life(place, me)?;
    let life = mailboxes.at().life;
    match algorithm {
        Algorithm::LamportQueue => endpoint(LamportQueue::absent(participants, me, life), mailboxes),
        Algorithm::RicartAgrawala => endpoint(RicartAgrawala::absent(participants, me, life), mailboxes),
        Algorithm::TokenRing => endpoint(DemandRing::absent(participants, me, life), mailboxes),
        Algorithm::MessageBakery => endpoint(Bakery::absent(participants, me, life), mailboxes),
        _ => None,
    }
}

fn endpoint<A>(machine: Result<A, Misuse>, mailboxes: Mailboxes<MailOf>) -> Option<Box<dyn Endpoint>>
where
    A: Hosted + Send + 'static,
    A::Message: Carried + Send,
{
    let node = Node::new(machine.ok()?, mailboxes).ok()?;
    let mut endpoint = MachineEndpoint { node, is_refused: false, hints: 0, was_choosing: false };
    // Before anything is received: it is to be told which peers are not there once it has asked.
    endpoint.join().ok()?;
    Some(Box::new(endpoint))
}

/// A machine and its mailboxes.
struct MachineEndpoint<A: Machine> {
    node: AtMail<A>,
    /// A message came that the machine refuses.
    is_refused: bool,
    /// The last hint that was followed.
    hints: u64,
    was_choosing: bool,
}

impl<A: Hosted> MachineEndpoint<A>
where
    A::Message: Carried,
{
    fn standing(&self) -> Standing {
        self.node.machine().standing()
    }

    fn tell(&mut self, event: Event<A::Message>) -> Result<(), Misuse> {
        let told = self.node.tell(event);
        self.has_changed();
        told
    }

    fn join(&mut self) -> Result<(), Misuse> {
        self.tell(Event::Join)?;
        if !A::HAS_TOKEN {
            // What numbers have been given the lock's word knows, whichever peers are there.
            let floor = self.node.links().place().number();
            self.tell(Event::Recreate { floor })?;
        }
        Ok(())
    }

    /// What its host does after each event: writes its standing down, for observers; says to the waiters that they
    /// should ask again, if it stands less in their way.
    fn has_changed(&mut self) {
        let is_choosing = self.node.machine().is_choosing();
        if self.was_choosing && !is_choosing {
            self.hint_to_others();
        }
        self.was_choosing = is_choosing;
        let standing = match self.standing() {
            Standing::Absent => 0,
            Standing::Joining => 1,
            Standing::Idle | Standing::Leaving => 2,
            Standing::Waiting => WAITING,
            Standing::Inside => 4,
        };
        let (mailboxes, me) = (self.node.links(), self.node.machine().me());
        mailboxes.place().mail().peer_records[me].standing.store(standing, Relaxed);
    }

    /// Returns whether there was anything to do.
    fn attend(&mut self) -> bool {
        let attended = A::attend(&mut self.node);
        // As of a message that cannot be.
        self.is_refused |= attended.is_err();
        let does = attended.unwrap_or(false);
        if does {
            self.has_changed();
        }
        does
    }

    fn hint_to_others(&self) {
        let (place, me) = (self.node.links().place(), self.node.machine().me());
        for (peer, peer_record) in place.mail().peer_records.iter().enumerate() {
            if peer != me && peer_record.attended.load(Relaxed) != 0 {
                peer_record.hints.fetch_add(1, Relaxed);
                place.call(peer);
            }
        }
    }

    fn is_to_ask_again(&self) -> bool {
        let may_ask = A::POLLS && self.standing() == Standing::Waiting && self.node.unsent() == 0;
        may_ask && self.hints() != self.hints
    }

    /// Returns how often it was told to ask again.
    fn hints(&self) -> u64 {
        self.node.links().place().mail().peer_records[self.node.machine().me()].hints.load(Relaxed)
    }
}

impl<A: Hosted + Send> Endpoint for MachineEndpoint<A>
where
    A::Message: Carried + Send,
{
    fn pump(&mut self) -> bool {
        let mut came = false;
        loop {
            match self.node.take() {
                Ok(true) => {
                    came = true;
                    self.has_changed();
                }
                Ok(false) if self.attend() => came = true,
                Ok(false) => break,
                // It is dropped; the call says so.
                Err(_) => self.is_refused = true,
            }
        }
        came
    }

    fn has_news(&self) -> bool {
        self.node.links().has_news() || self.is_to_ask_again() || A::is_to_attend(&self.node)
    }

    fn is_held_up(&self) -> bool {
        self.node.unsent() != 0
    }

    fn go_on(&mut self) -> Result<(), Refused> {
        loop {
            self.pump();
            match self.standing() {
                // Else it waits for room before it waits for the lock.
                Standing::Idle if self.is_held_up() => return Ok(()),
                Standing::Idle => {
                    self.tell(Event::Request).map_err(|_| Refused)?;
                    if A::RESTS && self.standing() == Standing::Waiting {
                        self.node.links().call_for_token();
                    }
                }
                Standing::Waiting if self.is_to_ask_again() => {
                    self.hints = self.hints();
                    self.ask_again();
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
        while self.attend() {}
        if A::POLLS {
            // No waiter is told otherwise.
            self.hint_to_others();
        }
    }

    fn ask_again(&mut self) {
        if A::POLLS && self.node.unsent() == 0 && self.standing() == Standing::Waiting {
            let _ = self.tell(Event::Retry);
        }
    }

    fn is_inside(&self) -> bool {
        self.standing() == Standing::Inside
    }

    fn travelled_token(&self) -> Option<u64> {
        self.node.fencing_token().filter(|_| A::HAS_TOKEN)
    }

    fn is_overwritten(&self) -> bool {
        self.is_refused || self.node.links().is_overwritten()
    }
}
