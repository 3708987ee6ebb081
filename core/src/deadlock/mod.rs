//! Deadlocks: circles of threads each of which waits, without a limit, for what the next one has.
//!
//! This module alone decides what is an edge and what is a circle: for the wait that closes one, and for observers. It reads the words
//! of a [`WaitGraph`]: turnlock has one over its mapped file, the model checkers have one over registers that they watch, and search the
//! code that ships.
//!
//! A *node* is a thread that sleeps in a wait without a limit, by a slot of its own. Its slot says so: [`WaitWord`]. An *edge* leads from
//! it to another node, for one of two reasons ([`Edge`]):
//!
//! - The other thread holds the lock in a way that conflicts with what is waited for. As long as it does, the wait cannot end, whatever
//!   the queue looks like: mutual exclusion says so. It waits for every one of them, so each is an edge (AND).
//! - The other thread waits for the same lock, queued for good before it with a claim that conflicts; or it is the designated waker, and the
//!   waiter is in the passive set. It must be kept out itself by a holder that is the next of the circle: then no participant passes over
//!   it.
//!
//! Not an edge: a wait for permits, which any holder can end; a wait with a limit, which ends by itself; what is held by a participant that
//! several threads share, since another thread may release it; a participant that is dead, since it will be reaped.
//!
//! # Why a circle that two readings found was there
//!
//! A thread that waits does nothing else, so what it holds stays held, and what it waits for stays the same, from the store of its wait
//! word until the store that ends it; each such store has a number of its own. The second reading begins after the last load of the first
//! one. In it each hold is read before the wait word of the thread that holds. If that word has the number that the first reading saw,
//! the hold was read in the midst of that one wait: it was there before the second reading began, and until that load. So at the
//! moment between the two readings every wait of the circle was under way, and every hold of it was held. From then on none of these
//! threads can go on, unless it is ended from outside: by a cancel, a signal handler that releases, a kill. A full fence between the
//! readings and one after each wait make this hold where a load may return an old value, too.
//!
//! A signal handler may take a lock while its thread waits, and give it back. Therefore fencing tokens are compared too, and a wait is
//! told only of a circle that it finds again at the end of its next nap.

mod cycle;
mod edge;
mod graph;
mod search;
mod wait_word;

pub use cycle::Cycle;
pub use edge::{Blocks, Edge};
pub use graph::{WaitGraph, WaitedLock};
pub use search::{all, find};
pub use wait_word::WaitWord;
