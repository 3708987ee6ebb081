//! The machines of `turnlock::message`: every interleaving of a few participants, searched; many participants, simulated.

mod bakery;
mod counts;
mod encoding;
mod in_file;
mod lamport;
mod losses;
mod mesh;
mod node;
mod ring;
mod search;
mod simulated;
mod subject;
mod walks;
#[cfg(feature = "mutants")]
mod with_mutants;
mod world;

support::watched_for_seconds!(support::watchdog::USUAL);
