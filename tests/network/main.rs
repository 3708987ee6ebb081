//! The machines of `turnlock::message` between real processes, each in a network namespace of its own, over TCP: cables are
//! pulled out and put in again, processes are stopped and killed. The transport's contract, and what a lost peer means.

mod cables;
mod connection;
mod contract;
mod crew;
mod frame;
mod journal;
mod lost;
mod orders;
mod participant;
mod rough;
mod session;
mod sockets;
mod talker;
mod wrong;

support::watched_for_seconds!(support::watchdog::USUAL);

use cables::host;
use participant::participant;
use talker::talker;

support::roles! { host, participant, talker }
