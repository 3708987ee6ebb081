//! Locks by messages: the machines that a lock file runs, with each message delivered by itself.
//!
//! What a participant of such a lock knows stands in no file but in its process's own memory. So no process is stepped here:
//! the machines of `turnlock-message` are in this process, and a script says which message comes next. What is told is read
//! from the machines before and after each event.
//!
//! | module | what it has |
//! |---|---|
//! | `world` | the participants, the messages under way, deaths, and a picture after each event |
//! | `records` | which participant has a token, as a lock file writes it down |
//! | `shown` | what a machine has to say of itself to be shown |
//! | `lamport`, `mesh`, `ring`, `bakery` | that of each machine, and its script |

mod bakery;
mod lamport;
mod mesh;
mod records;
mod ring;
mod shown;
mod world;

use super::picture::{Audience, Stop};
use shown::Shown;
use world::World;

/// A lock by messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Algorithm {
    /// Lamport's queue: by time stamps
    LamportQueue,
    /// a token on a mesh (Ricart and Agrawala; Suzuki and Kasami)
    RicartAgrawala,
    /// Misra's two tokens on a ring
    TokenRing,
    /// Lamport's bakery
    MessageBakery,
}

/// Shows one algorithm, or all of them, one after the other.
pub fn show(algorithm: Option<Algorithm>, by_calls: bool, audience: &mut Audience) -> Result<(), Stop> {
    let chosen =
        algorithm.as_ref().map_or(<Algorithm as clap::ValueEnum>::value_variants(), std::slice::from_ref);
    for (at, algorithm) in chosen.iter().enumerate() {
        let is_first = at == 0;
        match algorithm {
            Algorithm::LamportQueue => told(is_first, by_calls, audience, lamport::script),
            Algorithm::RicartAgrawala => told(is_first, by_calls, audience, mesh::script),
            Algorithm::TokenRing => told(is_first, by_calls, audience, ring::script),
            Algorithm::MessageBakery => told(is_first, by_calls, audience, bakery::script),
        }?;
    }
    Ok(())
}

/// Tells a script with participants of its own.
fn told<A: Shown>(
    is_first: bool,
    by_calls: bool,
    audience: &mut Audience,
    script: impl FnOnce(&mut World<A>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut show = |picture: &_| audience(picture);
    let mut world = World::<A>::new(by_calls, &mut show)?;
    if is_first {
        world.chapter(
            "Locks by messages",
            &[
                "Three participants share no memory and send messages. The columns are what each one's machine has now. Below \
                 them is what is under way, the oldest message first.",
                "These are the machines that run in a lock file made with mailboxes (turnlock run --algorithm). Here all three \
                 are in this process, and each message comes when the script says so: what a participant knows is in its own \
                 memory, where no other process can look.",
            ],
        )?;
    }
    script(&mut world)
}
