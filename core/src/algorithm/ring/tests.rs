mod loads;

use super::*;
use std::cell::Cell;

const DOCUMENT: &str = include_str!("../../../../docs/algorithms.md");

/// A ring in one thread: what happens between two calls is what the test says.
struct Table {
    n: usize,
    state: Vec<Cell<u64>>,
    link: Vec<Cell<u64>>,
    membership: Vec<Cell<Membership>>,
    loads: Cell<usize>,
}

impl Machines for &Table {
    fn count(&self) -> usize {
        self.n
    }
    fn bound(&self) -> usize {
        self.n
    }
    fn cover(&self, _: usize) {}
    fn state(&self, machine: usize) -> u64 {
        self.loads.set(self.loads.get() + 1);
        self.state[machine].get()
    }
    fn set_state(&self, machine: usize, state: u64) {
        self.state[machine].set(state);
    }
    fn link(&self, machine: usize) -> LinkWord {
        self.loads.set(self.loads.get() + 1);
        LinkWord(self.link[machine].get())
    }
    fn set_link(&self, machine: usize, link: LinkWord) {
        self.link[machine].set(link.0);
    }
    fn membership(&self, machine: usize) -> Membership {
        self.loads.set(self.loads.get() + 1);
        self.membership[machine].get()
    }
    fn set_membership(&self, machine: usize, membership: Membership) {
        self.membership[machine].set(membership);
    }
}

impl Table {
    fn new(n: usize) -> Self {
        Self {
            n,
            state: vec![Cell::new(0); n],
            link: vec![Cell::new(0); n],
            membership: vec![Cell::new(Membership::None); n],
            loads: Cell::new(0),
        }
    }

    fn ring(&self, rule: Rule) -> Ring<&Self> {
        Ring { rule, machines: self }
    }

    /// All of them members of the ring, the first with the privilege: as the papers begin.
    fn full(n: usize, rule: Rule) -> Self {
        let table = Self::new(n);
        table.membership.iter().for_each(|membership| membership.set(Membership::EveryTurn));
        let ring = table.ring(rule);
        ring.begin(0);
        assert_eq!(with_privilege(&ring), [0]);
        ring.renew_links(0, |_| ());
        table
    }
}

fn with_privilege(ring: &Ring<&Table>) -> Vec<usize> {
    (0..ring.machines.n).filter(|machine| ring.has_privilege(*machine)).collect()
}

fn rules(n: usize) -> Vec<Rule> {
    let sums = (1..n.max(2)).filter(|step| Rule::step_is_sound(*step, n)).map(|step| Rule::Sum { step });
    [Rule::KState, Rule::Raynal].into_iter().chain(sums).collect()
}

/// Numbers that look random (Steele, Lea and Flood's SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % sides as u64) as usize
    }
}

#[test]
fn the_privilege_goes_round_in_order_and_states_stay_in_bounds() {
    for n in 1..10 {
        for rule in rules(n) {
            let table = Table::full(n, rule);
            let ring = table.ring(rule);
            let mut now = 0;
            // More than n rounds: Raynal's states come back to where they were after n.
            for _ in 0..n * (n + 2) {
                assert_eq!(with_privilege(&ring), [now], "{rule:?}, {n} machines");
                let next = rule.right_of(now, 1, n);
                let passed = ring.pass(now, |_| ());
                assert_eq!(passed, if n == 1 { Passed::ToNobody } else { Passed::To(next) });
                now = next;
                assert!(table.state.iter().all(|state| state.get() < rule.bound(n)), "{rule:?}");
            }
        }
    }
}

/// Raynal's own table (RR-0350, section II): S_i begins with i and is jn + i in round j.
#[test]
fn raynals_states_are_those_of_his_table() {
    let n = 5;
    let table = Table::full(n, Rule::Raynal);
    let ring = table.ring(Rule::Raynal);
    for round in 0..2 * n as u64 {
        for machine in 0..n {
            assert_eq!(table.state[machine].get(), (round * n as u64 + machine as u64 + 1) % 25);
            ring.pass(machine, |_| ());
        }
    }
}

/// Whichever machines join, leave and come back in between, there is one privilege, also after each single store of a
/// pass, and it goes to the next one in order that wants it.
#[test]
fn one_privilege_whoever_comes_and_goes() {
    let mut dice = Dice(1);
    for n in 1..9 {
        for rule in rules(n) {
            let table = Table::new(n);
            let ring = table.ring(rule);
            let mut now = dice.roll(n);
            table.membership[now].set(Membership::OneTurn);
            ring.begin(now);
            for _ in 0..2000 {
                for (machine, membership) in table.membership.iter().enumerate() {
                    if machine != now && dice.roll(4) == 0 {
                        membership.set(if dice.roll(2) == 0 {
                            Membership::None
                        } else {
                            Membership::EveryTurn
                        });
                    }
                }
                assert_eq!(with_privilege(&ring), [now], "{rule:?}, {n} machines");
                assert_eq!(ring.survey(), Survey::One(now));
                let next = ring.members_right_of(now).find(|machine| *machine != now);
                match ring.pass(now, |_| assert_eq!(with_privilege(&ring), [now], "in the middle of a pass"))
                {
                    Passed::To(to) => {
                        assert_eq!(Some(to), next);
                        now = to;
                    }
                    Passed::ToNobody => assert_eq!(None, next),
                }
                assert!(table.state.iter().all(|state| state.get() < rule.bound(n)));
                let wanted = (0..n).filter(|machine| table.membership[*machine].get() != Membership::None);
                assert!(wanted.clone().all(|machine| ring.link(machine).is_some()), "{rule:?}");
            }
        }
    }
}

/// A pass that a death cut short at any store is done again by the participant that acts for the dead one,
/// which is off the ring then.
#[test]
fn a_pass_that_was_cut_short_is_done_again() {
    /// Stops at the store number `left`.
    struct Short<'a>(&'a Table, Cell<usize>);
    impl Short<'_> {
        fn store(&self, store: impl FnOnce()) {
            if self.1.get() > 0 {
                self.1.set(self.1.get() - 1);
                store();
            }
        }
    }
    impl Machines for &Short<'_> {
        fn count(&self) -> usize {
            self.0.n
        }
        fn bound(&self) -> usize {
            self.0.n
        }
        fn cover(&self, _: usize) {}
        fn state(&self, machine: usize) -> u64 {
            self.0.state[machine].get()
        }
        fn set_state(&self, machine: usize, state: u64) {
            self.store(|| self.0.state[machine].set(state));
        }
        fn link(&self, machine: usize) -> LinkWord {
            LinkWord(self.0.link[machine].get())
        }
        fn set_link(&self, machine: usize, link: LinkWord) {
            self.store(|| self.0.link[machine].set(link.0));
        }
        fn membership(&self, machine: usize) -> Membership {
            self.0.membership[machine].get()
        }
        fn set_membership(&self, _: usize, _: Membership) {
            unreachable!("a pass sets no membership");
        }
    }
    let mut dice = Dice(2);
    for n in 2..7 {
        for rule in rules(n) {
            for _ in 0..300 {
                let table = Table::new(n);
                let ring = table.ring(rule);
                let mut now = dice.roll(n);
                table.membership[now].set(Membership::OneTurn);
                ring.begin(now);
                for _ in 0..6 {
                    for (machine, membership) in table.membership.iter().enumerate() {
                        let wants = machine == now || dice.roll(2) == 0;
                        membership.set(if wants { Membership::EveryTurn } else { Membership::None });
                    }
                    let short = Short(&table, Cell::new(dice.roll(3 * n)));
                    let cut = Ring { rule, machines: &short };
                    cut.pass(now, |_| ());
                    if short.1.get() == 0 && with_privilege(&ring) == [now] {
                        table.membership[now].set(Membership::None);
                        assert_eq!(ring.absent_with_privilege(), Some(now));
                        ring.pass(now, |_| ());
                    }
                    let has = with_privilege(&ring);
                    assert_eq!(has.len(), 1, "{rule:?}, {n} machines");
                    now = has[0];
                    table.membership[now].set(Membership::EveryTurn);
                }
            }
        }
    }
}

/// Remark IV of the paper: a machine that comes back waits for at most n - 1 turns of others.
#[test]
fn who_comes_back_waits_at_most_n_minus_1_turns() {
    for n in 2..8 {
        for rule in rules(n) {
            for absent in 0..n {
                for begins in (0..n).filter(|begins| *begins != absent) {
                    let table = Table::full(n, rule);
                    let ring = table.ring(rule);
                    let mut now = 0;
                    let mut turns = |until: &dyn Fn(usize, usize) -> bool| {
                        let mut count = 0;
                        while !until(now, count) {
                            if let Passed::To(to) = ring.pass(now, |_| ()) {
                                now = to;
                            }
                            count += 1;
                        }
                        count
                    };
                    turns(&|now, count| now != absent && count > n);
                    table.membership[absent].set(Membership::None);
                    turns(&|now, count| now == begins && count > n);
                    table.membership[absent].set(Membership::OneTurn);
                    assert!(turns(&|now, _| now == absent) < n, "{rule:?}");
                }
            }
        }
    }
}

/// The K-state ring from every possible state: exactly one privilege within the proven number of moves.
///
/// Dijkstra's ring with K > n machines (here K = n + 1): whatever machine moves next among those with the privilege.
/// The worst case over all schedules is searched in full for small n.
#[test]
fn the_k_state_ring_stabilises_itself_from_every_state() {
    fn worst(n: usize) -> usize {
        let (rule, k) = (Rule::KState, n as u64 + 1);
        let link = |machine: usize| Link { left: (machine + n - 1) % n, absent: 0 };
        let total = k.pow(n as u32) as usize;
        let states = |mut code: usize| -> Vec<u64> {
            (0..n)
                .map(|_| {
                    let state = code as u64 % k;
                    code /= k as usize;
                    state
                })
                .collect()
        };
        let code =
            |states: &[u64]| states.iter().rev().fold(0, |code, state| code * k as usize + *state as usize);
        // The longest way from each state to one with a single privilege; 0 = there. A cycle would be a way without
        // end.
        const UNKNOWN: u32 = u32::MAX;
        const OPEN: u32 = u32::MAX - 1;
        let mut longest = vec![UNKNOWN; total];
        for start in 0..total {
            let mut stack = vec![start];
            while let Some(&at) = stack.last() {
                let now = states(at);
                let has: Vec<usize> = (0..n)
                    .filter(|machine| {
                        let link = link(*machine);
                        rule.has_privilege(*machine, link, now[*machine], now[link.left], n)
                    })
                    .collect();
                assert!(!has.is_empty(), "a ring without a privilege");
                let after = |machine: usize| {
                    let mut then = now.clone();
                    let link = link(machine);
                    then[machine] = rule.passed(machine, link, now[machine], now[link.left], 1, n);
                    code(&then)
                };
                if longest[at] == UNKNOWN && has.len() > 1 {
                    longest[at] = OPEN;
                    let open: Vec<usize> = has.iter().map(|machine| after(*machine)).collect();
                    for next in open {
                        assert_ne!(longest[next], OPEN, "it never stabilises");
                        if longest[next] == UNKNOWN {
                            stack.push(next);
                        }
                    }
                    continue;
                }
                if longest[at] == UNKNOWN || longest[at] == OPEN {
                    longest[at] = if has.len() == 1 {
                        0
                    } else {
                        1 + has.iter().map(|machine| longest[after(*machine)]).max().unwrap_or(0)
                    };
                }
                stack.pop();
            }
        }
        *longest.iter().max().unwrap_or(&0) as usize
    }
    let mut row = "| moves |".to_owned();
    for n in 2..=5 {
        let moves = worst(n);
        assert!(moves < 3 * n * (n - 1) / 2 - n, "{moves} moves with {n} machines");
        row += &format!(" {moves} |");
    }
    assert!(DOCUMENT.contains(&row), "docs/algorithms.md does not have {row}");
}

/// The same from random states, with a machine chosen at random for each move.
#[test]
fn large_k_state_rings_stabilise_themselves_too() {
    let mut dice = Dice(3);
    let rule = Rule::KState;
    for n in [8, 16, 64, 128] {
        let mut most = 0;
        for _ in 0..40 {
            let table = Table::full(n, rule);
            table.state.iter().for_each(|state| state.set(dice.roll(n + 1) as u64));
            let ring = table.ring(rule);
            let mut moves = 0;
            loop {
                let has = with_privilege(&ring);
                if has.len() == 1 {
                    break;
                }
                ring.pass(has[dice.roll(has.len())], |_| ());
                moves += 1;
            }
            most = most.max(moves);
        }
        println!("n = {n}, K = {}: {most} moves at most in 40 runs", n + 1);
        assert!(most < 3 * n * (n - 1) / 2 - n);
    }
}

/// Raynal's ring does not. Of all states of a ring of three, most have no privilege and never get one, and some have
/// several; the survey tells which, and a new beginning repairs it.
#[test]
fn raynals_ring_does_not_stabilise_itself_and_the_survey_says_so() {
    let (n, bound) = (3, 9u64);
    let (mut one, mut lost, mut several) = (0, 0, 0);
    for code in 0..bound * bound * bound {
        let table = Table::full(n, Rule::Raynal);
        let ring = table.ring(Rule::Raynal);
        for (machine, state) in table.state.iter().enumerate() {
            state.set(code / bound.pow(machine as u32) % bound);
        }
        match (with_privilege(&ring).len(), ring.survey()) {
            (0, Survey::Lost) => lost += 1,
            (1, Survey::One(_)) => one += 1,
            (2.., Survey::Several) => several += 1,
            different => panic!("{different:?}"),
        }
        ring.begin(1);
        assert_eq!(ring.survey(), Survey::One(1));
    }
    println!(
        "of {} states: {one} with one privilege, {several} with several, {lost} with none",
        bound.pow(3)
    );
    assert!(lost > one && several > 0);
    let written = format!("{one} have one privilege, {several} have several and {lost} have none");
    assert!(DOCUMENT.contains(&written), "docs/algorithms.md does not say that {written}");
    // A state that is another machine's: the machine that should be next waits for ever.
    let table = Table::full(n, Rule::Raynal);
    let ring = table.ring(Rule::Raynal);
    ring.pass(0, |_| ());
    table.state[0].set(2);
    assert_eq!(ring.survey(), Survey::Lost);
}

/// From any states at all, a sum ring has exactly one privilege.
#[test]
fn a_sum_ring_needs_no_stabilisation() {
    let mut dice = Dice(4);
    for n in 1..20 {
        for rule in rules(n).into_iter().filter(|rule| matches!(rule, Rule::Sum { .. })) {
            let table = Table::full(n, rule);
            table.state.iter().for_each(|state| state.set(dice.roll(n) as u64));
            assert_eq!(with_privilege(&table.ring(rule)).len(), 1);
        }
    }
}

#[test]
fn steps_that_leave_somebody_out_are_refused() {
    for (step, n, sound) in
        [(1, 8, true), (2, 8, false), (3, 8, true), (7, 8, true), (8, 8, false), (0, 5, false)]
    {
        assert_eq!(Rule::step_is_sound(step, n), sound, "{step} of {n}");
    }
}
