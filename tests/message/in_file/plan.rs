//! What may happen in a search of a ring in a file, how often, and what may be done wrongly.

/// What may happen, and how often.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub participants: usize,
    /// So many take part from the start, and know each other.
    pub there: usize,
    /// How many times each wants the section, and gives up waiting for it.
    pub requests: u8,
    pub withdrawals: u8,
    /// How many times each detaches, how many times all together die, and how often each may be attached.
    pub departures: u8,
    pub deaths: u8,
    pub lives: u8,
    /// How many die in the midst of ending another one's life.
    pub deaths_of_reapers: u8,
    /// By how many entries of others one that waits may be overtaken.
    pub overtaken: Option<u8>,
    /// What is done wrongly in the file.
    pub fault: Option<Fault>,
}

/// Nothing but requests of two who are there.
pub const QUIET: Plan = Plan {
    participants: 2,
    there: 2,
    requests: 1,
    withdrawals: 0,
    departures: 0,
    deaths: 0,
    lives: 0,
    deaths_of_reapers: 0,
    overtaken: None,
    fault: None,
};

/// What the search has to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A life is over before what was being sent in it is seen to.
    LifeEndsFirst,
    /// Who has sent a token does not look whether it came to one whose life is over.
    SendsUnseen,
    /// The token that a dead participant was sending, and had not sent, has no holder before that life is over.
    LostAtOnce,
    /// What a dead one was sending is not seen to.
    SendsForgotten,
    /// Who takes a lost token does not write that down.
    TakenUnwritten,
    /// A waiter does not have the token's holder woken.
    NobodyCalled,
    /// A death does not take the second token from its record.
    SecondForgotten,
}

/// A step of one participant, or of ending its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its life begins.
    Begin(u8),
    /// It looks who else is there, and tells them.
    Greet(u8),
    Request(u8),
    /// It has the holder of a token look, as it waits now.
    CallForToken(u8),
    Withdraw(u8),
    Release(u8),
    /// It does what there is to do, before it takes what came.
    Attend(u8),
    /// It takes what came next, or does what there is to do.
    Look(u8),
    /// The next store of sending a token.
    Send(u8),
    Die(u8),
    /// It dies when it has taken so many lost tokens, and made none of them.
    DieTaking(u8),
    Detach(u8),
    /// The next store of ending its life.
    End(u8),
    /// The reaper that was ending its life dies over it, and another one begins again.
    EndAgain(u8),
}
