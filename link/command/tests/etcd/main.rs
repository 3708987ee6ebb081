//! Linked locks over a real etcd: hosts that are lock files of their own, each with an agent in a process of its own, and programs
//! that enter through them. Where etcd is not installed, each test says so and does nothing.

mod contended;
mod dead;
mod demo;
mod engine;
mod forgotten;
mod host;
mod leased;
mod leased_permits;
mod outage;
mod reading;
mod refused;
mod requests;
mod rwlocks;
mod semaphores;
mod tls;
mod torture;

support::watched_for_seconds!(support::watchdog::USUAL);

use host::holder;
use reading::reader;
use rwlocks::writer;
use semaphores::taker;
use torture::victim;

support::roles! { holder, reader, taker, victim, writer }
