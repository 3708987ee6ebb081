//! Which participant has a token, as a lock file writes it down: so a death does not lose it without a trace.

use turnlock::message::RingHost;

/// The records of the tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// Which participant has each token, or has it on its way; `None`: it is lost, or was never made.
    pub at: [Option<usize>; 2],
    /// The largest number that a fencing token or a token has had.
    pub number: u64,
}

impl Records {
    /// A life is over: what it had is lost.
    pub fn end_life(&mut self, participant: usize) {
        for at in self.at.iter_mut().filter(|at| **at == Some(participant)) {
            *at = None;
        }
    }
}

/// What one participant sees of the others, and of the records.
pub struct Host<'h> {
    pub me: usize,
    /// Whose life is not over.
    pub is_there: &'h [bool],
    /// Which participants say that they wait.
    pub waits: &'h [bool],
    pub records: &'h mut Records,
}

impl RingHost for Host<'_> {
    fn is_there(&self, peer: usize) -> bool {
        self.is_there[peer]
    }

    fn waits(&self, peer: usize) -> bool {
        self.is_there[peer] && self.waits[peer]
    }

    fn is_lost(&self, token: usize) -> bool {
        self.records.at[token].is_none()
    }

    fn take(&mut self, token: usize) -> Option<u64> {
        let is_lost = self.records.at[token].is_none();
        is_lost.then(|| {
            self.records.at[token] = Some(self.me);
            self.records.number
        })
    }
}
