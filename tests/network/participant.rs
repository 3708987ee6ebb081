//! A participant: a process in a network namespace, with a machine over sockets, that does what its supervisor says.

use crate::{
    cables::enter_host,
    journal::Journal,
    orders::Orders,
    sockets::{Sockets, Wrong},
};
use std::{
    io,
    os::fd::AsFd,
    path::Path,
    thread,
    time::{Duration, Instant},
};
use support::{
    actor::say,
    limit,
    simulator::{Dice, Simulated},
};
use turnlock::message::{Bakery, Event, LamportQueue, Misuse, Node, RicartAgrawala, Standing, TokenRing};

/// How often a machine that waits asks again.
const RETRY: Duration = Duration::from_millis(40);
/// How long a process of the ring rests between two rounds of work: else the tokens, which no participant wants,
/// run as fast as the processors go.
const REST: Duration = Duration::from_micros(300);

/// The role. Words: the algorithm, its number, how many there are, its life, how it begins (`founding`, `absent` or
/// `restarted`), its host's pid, the journal, and how its transport is wrong.
///
/// It says `ready` and hears, each answered by a line:
/// - `want <how long inside, µs> <withdrawals out of a thousand waits> <seed>`: enters again and again, until `enough`;
/// - `request`, `release`, `withdraw`, `join`, `leave`;
/// - `down <who> <life>`: another participant's end; `rule <floor>`: makes the token anew;
/// - `ask`: says how it stands; `end`: it ends.
pub fn participant(words: &[String]) {
    let number = |at: usize| words[at].parse::<usize>().unwrap();
    let (me, n, life) = (number(1), number(2), number(3) as u32);
    match words[0].as_str() {
        "lamport-queue" => play(LamportQueue::founding(n, me), life, words),
        "ricart-agrawala" => play(RicartAgrawala::founding(n, me), life, words),
        "token-ring" => play(TokenRing::founding(n, me, 2), life, words),
        "bakery" => play(Bakery::founding(n, me), life, words),
        other => panic!("no algorithm is called {other}"),
    }
}

fn play<A: Simulated>(founding: Result<A, Misuse>, life: u32, words: &[String]) {
    let founding = founding.unwrap();
    let (me, n) = (founding.me(), founding.participants());
    let machine = match words[4].as_str() {
        "founding" => founding,
        "absent" => founding.absent(life),
        _ => founding.restarted(life).expect("a machine that is restarted in its place"),
    };
    let wrong = match words[7].as_str() {
        "NothingAgain" => Wrong::NothingAgain,
        "NoNumbers" => Wrong::NoNumbers,
        "SilenceIsDeath" => Wrong::SilenceIsDeath,
        _ => Wrong::Nothing,
    };
    enter_host(&words[5]);
    let sockets = Sockets::new(me, n, life, wrong).expect("a listener in a namespace of one's own");
    let mut participant = Participant {
        node: Node::new(machine, sockets).expect("links as the machine needs them"),
        journal: Journal::open(Path::new(&words[6])),
        wish: None,
        inside: None,
        entries: 0,
        until: Instant::now(),
        gives_up: None,
        dice: Dice::new(1),
        rests: words[0] == "token-ring",
    };
    participant.tell(Event::Retry).unwrap();
    say("ready");
    participant.live();
}

/// It enters again and again.
struct Wish {
    inside: Duration,
    withdrawals: u64,
    is_enough: bool,
}

struct Participant<A: Simulated> {
    node: Node<A, Sockets<A::Message>>,
    journal: Journal,
    wish: Option<Wish>,
    /// With what fencing token it is inside.
    inside: Option<u64>,
    entries: u64,
    /// When a section ends that no order ends, and when a wait is given up.
    until: Instant,
    gives_up: Option<Instant>,
    dice: Dice,
    rests: bool,
}

impl<A: Simulated> Participant<A> {
    fn live(mut self) {
        let (mut orders, mut retry) = (Orders::new(), Instant::now());
        loop {
            let patience = self.patience(retry);
            self.node.transport().wait(io::stdin().as_fd(), patience);
            for order in orders.come() {
                limit::end_this_process_after(limit::of_processes());
                if order == "end" {
                    return;
                }
                let answer = self.obey(&order).unwrap_or_else(|misuse| format!("refused: {misuse}"));
                say(&answer);
            }
            self.node.transport().work();
            while self.node.step().unwrap_or_else(|misuse| panic!("{misuse}")) {
                self.look();
            }
            self.act();
            if retry <= Instant::now() {
                retry = Instant::now() + RETRY;
                self.tell(Event::Retry).unwrap();
            }
            if self.rests {
                thread::sleep(REST);
            }
        }
    }

    /// How long nothing is to be done unless something comes.
    fn patience(&self, retry: Instant) -> Duration {
        let ends = self.inside.is_some().then_some(self.until);
        let next = [Some(retry), ends, self.gives_up].into_iter().flatten().min().unwrap_or(retry);
        next.saturating_duration_since(Instant::now()).min(RETRY)
    }

    fn tell(&mut self, event: Event<A::Message>) -> Result<(), Misuse> {
        self.node.tell(event)?;
        self.look();
        Ok(())
    }

    /// Writes down that it is inside, as soon as it is.
    fn look(&mut self) {
        let standing = self.node.machine().standing();
        if standing == Standing::Inside && self.inside.is_none() {
            let token = self.node.fencing_token().expect("a fencing token");
            self.journal.enters(self.node.machine().me(), token);
            (self.inside, self.gives_up) = (Some(token), None);
            self.entries += 1;
            let inside = self.wish.as_ref().map(|wish| wish.inside);
            self.until = Instant::now() + inside.unwrap_or(Duration::from_secs(1 << 20));
        }
    }

    fn release(&mut self) -> Result<(), Misuse> {
        if let Some(token) = self.inside.take() {
            self.journal.leaves(self.node.machine().me(), token);
        }
        self.tell(Event::Release)
    }

    /// What it does by itself.
    fn act(&mut self) {
        let now = Instant::now();
        match self.node.machine().standing() {
            Standing::Inside if self.until <= now => self.release().unwrap(),
            Standing::Waiting if self.gives_up.is_some_and(|at| at <= now) => {
                self.gives_up = None;
                self.tell(Event::Withdraw).unwrap();
            }
            Standing::Idle => {
                if let Some(wish) = &self.wish
                    && !wish.is_enough
                {
                    let gives_up = self.dice.permille(wish.withdrawals);
                    self.gives_up =
                        gives_up.then(|| now + Duration::from_micros(self.dice.within(0..20_000)));
                    self.tell(Event::Request).unwrap();
                }
            }
            _ => {}
        }
    }

    fn obey(&mut self, order: &str) -> Result<String, Misuse> {
        let (what, numbers) = order.split_once(' ').unwrap_or((order, ""));
        let numbers: Vec<u64> = numbers.split_whitespace().map(|number| number.parse().unwrap()).collect();
        match what {
            "want" => {
                self.wish = Some(Wish {
                    inside: Duration::from_micros(numbers[0]),
                    withdrawals: numbers[1],
                    is_enough: false,
                });
                self.dice = Dice::new(numbers[2]);
            }
            "enough" => self.wish.iter_mut().for_each(|wish| wish.is_enough = true),
            "request" => self.tell(Event::Request)?,
            "release" => self.release()?,
            "withdraw" => self.tell(Event::Withdraw)?,
            "join" => self.tell(Event::Join)?,
            "leave" => self.tell(Event::Leave)?,
            "down" => self.node.transport().is_down(numbers[0] as usize, numbers[1] as u32),
            "rule" => self.tell(Event::Recreate { floor: numbers[0] })?,
            "ask" => return Ok(self.status()),
            other => panic!("no order is called {other}"),
        }
        Ok("ok".into())
    }

    fn status(&mut self) -> String {
        let (unread, unconfirmed, moving) = self.node.transport().waiting();
        let (counts, connected) = (self.node.transport().counts, self.node.transport().connected());
        let news = self.node.transport().news();
        let (unsent, machine) = (self.node.unsent(), self.node.machine());
        let here = (0..machine.tokens()).filter(|token| machine.has_token(*token)).count();
        let standing = machine.standing() as u8;
        format!(
            "standing={standing} entries={} unread={unread} unconfirmed={unconfirmed} unsent={unsent} tokens={} here={here} \
             moving={moving} connected={connected} broken={} again={} twice={} news={news} sent={} read={}",
            self.entries,
            machine.tokens(),
            counts.broken,
            counts.again,
            counts.twice,
            counts.tokens_sent,
            counts.tokens_read,
        )
    }
}
