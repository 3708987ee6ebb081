//! The numbers of kinds, algorithms and death policies: the one table. They stand in files, the C header has them as
//! constants, and the command as names.

/// A kind of lock, or of what else has a name in a lock file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// One holder at a time.
    Mutex = 1,
    /// Participants take turns.
    TurnRing = 2,
    /// Several readers, or one writer.
    RwLock = 3,
    /// A number of permits.
    Semaphore = 4,
    /// Ranges of numbers.
    RangeLock = 5,
    /// A lock for each key.
    KeyedLock = 6,
    /// Participants that have a lock wait until they are notified.
    Condition = 7,
    /// Participants wait until it is set.
    Event = 8,
    /// Participants wait for one another.
    Barrier = 9,
    /// One participant does something, once.
    Once = 10,
    /// Any number of participants of one group.
    GroupLock = 11,
}

/// An algorithm that a lock runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Algorithm {
    /// Lamport's bakery.
    Bakery = 1,
    /// Dijkstra's K-state ring.
    KState = 2,
    /// Raynal's ring modulo n².
    Raynal = 3,
    /// Raynal's sum ring.
    Sum = 4,
    /// Lamport's queue, by messages.
    LamportQueue = 5,
    /// A token on a mesh, by messages.
    RicartAgrawala = 6,
    /// Misra's two tokens on a ring, by messages.
    TokenRing = 7,
    /// Lamport's bakery, by messages.
    MessageBakery = 8,
}

/// What the death of a holder means for a lock, chosen when the lock is created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u32)]
pub enum DeathPolicy {
    /// The next holder is told that the data may be half-done, and has to mark them consistent before it unlocks; else the
    /// lock is closed for everyone until a reset.
    #[default]
    Inform = 0,
    /// The next holder is told, and nothing has to be repaired.
    Release = 1,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 11] = [
        Kind::Mutex,
        Kind::TurnRing,
        Kind::RwLock,
        Kind::Semaphore,
        Kind::RangeLock,
        Kind::KeyedLock,
        Kind::Condition,
        Kind::Event,
        Kind::Barrier,
        Kind::Once,
        Kind::GroupLock,
    ];

    /// Returns the kind of this number, if there is one.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u32 == number)
    }

    /// Returns the name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Mutex => "mutex",
            Kind::TurnRing => "ring",
            Kind::RwLock => "rwlock",
            Kind::Semaphore => "semaphore",
            Kind::RangeLock => "range lock",
            Kind::KeyedLock => "keyed lock",
            Kind::Condition => "condition",
            Kind::Event => "event",
            Kind::Barrier => "barrier",
            Kind::Once => "once",
            Kind::GroupLock => "group lock",
        }
    }

    /// Returns the name with its article, for sentences.
    pub const fn with_article(self) -> &'static str {
        match self {
            Kind::Mutex => "a mutex",
            Kind::TurnRing => "a ring",
            Kind::RwLock => "a rwlock",
            Kind::Semaphore => "a semaphore",
            Kind::RangeLock => "a range lock",
            Kind::KeyedLock => "a keyed lock",
            Kind::Condition => "a condition",
            Kind::Event => "an event",
            Kind::Barrier => "a barrier",
            Kind::Once => "a once",
            Kind::GroupLock => "a group lock",
        }
    }

    /// Returns whether participants hold it, alone or in parts.
    pub const fn is_lock(self) -> bool {
        !matches!(self, Kind::Condition | Kind::Event | Kind::Barrier)
    }
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Algorithm; 8] = [
        Algorithm::Bakery,
        Algorithm::KState,
        Algorithm::Raynal,
        Algorithm::Sum,
        Algorithm::LamportQueue,
        Algorithm::RicartAgrawala,
        Algorithm::TokenRing,
        Algorithm::MessageBakery,
    ];

    /// Returns the algorithm of this number, if there is one.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|algorithm| *algorithm as u32 == number)
    }

    /// Returns the name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Algorithm::Bakery => "bakery",
            Algorithm::KState => "k-state",
            Algorithm::Raynal => "raynal",
            Algorithm::Sum => "sum",
            Algorithm::LamportQueue => "lamport-queue",
            Algorithm::RicartAgrawala => "ricart-agrawala",
            Algorithm::TokenRing => "token-ring",
            Algorithm::MessageBakery => "message-bakery",
        }
    }

    /// Returns whether locks of this kind can run it: rings theirs, all others the bakery, mutexes also those by messages.
    pub const fn is_of(self, kind: Kind) -> bool {
        match self {
            Algorithm::Bakery => !matches!(kind, Kind::TurnRing),
            Algorithm::KState | Algorithm::Raynal | Algorithm::Sum => matches!(kind, Kind::TurnRing),
            _ => matches!(kind, Kind::Mutex),
        }
    }

    /// Returns whether its participants send messages, and so need mailboxes.
    pub const fn is_by_messages(self) -> bool {
        matches!(
            self,
            Algorithm::LamportQueue
                | Algorithm::RicartAgrawala
                | Algorithm::TokenRing
                | Algorithm::MessageBakery
        )
    }
}

impl DeathPolicy {
    /// Every policy.
    pub const ALL: [DeathPolicy; 2] = [DeathPolicy::Inform, DeathPolicy::Release];

    /// Returns the policy of this number; of an unknown number, the one that demands more.
    pub fn of(number: u32) -> Self {
        if number == DeathPolicy::Release as u32 { DeathPolicy::Release } else { DeathPolicy::Inform }
    }

    /// Returns the name for people.
    pub const fn name(self) -> &'static str {
        match self {
            DeathPolicy::Inform => "inform",
            DeathPolicy::Release => "release",
        }
    }
}
