//! A machine and its transport together.

use super::{Action, Channels, Event, Machine, Misuse, Notice, Standing, Transport};
use std::{collections::VecDeque, fmt};

/// A participant: its machine, its end of the transport, and what the transport has had no room for yet.
///
/// While something is unsent the machine is told nothing new: so what is unsent is what one event led to, and a full link
/// slows its sender down instead of filling its memory.
///
/// ```
/// use turnlock_message::{Channels, LamportQueue, Machine, Node, Notice, Refusal, Standing, Transport};
///
/// /// The transport of one that is alone.
/// struct Nowhere;
///
/// impl<M> Transport<M> for Nowhere {
///     const CHANNELS: Channels = Channels { in_order: true, loses: false, repeats: false, loses_tokens: false };
///     fn send(&mut self, _: usize, _: M) -> Result<(), (Refusal, M)> {
///         Ok(())
///     }
///     fn receive(&mut self) -> Option<Notice<M>> {
///         None
///     }
/// }
///
/// let mut node = Node::new(LamportQueue::founding(1, 0)?, Nowhere)?;
/// node.request()?;
/// assert_eq!(node.machine().standing(), Standing::Inside);
/// assert!(node.fencing_token().is_some());
/// node.release()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Node<A: Machine, T> {
    machine: A,
    transport: T,
    unsent: VecDeque<(usize, A::Message)>,
    fencing_token: Option<u64>,
}

/// The error for a transport that does to messages what a machine cannot bear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// What the machine needs.
    pub needs: Channels,
    /// What the transport may do.
    pub channels: Channels,
}

impl fmt::Display for Unfit {
    fn fmt(&self, to: &mut fmt::Formatter) -> fmt::Result {
        let Self { needs, channels } = self;
        write!(
            to,
            "the machine needs {needs:?}, the transport has {channels:?}: take another machine, or mend the links"
        )
    }
}

impl std::error::Error for Unfit {}

impl<A: Machine, T: Transport<A::Message>> Node<A, T> {
    /// # Errors
    /// [`Unfit`] if the transport's links will not do for this machine.
    pub fn new(machine: A, transport: T) -> Result<Self, Unfit> {
        let (needs, channels) = (A::NEEDS, T::CHANNELS);
        if !channels.will_do_for(&needs) {
            return Err(Unfit { needs, channels });
        }
        Ok(Self { machine, transport, unsent: VecDeque::new(), fencing_token: None })
    }

    /// Returns the machine.
    pub fn machine(&self) -> &A {
        &self.machine
    }

    /// Returns the transport.
    pub fn links(&self) -> &T {
        &self.transport
    }

    /// Returns the end of the transport: for its host, which waits on it, has it work, and passes failure notices to it. What
    /// the machine sends and gets goes through the node alone.
    pub fn transport(&mut self) -> &mut T {
        &mut self.transport
    }

    /// Returns the fencing token, if the participant is inside.
    pub fn fencing_token(&self) -> Option<u64> {
        self.fencing_token
    }

    /// Tells the machine [`Event::Request`]: once [`Machine::standing`] is [`Standing::Inside`], the participant is inside.
    ///
    /// # Errors
    /// As [`Machine::on`].
    pub fn request(&mut self) -> Result<(), Misuse> {
        self.tell(Event::Request)
    }

    /// Tells the machine [`Event::Withdraw`].
    ///
    /// # Errors
    /// As [`Machine::on`].
    pub fn withdraw(&mut self) -> Result<(), Misuse> {
        self.tell(Event::Withdraw)
    }

    /// Tells the machine [`Event::Release`].
    ///
    /// # Errors
    /// As [`Machine::on`].
    pub fn release(&mut self) -> Result<(), Misuse> {
        self.tell(Event::Release)
    }

    /// Tells the machine anything that does not come from the transport. [`Event::Retry`] is left out while something is
    /// unsent: to ask again would only make it more.
    ///
    /// # Errors
    /// As [`Machine::on`].
    pub fn tell(&mut self, event: Event<A::Message>) -> Result<(), Misuse> {
        if matches!(event, Event::Retry) && !self.unsent.is_empty() {
            self.flush();
            return Ok(());
        }
        let actions = self.machine.on(event)?;
        self.carry_out(actions);
        Ok(())
    }

    /// Has the machine do what it can do by what its host sees, which is the transport: what comes of no event. Returns
    /// whether that was anything.
    pub fn attend(&mut self, attend: impl FnOnce(&mut A, &mut T) -> Vec<Action<A::Message>>) -> bool {
        let actions = attend(&mut self.machine, &mut self.transport);
        let does = !actions.is_empty();
        self.carry_out(actions);
        does
    }

    fn carry_out(&mut self, actions: Vec<Action<A::Message>>) {
        for action in actions {
            match action {
                Action::Send { to, message } => self.unsent.push_back((to, message)),
                Action::Enter { fencing_token } => self.fencing_token = Some(fencing_token),
                Action::Joined | Action::Departed => {}
            }
        }
        if self.machine.standing() != Standing::Inside {
            self.fencing_token = None;
        }
        self.flush();
    }

    /// Sends what can be sent, and then tells the machine the next thing that came, if nothing is left unsent. Returns
    /// whether anything came.
    ///
    /// # Errors
    /// [`Misuse`] of a message that cannot be; it is dropped, and the node goes on.
    pub fn step(&mut self) -> Result<bool, Misuse> {
        self.flush();
        if !self.unsent.is_empty() {
            return Ok(false);
        }
        self.take()
    }

    /// Does what [`Node::step`] does, but also while something is unsent: what comes of it waits too. Two that wait for room in
    /// each other's links would wait for ever otherwise.
    ///
    /// What is unsent stays little, as long as hosts tell machines nothing that sends but leaving while anything is unsent: then
    /// each message that comes was sent for by something that others had room for.
    ///
    /// # Errors
    /// As [`Node::step`].
    pub fn take(&mut self) -> Result<bool, Misuse> {
        self.flush();
        let Some(notice) = self.transport.receive() else { return Ok(false) };
        self.tell(match notice {
            Notice::Message { from, message } => Event::Receive { from, message },
            Notice::Down { peer } => Event::Down { peer },
        })?;
        Ok(true)
    }

    /// Returns how many messages the transport has had no room for yet.
    pub fn unsent(&self) -> usize {
        self.unsent.len()
    }

    /// Sends in order to each peer; a link that is full holds up its own messages only.
    fn flush(&mut self) {
        let mut full = Vec::new();
        for _ in 0..self.unsent.len() {
            let Some((to, message)) = self.unsent.pop_front() else { return };
            if full.contains(&to) {
                self.unsent.push_back((to, message));
            } else if let Err((_, message)) = self.transport.send(to, message) {
                full.push(to);
                self.unsent.push_back((to, message));
            }
        }
    }
}
