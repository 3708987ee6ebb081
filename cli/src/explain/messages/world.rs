//! The participants of a lock by messages, the messages under way, and a picture after each event.

use super::{
    records::{Host, Records},
    shown::{MessageOf, Shown, Told, list},
};
use crate::explain::{
    picture::{Audience, Cell, Picture, Stop, Table},
    scripts::LABELS,
};
use std::{fmt::Display, io};
use turnlock::message::{Action, Event, Message, Standing, Wire};

/// A message under way.
struct Sent<M> {
    from: usize,
    to: usize,
    message: M,
    /// Sent since the last picture.
    is_new: bool,
}

/// Where a participant is in its life.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    There,
    /// It is dead, and no other knows.
    Dead,
    /// It is known to be dead.
    Over,
}

/// The participants, what is under way between them, and the audience.
pub struct World<'a, A: Shown> {
    machines: Vec<A>,
    lives: Vec<Life>,
    /// Whom each was told is down.
    down: Vec<Vec<bool>>,
    /// In the order of sending. Each link keeps its order.
    under_way: Vec<Sent<A::Message>>,
    records: Records,
    last_fencing_token: u64,
    /// How many messages were sent, and how many entries there were.
    counted: (u32, u32),
    chapter: String,
    by_calls: bool,
    /// The next sentences wait for more.
    is_held: bool,
    untold: Vec<String>,
    seen: Table,
    audience: &'a mut Audience<'a>,
}

impl<'a, A: Shown> World<'a, A> {
    /// Makes the participants, all of which take part.
    pub fn new(by_calls: bool, audience: &'a mut Audience<'a>) -> Result<Self, Stop> {
        let n = LABELS.len();
        let machines = (0..n).map(|me| A::begun(n, me)).collect::<Result<Vec<A>, _>>().map_err(wrong)?;
        let holder = |token| machines.iter().position(|machine| machine.has_token(token));
        let records = Records { at: [holder(0), holder(1)], number: 0 };
        let mut world = Self {
            machines,
            lives: vec![Life::There; n],
            down: vec![vec![false; n]; n],
            under_way: Vec::new(),
            records,
            last_fencing_token: 0,
            counted: (0, 0),
            chapter: String::new(),
            by_calls,
            is_held: false,
            untold: Vec::new(),
            seen: Table::default(),
            audience,
        };
        for me in 0..n {
            if world.machines[me].standing() == Standing::Absent {
                world.join(me)?;
            }
        }
        world.seen = world.table();
        Ok(world)
    }

    /// Has one join before the first picture.
    fn join(&mut self, me: usize) -> Result<(), Stop> {
        for action in self.machines[me].on(Event::Join).map_err(wrong)? {
            if let Action::Send { to, message } = action {
                self.machines[to].on(Event::Receive { from: me, message }).map_err(wrong)?;
            }
        }
        Ok(())
    }

    /// A chapter begins: a picture of what is, with these sentences.
    pub fn chapter(&mut self, title: &str, sentences: &[&str]) -> Result<(), Stop> {
        self.show_untold()?;
        self.chapter = title.into();
        self.say(sentences)
    }

    /// A picture of what is, with these sentences.
    pub fn say(&mut self, sentences: &[&str]) -> Result<(), Stop> {
        self.untold.extend(sentences.iter().map(|sentence| (*sentence).to_owned()));
        self.show_untold()
    }

    /// Returns what it all took, as a sentence.
    pub fn count(&self) -> String {
        let (messages, entries) = self.counted;
        format!("There were {entries} entries here, and {messages} messages.")
    }

    /// A participant calls lock().
    pub fn lock(&mut self, at: usize) -> Result<(), Stop> {
        self.tell(at, format!("{} calls lock().", LABELS[at]), Event::Request)
    }

    /// A participant calls unlock().
    pub fn unlock(&mut self, at: usize) -> Result<(), Stop> {
        self.tell(at, format!("{} calls unlock().", LABELS[at]), Event::Release)
    }

    /// A participant that waits asks again.
    pub fn ask_again(&mut self, at: usize) -> Result<(), Stop> {
        let cause = format!("{} asks again those that have not let it pass.", LABELS[at]);
        self.tell(at, cause, Event::Retry)
    }

    /// The oldest message from one to another comes.
    pub fn deliver(&mut self, from: usize, to: usize) -> Result<(), Stop> {
        let oldest = self.under_way.iter().position(|sent| (sent.from, sent.to) == (from, to));
        let Some(at) = oldest else {
            let what = format!("nothing is under way from {} to {}", LABELS[from], LABELS[to]);
            return Err(wrong(what));
        };
        let message = self.under_way.remove(at).message;
        let cause = format!("{} takes {} from {}.", LABELS[to], A::text(&message), LABELS[from]);
        self.tell(to, cause, Event::Receive { from, message })
    }

    /// All that is under way comes, in the order of sending, and what comes of it.
    pub fn deliver_all(&mut self) -> Result<(), Stop> {
        while let Some((from, to)) = self.next() {
            self.deliver(from, to)?;
        }
        Ok(())
    }

    /// A question comes, and its answer: one picture.
    pub fn exchange(&mut self, asker: usize, other: usize) -> Result<(), Stop> {
        self.is_held = true;
        self.deliver(asker, other)?;
        self.is_held = false;
        self.deliver(other, asker)
    }

    /// Kills a participant, and its machine with it. The others hear nothing of that.
    pub fn kill(&mut self, at: usize) -> Result<(), Stop> {
        self.lives[at] = Life::Dead;
        self.say(&[&format!(
            "{} is killed. What its machine knew is gone. The others hear nothing of that, and silence means nothing to \
             them: a participant that does not answer may be slow.",
            LABELS[at]
        )])
    }

    /// A dead one's life is found to be over. What it had sent comes first; then the others are told; then what it had is
    /// seen to be lost.
    pub fn end_life(&mut self, at: usize) -> Result<(), Stop> {
        while let Some(sent) = self.under_way.iter().find(|sent| sent.from == at && self.takes(sent.to)) {
            self.deliver(at, sent.to)?;
        }
        self.lives[at] = Life::Over;
        self.under_way.retain(|sent| sent.to != at);
        for (other, label) in LABELS.iter().enumerate().filter(|(other, _)| *other != at) {
            if self.takes(other) {
                self.down[other][at] = true;
                let cause = format!("{label} is told that {} is down, for certain.", LABELS[at]);
                self.tell(other, cause, Event::Down { peer: at })?;
            }
        }
        let lost = A::TOKENS.iter().zip(self.records.at).filter(|(_, has_it)| *has_it == Some(at));
        let lost: Vec<&str> = lost.map(|(token, _)| *token).collect();
        if lost.is_empty() {
            return Ok(());
        }
        self.records.end_life(at);
        let (token, dead) = (list(&lost), LABELS[at]);
        let said = format!(
            "{dead}'s life is over. The record that said \"{token}: {dead}\" names no participant now."
        );
        self.say(&[&said])?;
        self.attend_all()
    }

    fn takes(&self, at: usize) -> bool {
        self.lives[at] == Life::There
    }

    /// Returns the link that has the oldest message for one that takes it.
    fn next(&self) -> Option<(usize, usize)> {
        self.under_way.iter().find(|sent| self.takes(sent.to)).map(|sent| (sent.from, sent.to))
    }

    /// Tells a machine an event, and shows what comes of it.
    fn tell(&mut self, at: usize, cause: String, event: Event<MessageOf<A>>) -> Result<(), Stop> {
        let before = self.machines[at].clone();
        let actions = self.machines[at].on(event.clone()).map_err(wrong)?;
        let (now, down) = (&self.machines[at], &self.down[at]);
        let mut said = vec![cause];
        said.extend(A::told(&Told { event: &event, before: &before, now, actions: &actions, down }));
        self.carry_out(at, actions, &mut said)?;
        while self.attend(at, &mut said)? {}
        self.show(said)?;
        self.attend_all()
    }

    /// All do what they can do by what they see.
    fn attend_all(&mut self) -> Result<(), Stop> {
        for at in (0..self.machines.len()).cycle() {
            let mut said = Vec::new();
            if self.takes(at) && self.attend(at, &mut said)? {
                self.show(said)?;
            } else if !self.is_anything_to_attend()? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn is_anything_to_attend(&self) -> Result<bool, Stop> {
        for at in (0..self.machines.len()).filter(|at| self.takes(*at)) {
            let (mut machine, mut records) = (self.machines[at].clone(), self.records.clone());
            if !self.attended(at, &mut machine, &mut records)?.1.is_empty() || records != self.records {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn attended(
        &self,
        at: usize,
        machine: &mut A,
        records: &mut Records,
    ) -> Result<super::shown::Attended<A>, Stop> {
        let is_there: Vec<bool> = self.lives.iter().map(|life| *life != Life::Over).collect();
        let waits: Vec<bool> =
            self.machines.iter().map(|machine| machine.standing() == Standing::Waiting).collect();
        let mut host = Host { me: at, is_there: &is_there, waits: &waits, records };
        machine.attend(&mut host).map_err(wrong)
    }

    /// Returns whether there was anything to do for one.
    fn attend(&mut self, at: usize, said: &mut Vec<String>) -> Result<bool, Stop> {
        let (mut machine, mut records) = (self.machines[at].clone(), self.records.clone());
        let (more, actions) = self.attended(at, &mut machine, &mut records)?;
        let does = !actions.is_empty() || records != self.records;
        (self.machines[at], self.records) = (machine, records);
        said.extend(more);
        self.carry_out(at, actions, said)?;
        Ok(does)
    }

    /// Sends and enters, and says so.
    fn carry_out(
        &mut self,
        at: usize,
        actions: Vec<Action<MessageOf<A>>>,
        said: &mut Vec<String>,
    ) -> Result<(), Stop> {
        let mut sends: Vec<(String, Vec<&str>)> = Vec::new();
        for action in actions {
            match action {
                Action::Send { to, message } => {
                    let text = A::text(&message);
                    match sends.iter_mut().find(|(sent, _)| *sent == text) {
                        Some((_, receivers)) => receivers.push(LABELS[to]),
                        None => sends.push((text, vec![LABELS[to]])),
                    }
                    self.send(at, to, &message)?;
                }
                Action::Enter { fencing_token } => {
                    self.enter(at, fencing_token)?;
                    let (who, made) = (LABELS[at], A::FENCING);
                    said.push(format!("{who} is INSIDE. Its fencing token is {fencing_token}: {made}."));
                }
                Action::Joined | Action::Departed => {}
            }
        }
        let sends = sends.iter().map(|(text, to)| format!("{} sends {text} to {}.", LABELS[at], list(to)));
        said.extend(sends);
        Ok(())
    }

    /// Sends a message as the bytes that any transport carries.
    fn send(&mut self, from: usize, to: usize, message: &MessageOf<A>) -> Result<(), Stop> {
        let n = self.machines.len();
        let mut bytes = vec![0; MessageOf::<A>::max_bytes(n)];
        let length = message.encode(n, &mut bytes).map_err(wrong)?;
        let message = MessageOf::<A>::decode(&bytes[..length], n).map_err(wrong)?;
        if let Some(token) = message.token() {
            self.records.at[token] = Some(to);
        }
        self.records.number = self.records.number.max(A::token_number(&message).unwrap_or(0));
        self.counted.0 += 1;
        self.under_way.push(Sent { from, to, message, is_new: true });
        Ok(())
    }

    fn enter(&mut self, at: usize, fencing_token: u64) -> Result<(), Stop> {
        let is_inside = |other: usize| {
            other != at && self.takes(other) && self.machines[other].standing() == Standing::Inside
        };
        if let Some(other) = (0..self.machines.len()).find(|other| is_inside(*other)) {
            return Err(wrong(format!("{} and {} are inside at once", LABELS[other], LABELS[at])));
        }
        if fencing_token <= self.last_fencing_token {
            return Err(wrong(format!("the fencing token falls to {fencing_token}")));
        }
        self.last_fencing_token = fencing_token;
        self.records.number = self.records.number.max(fencing_token);
        self.counted.1 += 1;
        Ok(())
    }

    fn show(&mut self, said: Vec<String>) -> Result<(), Stop> {
        self.untold.extend(said);
        match self.is_held || self.by_calls && self.next().is_some() {
            true => Ok(()),
            false => self.show_untold(),
        }
    }

    fn show_untold(&mut self) -> Result<(), Stop> {
        let sentences = std::mem::take(&mut self.untold);
        if sentences.is_empty() {
            return Ok(());
        }
        let mut table = self.table();
        let changed = table.clone();
        mark_changed(&mut table, &self.seen);
        self.seen = changed;
        self.under_way.iter_mut().for_each(|sent| sent.is_new = false);
        (self.audience)(&Picture { chapter: self.chapter.clone(), sentences, table })
    }

    fn table(&self) -> Table {
        let columns =
            [("participant", 11)].iter().chain(A::COLUMNS).chain(&[("does", 15)]).copied().collect();
        let row = |at: usize| {
            let cells = match self.takes(at) {
                true => self.machines[at].cells(&self.down[at]),
                false => vec!["-".into(); A::COLUMNS.len()],
            };
            let does = match (self.lives[at], self.machines[at].standing()) {
                (Life::Dead | Life::Over, _) => "dead",
                (_, Standing::Waiting) => "waits in lock()",
                (_, Standing::Inside) => "INSIDE",
                _ => "outside",
            };
            let who = format!("{} ({at})", LABELS[at]);
            std::iter::once(who).chain(cells).chain([does.to_owned()]).map(Cell::plain).collect()
        };
        let mut words = vec![format!("last fencing token {}", self.last_fencing_token)];
        for (name, at) in A::TOKENS.iter().zip(self.records.at) {
            words.push(format!("{name}: {}", at.map_or("nowhere", |at| LABELS[at])));
        }
        words.push(format!("under way: {}", self.under_way.len()));
        let message = |sent: &Sent<MessageOf<A>>| Cell {
            text: format!("{} → {} {}", LABELS[sent.from], LABELS[sent.to], A::text(&sent.message)),
            changed: sent.is_new,
        };
        let messages: Vec<Cell> = self.under_way.iter().map(message).collect();
        let lines = std::iter::once(words.into_iter().map(Cell::plain).collect())
            .chain(messages.chunks(2).map(<[Cell]>::to_vec))
            .collect();
        Table { columns, rows: (0..self.machines.len()).map(row).collect(), lines }
    }
}

/// Marks what is not as it was, but for what a participant does. Messages are marked by themselves.
fn mark_changed(table: &mut Table, before: &Table) {
    let variables = 1..table.columns.len() - 1;
    let rows = table.rows.iter_mut().map(|row| &mut row[variables.clone()]);
    let rows_before = before.rows.iter().map(|row| &row[variables.clone()]);
    let words = table.lines.iter_mut().take(1).map(Vec::as_mut_slice);
    let words_before = before.lines.iter().take(1).map(Vec::as_slice);
    for (now, before) in rows.chain(words).zip(rows_before.chain(words_before)) {
        for (now, before) in now.iter_mut().zip(before) {
            now.changed = now.text != before.text;
        }
    }
}

fn wrong(what: impl Display) -> Stop {
    Stop::Failed(io::Error::other(what.to_string()))
}
