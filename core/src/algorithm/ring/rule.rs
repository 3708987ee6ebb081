//! The three rings, as their papers have them: which machine has the privilege, what a machine's state becomes when it
//! passes it on, and what it begins with when it comes back.
//!
//! Machines are numbered 0..n, as slots are. `left` is the left neighbour on the *virtual ring* (Raynal's VG) and
//! `absent` (Raynal's k) the number of machines between the two that do not take part; S is a machine's state.
//!
//! | | K-state ring (Dijkstra 1974) | Raynal's ring (1984, sections II and III) | sum ring (Raynal 1984, section IV) |
//! |---|---|---|---|
//! | S | 0..=n, that is K = n + 1 | 0..n² | 0..n |
//! | privilege | bottom: S = S_left; others: S != S_left | S_left + k = S + n - 1 (mod n²) | sum of all S = i (mod n) |
//! | passes on | bottom: S = S_left + 1 (mod K); others: S = S_left | S = S_left + k + 1 (mod n²) | S = S + step x (k' + 1) (mod n) |
//! | comes back | S = S_left; as the bottom: S of the one to its right | S = S_left + k + 1 (mod n²) | S as it was |
//!
//! The bottom is the machine whose left neighbour has its own number or a larger one (Cornafion 1981, as Raynal's
//! section I reports it), so that the ring has one whichever machines are absent. In the sum ring k' belongs to the
//! machine that comes next: the machine that passes the privilege on does it for the absent machines too. A step that
//! is coprime to n turns the ring in another order; n - 1 is the reverse.

/// One of the rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Dijkstra's K-state ring (CACM 17(11), 1974), K = n + 1.
    KState,
    /// Raynal's ring modulo n² (INRIA RR-0350, 1984).
    Raynal,
    /// Raynal's sum ring (the same, section IV).
    Sum {
        /// From one machine to the next in order of service; coprime to n.
        step: usize,
    },
}

/// A machine's place on the virtual ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its left neighbour (Raynal's VG); itself, if it is alone.
    pub left: usize,
    /// How many absent machines lie between the two (Raynal's k).
    pub absent: usize,
}

impl Rule {
    /// One more than the largest state in a ring of `n` machines.
    pub fn bound(self, n: usize) -> u64 {
        let n = n as u64;
        match self {
            Rule::KState => n + 1,
            Rule::Raynal => n * n,
            Rule::Sum { .. } => n,
        }
    }

    /// From one machine to the next in order of service.
    pub fn step(self) -> usize {
        match self {
            Rule::KState | Rule::Raynal => 1,
            Rule::Sum { step } => step,
        }
    }

    /// The machine that is `distance` places to the right of `machine`, of `n`.
    pub fn right_of(self, machine: usize, distance: usize, n: usize) -> usize {
        (machine + distance * self.step()) % n
    }

    /// Returns whether a machine with this link plays the bottom's part.
    pub fn is_bottom(machine: usize, link: Link) -> bool {
        link.left >= machine
    }

    /// Returns whether `machine`, whose state is `mine` and whose left neighbour's is `lefts`, has the privilege. Not for the sum ring,
    /// which reads all states: [`Rule::sum_is_at`].
    pub fn has_privilege(self, machine: usize, link: Link, mine: u64, lefts: u64, n: usize) -> bool {
        let (bound, n) = (self.bound(n), n as u64);
        match self {
            Rule::KState => (mine == lefts) == Self::is_bottom(machine, link),
            Rule::Raynal => (lefts + link.absent as u64) % bound == (mine + n - 1) % bound,
            Rule::Sum { .. } => false,
        }
    }

    /// Which machine has the privilege of a sum ring whose states add up to `sum`.
    pub fn sum_is_at(sum: u64, n: usize) -> usize {
        (sum % n as u64) as usize
    }

    /// The state with which `machine` passes the privilege on, to the one `distance` places to its right.
    pub fn passed(self, machine: usize, link: Link, mine: u64, lefts: u64, distance: usize, n: usize) -> u64 {
        let bound = self.bound(n);
        match self {
            Rule::KState if Self::is_bottom(machine, link) => (lefts + 1) % bound,
            Rule::KState => lefts,
            Rule::Raynal => (lefts + link.absent as u64 + 1) % bound,
            Rule::Sum { step } => (mine + (step * distance) as u64) % bound,
        }
    }

    /// The state with which `machine` comes (back) to the right of its left neighbour: without the privilege, and
    /// without giving it to the one to its right or taking it from there. `rights` is the state of the next one to its
    /// right that is on the ring already, up to the one that has the privilege (excluded): `None`, if there is none
    /// between.
    pub fn joining(
        self,
        machine: usize,
        link: Link,
        mine: u64,
        lefts: u64,
        rights: Option<u64>,
        n: usize,
    ) -> u64 {
        let bound = self.bound(n);
        match self {
            Rule::KState if Self::is_bottom(machine, link) => rights.unwrap_or((lefts + 1) % bound),
            Rule::KState => lefts,
            Rule::Raynal => (lefts + link.absent as u64 + 1) % bound,
            Rule::Sum { .. } => mine % bound,
        }
    }

    /// Returns whether the sum ring's step is one that leaves no machine out.
    pub fn step_is_sound(step: usize, n: usize) -> bool {
        let (mut a, mut b) = (step % n.max(1), n);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a == 1 || n == 1
    }
}
