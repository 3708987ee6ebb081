//! What is done at the file's words and mailboxes, as `src/transport` does it, store by store.

use super::{
    plan::Fault,
    world::{Actor, At, Doing, World, Wrong},
};
use turnlock::message::{DemandRing, Event, RingHost, TokenRingMessage as Say};

/// What one sees of the file, and takes there.
struct Host<'a> {
    world: &'a mut World,
    me: At,
    known: Vec<u8>,
    /// It dies with the next token that it takes.
    dies_taking: bool,
    is_dead: bool,
}

impl RingHost for Host<'_> {
    fn is_there(&self, peer: usize) -> bool {
        self.known[peer] != 0 && self.world.has_life((peer as u8, self.known[peer]))
    }

    fn waits(&self, peer: usize) -> bool {
        self.is_there(peer) && self.world.peer_records[peer].waits
    }

    fn is_lost(&self, token: usize) -> bool {
        self.world.records[token].is_none()
    }

    fn take(&mut self, token: usize) -> Option<u64> {
        if self.is_dead || self.world.records[token].is_some() {
            return None;
        }
        if self.world.fault != Some(Fault::TakenUnwritten) {
            self.world.records[token] = Some(self.me);
        }
        self.is_dead = self.dies_taking;
        (!self.is_dead).then_some(self.world.number)
    }
}

impl World {
    /// Returns whether that life goes on, by the file.
    pub fn has_life(&self, (who, life): At) -> bool {
        let peer_record = &self.peer_records[usize::from(who)];
        peer_record.is_present && peer_record.life == life
    }

    pub fn is_at(&mut self, token: usize, from: At, to: Option<At>) -> bool {
        let was = self.records[token] == Some(from);
        if was {
            self.records[token] = to;
        }
        was
    }

    pub fn call(&mut self, who: usize) {
        // A participant without an actor does not hear it, or is told later: each begins with a look.
        self.peer_records[who].is_called = self.peer_records[who].actor.is_some();
    }

    pub fn call_all(&mut self) {
        (0..self.n())
            .filter(|who| self.peer_records[*who].is_present)
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|who| self.call(who));
    }

    /// `Mailboxes::begin_life`, up to its fence.
    pub fn begin(&mut self, me: usize) {
        let n = self.n();
        let peer_record = &mut self.peer_records[me];
        peer_record.lives -= 1;
        (peer_record.life, peer_record.is_present, peer_record.ended) = (peer_record.life + 1, true, 0);
        let machine = DemandRing::absent(n, me, peer_record.life.into()).expect("a participant of this ring");
        peer_record.actor = Some(Actor { machine, known: vec![0; n], doing: Doing::Greets });
    }

    /// And from there on.
    pub fn greet(&mut self, me: usize) -> Wrong {
        let known = (0..self.n()).map(|peer| {
            let peer_record = &self.peer_records[peer];
            if peer_record.is_present && peer != me { peer_record.life } else { 0 }
        });
        let known = known.collect();
        let actor = self.peer_records[me].actor.as_mut()?;
        (actor.known, actor.doing) = (known, Doing::Nothing);
        self.tell(me, Event::Join)
    }

    pub fn call_for_token(&mut self, me: usize) {
        self.call(me);
        if self.fault == Some(Fault::NobodyCalled) {
            return;
        }
        if let Some((who, _)) = self.records[0].or(self.records[1]) {
            self.call(who.into());
        }
    }

    /// What came next, else what there is to do: `Seat::pump`.
    pub fn look(&mut self, me: usize, dies_taking: bool) -> Wrong {
        self.peer_records[me].is_called = false;
        let n = self.n();
        for from in (0..n).filter(|from| *from != me) {
            let actor = self.peer_records[me].actor.as_ref()?;
            let (known, life) = (actor.known[from], self.peer_records[me].life);
            let is_over = !self.has_life((from as u8, known));
            let mail = &mut self.mail[from * n + me];
            mail.retain(|(from_life, to_life, _)| *to_life == life && *from_life >= known);
            let is_later = mail.first().is_some_and(|(from_life, ..)| known != 0 && *from_life > known);
            let known = &mut self.peer_records[me].actor.as_mut()?.known[from];
            if is_later || mail.is_empty() && *known != 0 && is_over {
                *known = 0;
                return self.tell(me, Event::Down { peer: from });
            }
            if !mail.is_empty() {
                let (from_life, _, message) = mail.remove(0);
                *known = from_life;
                return self.tell(me, Event::Receive { from, message });
            }
        }
        self.attend(me, dies_taking)
    }

    /// `Hosted::attend`.
    pub fn attend(&mut self, me: usize, dies_taking: bool) -> Wrong {
        let mut actor = self.peer_records[me].actor.clone()?;
        let at = (me as u8, self.peer_records[me].life);
        let mut host = Host { known: actor.known.clone(), me: at, dies_taking, is_dead: false, world: self };
        let before = actor.machine.clone();
        let actions = actor.machine.attend(&mut host);
        if host.is_dead {
            self.dies(me);
            return None;
        }
        let does = !actions.is_empty() || actor.machine != before;
        self.peer_records[me].is_called |= does;
        self.peer_records[me].actor = Some(actor);
        self.carry_out(me, actions)
    }

    /// `Mailboxes::put_token`, store by store.
    pub fn send(&mut self, me: usize) -> Wrong {
        let (us, n) = ((me as u8, self.peer_records[me].life), self.n());
        let Doing::Sends { token, to, stores } = &mut self.peer_records[me].actor.as_mut()?.doing else {
            return None;
        };
        let (token, to, store) = (*token, *to, *stores);
        *stores += 1;
        let (name, other) = (usize::from(token.name), usize::from(to.0));
        match store {
            0 => self.peer_records[me].sends = Some((to, token.name, false)),
            1 if !self.is_at(name, us, Some(to)) => {
                return Some(format!("participant {me} sends {token:?}, which by the record it has not"));
            }
            1 => {}
            2 => {
                self.mail[me * n + other].push((us.1, to.1, Say::Token(token)));
                self.peer_records[me].sends = Some((to, token.name, true));
            }
            3 => {
                let looks = self.fault != Some(Fault::SendsUnseen);
                if looks && !self.has_life(to) && self.is_at(name, to, None) {
                    self.call_all();
                }
            }
            _ => {
                self.peer_records[me].sends = None;
                self.does(me, Doing::Nothing);
                self.call(other);
                self.call(me);
            }
        }
        None
    }

    /// `end_life`, store by store.
    pub fn end(&mut self, me: usize) {
        let at = (me as u8, self.peer_records[me].life);
        let (was_present, sends) = (self.peer_records[me].is_present, self.peer_records[me].sends);
        let store = self.peer_records[me].ended;
        self.peer_records[me].ended += 1;
        let store = match (self.fault, store) {
            (Some(Fault::LifeEndsFirst), store @ 0..=2) => (store + 2) % 3,
            (_, store) => store,
        };
        match store {
            0 => {
                if let Some((to, token, is_put)) = sends
                    && self.fault != Some(Fault::SendsForgotten)
                    && !(is_put && self.has_life(to))
                {
                    let back = if self.fault == Some(Fault::LostAtOnce) { None } else { Some(at) };
                    self.is_at(token.into(), to, back);
                }
            }
            1 => self.peer_records[me].sends = None,
            2 => {
                self.peer_records[me].is_news |= was_present;
                (self.peer_records[me].is_present, self.peer_records[me].waits) = (false, false);
            }
            4 if self.fault == Some(Fault::SecondForgotten) => {}
            3 | 4 => {
                let had = self.is_at(usize::from(store - 3), at, None);
                self.peer_records[me].is_news |= had;
            }
            5 => {
                if self.peer_records[me].is_news {
                    self.call_all();
                }
            }
            _ => self.peer_records[me].is_news = false,
        }
    }
}
