//! Tokens, what a process remembers of them, and how a lost one is found out.

/// A token of a ring: `ping` or `pong`, if there are two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RingToken {
    /// Which token: 0 is the privilege.
    pub name: u8,
    /// |`nbping`|, |`nbpong`|: how often it met its ward, modulo participants + 1.
    pub counter: u16,
    /// How many more processes it comes to before it judges whether its ward is lost.
    pub fresh: u16,
    /// Larger after each hop and, of token 0, after each entry.
    pub number: u64,
    /// The largest number of its ward that any process has seen, as far as it went round.
    pub ward_number: u64,
}

impl RingToken {
    /// Returns a token as the ring begins: nbping = 1 and nbpong = -1.
    pub(super) fn first(name: usize) -> Self {
        Self { name: name as u8, counter: 1, fresh: 0, number: 1, ward_number: 1 }
    }

    pub(super) fn visit_numbers(&mut self, tokens: usize, visit: &mut impl FnMut(usize, &mut u64)) {
        let name = usize::from(self.name);
        visit(name, &mut self.number);
        if tokens > 1 {
            visit((name + 1) % tokens, &mut self.ward_number);
        }
    }
}

/// More than a token can have counted since the last that was heard of it: an entry and a hop at each process that has
/// died or departed since and took along what it remembered, half a million of them.
const UNHEARD: u64 = 1 << 20;

/// What one process remembers of each token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Memory {
    participants: usize,
    /// `m`, for each token: the counter that it had when it came here last, if its ward has not come here since.
    counters: Box<[Option<u16>]>,
    /// The largest number with which each token came here or went.
    seen: Box<[u64]>,
}

impl Memory {
    pub fn new(participants: usize, tokens: usize) -> Self {
        Self { participants, counters: vec![None; tokens].into(), seen: vec![0; tokens].into() }
    }

    pub fn participants(&self) -> usize {
        self.participants
    }

    /// Returns whether a token is not a repetition of one that was here.
    pub fn is_new(&self, token: &RingToken) -> bool {
        token.number > self.seen[usize::from(token.name)]
    }

    /// Notes a token's number.
    pub fn sees(&mut self, token: &RingToken) {
        self.seen[usize::from(token.name)] = token.number;
    }

    /// Returns the token that a token watches over.
    fn ward(&self, name: usize) -> usize {
        (name + 1) % self.seen.len()
    }

    fn one_more(&self, counter: u16) -> u16 {
        (counter + 1) % (self.participants as u16 + 1)
    }

    /// A token comes. Returns its ward, made anew, if that is lost.
    pub fn judge(&mut self, token: &mut RingToken) -> Option<RingToken> {
        let (name, tokens) = (usize::from(token.name), self.seen.len());
        self.sees(token);
        if tokens == 1 {
            return None;
        }
        let ward = self.ward(name);
        token.ward_number = token.ward_number.max(self.seen[ward]);
        let is_lost = token.fresh == 0 && self.counters[name] == Some(token.counter);
        token.fresh = token.fresh.saturating_sub(1);
        // The token that watches over this one has met it, as far as this process can say.
        self.counters[(name + tokens - 1) % tokens] = None;
        if !is_lost {
            self.counters[name] = Some(token.counter);
            return None;
        }
        token.counter = self.one_more(token.counter);
        // Of two tokens, the one that is left has overwritten all that was remembered of the other.
        let is_misras = tokens == 2;
        let number = token.ward_number + UNHEARD;
        // Else the next one that is lost, with the process that this one is made for, is made with the same number.
        token.ward_number = number;
        Some(RingToken {
            name: ward as u8,
            counter: if is_misras { token.counter } else { 0 },
            fresh: if is_misras { 0 } else { self.participants as u16 },
            number,
            ward_number: self.seen[self.ward(ward)],
        })
    }

    /// Two tokens are here at once.
    pub fn meet(&self, one: &mut RingToken, other: &mut RingToken) {
        if self.seen.len() == 1 {
            return;
        }
        if self.ward(usize::from(one.name)) == usize::from(other.name) {
            one.counter = self.one_more(one.counter);
            one.ward_number = one.ward_number.max(other.number);
        }
        if self.ward(usize::from(other.name)) == usize::from(one.name) {
            other.counter = self.one_more(other.counter);
            other.ward_number = other.ward_number.max(one.number);
        }
    }

    /// Returns a token that is made because all are lost.
    pub fn made(&mut self, name: usize, floor: u64) -> RingToken {
        let number = floor.max(self.seen[name]) + 1;
        self.seen[name] = number;
        RingToken {
            name: name as u8,
            counter: 0,
            fresh: self.participants as u16,
            number,
            ward_number: number,
        }
    }

    pub fn visit_numbers(&mut self, visit: &mut impl FnMut(usize, &mut u64)) {
        self.seen.iter_mut().enumerate().for_each(|(name, number)| visit(name, number));
    }
}

#[cfg(test)]
mod tests {
    use super::{Memory, RingToken};
    use std::collections::{BTreeSet, VecDeque};

    /// Misra's tokens on a ring where either may rest at any process for as long as it likes, and none is lost.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    struct Ring {
        /// What each process remembers.
        counters: Vec<Vec<Option<u16>>>,
        /// Which tokens rest at each process, and which are on their way from it, in order.
        resting: Vec<Vec<usize>>,
        moving: Vec<Vec<usize>>,
        /// Each token's counter.
        tokens: [u16; 2],
    }

    /// Searches every order of moves; returns how many states that was, or none if a token that is not lost is made anew.
    fn states(n: usize, modulus: usize) -> Option<usize> {
        let first = Ring {
            counters: vec![vec![None; 2]; n],
            resting: (0..n).map(|at| if at == 0 { vec![0, 1] } else { vec![] }).collect(),
            moving: vec![vec![]; n],
            tokens: [1 % modulus as u16; 2],
        };
        let (mut known, mut ahead) = (BTreeSet::from([first.clone()]), VecDeque::from([first]));
        while let Some(ring) = ahead.pop_front() {
            for at in 0..n {
                for token in ring.resting[at].clone() {
                    let mut next = ring.clone();
                    next.resting[at].retain(|other| *other != token);
                    next.moving[at].push(token);
                    if known.insert(next.clone()) {
                        ahead.push_back(next);
                    }
                }
                if ring.moving[at].is_empty() {
                    continue;
                }
                let mut next = ring.clone();
                let (name, to) = (next.moving[at].remove(0), (at + 1) % n);
                let token = |name: usize, ring: &Ring| RingToken {
                    counter: ring.tokens[name],
                    ..RingToken::first(name)
                };
                // A memory made for one participant less than the modulus counts so.
                let mut memory = Memory::new(modulus - 1, 2);
                memory.counters = next.counters[to].clone().into();
                let mut comes = token(name, &next);
                if memory.judge(&mut comes).is_some() {
                    return None;
                }
                for other in next.resting[to].clone() {
                    let mut rests = token(other, &next);
                    memory.meet(&mut comes, &mut rests);
                    next.tokens[other] = rests.counter;
                }
                next.tokens[name] = comes.counter;
                next.counters[to] = memory.counters.to_vec();
                next.resting[to].push(name);
                next.resting[to].sort_unstable();
                if known.insert(next.clone()) {
                    ahead.push_back(next);
                }
            }
        }
        Some(known.len())
    }

    #[test]
    fn counters_modulo_n_and_one_make_no_token_anew_falsely_and_modulo_n_do() {
        for n in 2..=4 {
            let searched = states(n, n + 1);
            println!("a ring of {n}, counters modulo {}: {searched:?} states", n + 1);
            assert!(searched.is_some(), "a ring of {n}: a token is made anew with none lost");
            assert_eq!(states(n, n), None, "a ring of {n}: counters modulo {n} are enough");
        }
    }
}
