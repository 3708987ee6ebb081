//! What the two ends of a mailbox do.

/// How an end's life goes.
#[derive(Clone, Copy)]
pub struct Life {
    /// How often the producer tries to put a message in, or the consumer to take one out.
    pub tries: usize,
    pub ends: End,
}

/// How it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With all done.
    Well,
    /// The producer dies in its last try, once it has written so many words of it.
    WordsWritten(usize),
    /// The end dies in its last try, right before the one store that publishes or takes a message.
    BeforeTheStore,
}

#[derive(Clone)]
pub struct Plan {
    /// Both counts begin here.
    pub start: u64,
    /// The producer's lives, one after another.
    pub producer: Vec<Life>,
    /// The consumer's.
    pub consumer: Vec<Life>,
    /// Loom looks for races between writing an entry and reading it. Else only its words are looked at.
    pub sees_races: bool,
}

/// A life that ends well.
pub const fn tries(tries: usize) -> Life {
    Life { tries, ends: End::Well }
}

impl Life {
    pub const fn dies(self, ends: End) -> Self {
        Self { ends, ..self }
    }
}

impl Plan {
    pub fn new(producer: &[Life], consumer: &[Life]) -> Self {
        let (producer, consumer) = (producer.to_vec(), consumer.to_vec());
        Self { start: 0, producer, consumer, sees_races: true }
    }

    pub fn starting_at(self, start: u64) -> Self {
        Self { start, ..self }
    }
}
