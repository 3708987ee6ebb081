//! A transport over TCP: of each two participants the one with the lower number connects, again and again.
//!
//! A connection that breaks says nothing about the other end, and loses nothing: its session goes on over the next one. The
//! failure notice comes from the supervisor ([`Sockets::is_down`]), which has seen a process end.

use crate::{
    connection::Connection,
    frame::{Frame, Hello},
    session::{Comes, Session},
};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::{
    collections::VecDeque,
    io::{self, ErrorKind},
    net::{Ipv4Addr, SocketAddrV4, TcpListener},
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant},
};
use turnlock::message::{Channels, Notice, Refusal, Transport, Wire};

/// The port, in each participant's own network namespace.
const PORT: u16 = 7777;
/// How many messages may be unconfirmed on a link.
const ROOM: usize = 64;
/// How many messages may lie here unread before no more are read.
const INBOX: usize = 256;
/// How long a connection may take to be made before another is tried, and how often one that is idle shows itself.
const MOMENT: Duration = Duration::from_millis(60);

/// The address of `at`'s end of the cable to `other`.
pub fn address(at: usize, other: usize) -> Ipv4Addr {
    let (lower, higher) = (at.min(other) as u8, at.max(other) as u8);
    Ipv4Addr::new(10, lower + 1, higher + 1, if at < other { 1 } else { 2 })
}

/// How a transport breaks the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It does not.
    Nothing,
    /// What is sent again is taken again: messages have no numbers.
    NoNumbers,
    /// What was under way when a connection broke is not sent again.
    NothingAgain,
    /// A connection that breaks is taken for a death.
    SilenceIsDeath,
}

/// What happened on the links.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Connections that broke after they were made.
    pub broken: u64,
    /// Messages that were written to more than one connection.
    pub again: u64,
    /// For a wrong transport: messages that were taken twice.
    pub twice: u64,
    pub tokens_sent: u64,
    pub tokens_read: u64,
}

#[derive(Default)]
struct Link {
    session: Session,
    connection: Option<Connection>,
    /// The other end has said hello on this connection.
    is_open: bool,
    /// The other end's life: 0 before the first hello.
    life: u32,
    /// The last life that has ended for certain.
    ended: u32,
    /// When to try again, or to show oneself; and how often it was tried since the last connection, for longer each time.
    next: Option<Instant>,
    tries: u32,
}

impl Link {
    fn is_down(&self) -> bool {
        self.ended > 0 && self.life <= self.ended
    }

    /// Whether a life may come: not an earlier one, nor a later one before the end of the one before is known here.
    fn admits(&self, life: u32) -> bool {
        life > self.ended && (life == self.life || self.life <= self.ended)
    }

    fn breaks(&mut self, wrong: Wrong) {
        (self.connection, self.is_open) = (None, false);
        self.next = Some(Instant::now() + MOMENT * (1 << self.tries.min(4)) / 4);
        if wrong == Wrong::NothingAgain {
            self.session.forget_unconfirmed();
        }
    }
}

/// One participant's end of all links.
pub struct Sockets<M> {
    me: usize,
    life: u32,
    wrong: Wrong,
    listener: TcpListener,
    /// Connections that came, and have not said hello.
    strangers: Vec<Connection>,
    links: Vec<Link>,
    inbox: VecDeque<Notice<M>>,
    pub counts: Counts,
}

impl<M: Wire> Sockets<M> {
    pub fn new(me: usize, n: usize, life: u32, wrong: Wrong) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
        listener.set_nonblocking(true)?;
        let links = (0..n).map(|_| Link::default()).collect();
        let (strangers, inbox, counts) = (Vec::new(), VecDeque::new(), Counts::default());
        Ok(Self { me, life, wrong, listener, strangers, links, inbox, counts })
    }

    /// A life of a participant has ended: its supervisor saw it.
    pub fn is_down(&mut self, peer: usize, life: u32) {
        let link = &mut self.links[peer];
        link.ended = link.ended.max(life);
        if link.is_down() {
            (link.session, link.connection, link.is_open) = (Session::default(), None, false);
            self.inbox.push_back(Notice::Down { peer });
        }
    }

    /// How many failure notices have not been read.
    pub fn news(&self) -> usize {
        self.inbox.iter().filter(|notice| matches!(notice, Notice::Down { .. })).count()
    }

    /// How many messages wait: here to be read, and there to be confirmed; and how many of both are tokens.
    pub fn waiting(&self) -> (usize, usize, usize) {
        let is_token = |notice: &&Notice<M>| matches!(notice, Notice::Message { message, .. } if message.token().is_some());
        let (unconfirmed, tokens) = self.links.iter().fold((0, 0), |(all, tokens), link| {
            let (more, of_them) = link.session.unconfirmed();
            (all + more, tokens + of_them)
        });
        (self.inbox.len(), unconfirmed, tokens + self.inbox.iter().filter(is_token).count())
    }

    /// The peers that are connected now, as bits.
    pub fn connected(&self) -> u32 {
        (0..self.links.len()).filter(|peer| self.links[*peer].is_open).fold(0, |bits, peer| bits | 1 << peer)
    }

    /// Waits for something to come here or to `also`, or to go from here, but not for longer than that.
    pub fn wait(&self, also: BorrowedFd, limit: Duration) {
        let mut wanted = vec![PollFd::new(also, PollFlags::POLLIN)];
        wanted.push(PollFd::new(self.listener.as_fd(), PollFlags::POLLIN));
        let full = self.inbox.len() >= INBOX;
        let of_links = self.links.iter().filter_map(|link| link.connection.as_ref());
        for connection in self.strangers.iter().chain(of_links) {
            let mut flags = PollFlags::empty();
            flags.set(PollFlags::POLLIN, !full);
            flags.set(PollFlags::POLLOUT, connection.to_go() > 0);
            wanted.push(PollFd::new(connection.stream().as_fd(), flags));
        }
        // A signal only ends the wait.
        let _ = poll(&mut wanted, PollTimeout::try_from(limit).unwrap_or(PollTimeout::MAX));
    }

    /// Connects, writes and reads, as far as that goes without waiting.
    pub fn work(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            self.strangers.extend(Connection::over(stream));
        }
        for mut stranger in std::mem::take(&mut self.strangers) {
            match stranger.read().and_then(|()| stranger.frame()) {
                Ok(None) => self.strangers.push(stranger),
                Ok(Some(Frame::Hello(hello))) => self.greets(stranger, hello),
                Ok(Some(_)) | Err(_) => {}
            }
        }
        for peer in 0..self.links.len() {
            if peer != self.me && self.works(peer).is_err() {
                let link = &mut self.links[peer];
                let was_open = link.is_open;
                link.breaks(self.wrong);
                self.counts.broken += u64::from(was_open);
                if was_open && self.wrong == Wrong::SilenceIsDeath {
                    self.inbox.push_back(Notice::Down { peer });
                }
            }
        }
    }

    fn hello(&self, peer: usize) -> Frame {
        Frame::Hello(Hello { from: self.me as u16, life: self.life, taken: self.links[peer].session.taken })
    }

    /// A participant with a lower number has connected.
    fn greets(&mut self, mut connection: Connection, hello: Hello) {
        let peer = usize::from(hello.from);
        if peer >= self.me || !self.links[peer].admits(hello.life) {
            return;
        }
        connection.put(&self.hello(peer));
        if self.links[peer].is_open {
            self.counts.broken += 1;
            self.links[peer].breaks(self.wrong);
        }
        self.links[peer].connection = Some(connection);
        self.opens(peer, hello);
    }

    /// Both ends have said hello.
    fn opens(&mut self, peer: usize, hello: Hello) {
        let wrong = self.wrong;
        let link = &mut self.links[peer];
        (link.life, link.is_open, link.tries) = (hello.life, true, 0);
        let taken = if wrong == Wrong::NoNumbers { 0 } else { hello.taken };
        self.counts.again += link.session.is_connected(taken) as u64;
    }

    fn works(&mut self, peer: usize) -> io::Result<()> {
        let hello = self.hello(peer);
        let now = Instant::now();
        let link = &mut self.links[peer];
        let is_due = link.next.is_none_or(|next| next <= now);
        if link.connection.is_none() || (!link.is_open && is_due) {
            if peer > self.me && is_due {
                link.next = Some(now + MOMENT * (1 << link.tries.min(4)));
                link.tries += 1;
                let to = SocketAddrV4::new(address(peer, self.me), PORT);
                let mut connection = Connection::begin(to)?;
                connection.put(&hello);
                link.connection = Some(connection);
            }
        } else if is_due && link.is_open {
            // Two ends may each believe something else of a connection: one that is gone at the other end breaks here by this.
            link.next = Some(now + MOMENT);
            let number = link.session.taken;
            link.connection
                .as_mut()
                .into_iter()
                .for_each(|connection| connection.put(&Frame::Taken { number }));
        }
        let Some(connection) = &mut self.links[peer].connection else { return Ok(()) };
        if self.inbox.len() < INBOX {
            connection.read()?;
        }
        while let Some(frame) = self.links[peer].connection.as_mut().map_or(Ok(None), Connection::frame)? {
            self.comes(peer, frame)?;
        }
        self.writes(peer)
    }

    fn comes(&mut self, peer: usize, frame: Frame) -> io::Result<()> {
        let n = self.links.len();
        let link = &mut self.links[peer];
        match frame {
            Frame::Hello(hello)
                if !link.is_open && link.admits(hello.life) && usize::from(hello.from) == peer =>
            {
                self.opens(peer, hello);
            }
            Frame::Taken { number } if link.is_open => link.session.is_confirmed(number),
            Frame::Message { number, bytes } if link.is_open => {
                let message = M::decode(&bytes, n).map_err(io::Error::other)?;
                match link.session.comes(number) {
                    Comes::InTurn => {}
                    Comes::Again if self.wrong == Wrong::NoNumbers => self.counts.twice += 1,
                    Comes::TooEarly if self.wrong == Wrong::NothingAgain => link.session.taken = number,
                    Comes::Again => return Ok(()),
                    Comes::TooEarly => return Err(ErrorKind::InvalidData.into()),
                }
                self.inbox.push_back(Notice::Message { from: peer, message });
                let taken = Frame::Taken { number: link.session.taken };
                link.connection.as_mut().into_iter().for_each(|connection| connection.put(&taken));
            }
            _ => return Err(ErrorKind::InvalidData.into()),
        }
        Ok(())
    }

    fn writes(&mut self, peer: usize) -> io::Result<()> {
        let link = &mut self.links[peer];
        let Some(connection) = &mut link.connection else { return Ok(()) };
        while link.is_open
            && let Some(sent) = link.session.next_to_write()
        {
            connection.put(&Frame::Message { number: sent.number, bytes: sent.bytes.clone() });
        }
        connection.write()
    }
}

impl<M: Wire> Transport<M> for Sockets<M> {
    const CHANNELS: Channels = Channels { in_order: true, loses: false, repeats: false, loses_tokens: false };

    fn send(&mut self, to: usize, message: M) -> Result<(), (Refusal, M)> {
        let n = self.links.len();
        let link = &mut self.links[to];
        if link.is_down() {
            return Ok(());
        }
        if link.session.unconfirmed().0 >= ROOM {
            return Err((Refusal::Full, message));
        }
        let mut bytes = vec![0; M::max_bytes(n)];
        let length = message.encode(n, &mut bytes).expect("what machines send can be written");
        bytes.truncate(length);
        let is_token = message.token().is_some();
        self.counts.tokens_sent += u64::from(is_token);
        link.session.send(bytes, is_token);
        if self.wrong == Wrong::NothingAgain && link.life > 0 && !link.is_open {
            link.session.forget_unconfirmed();
        }
        // What goes wrong with the connection is seen when it works next.
        let _ = self.writes(to);
        Ok(())
    }

    fn receive(&mut self) -> Option<Notice<M>> {
        let notice = self.inbox.pop_front()?;
        let is_token = matches!(&notice, Notice::Message { message, .. } if message.token().is_some());
        self.counts.tokens_read += u64::from(is_token);
        Some(notice)
    }
}
