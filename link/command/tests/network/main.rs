//! Linked locks over a network that fails: three members of etcd and three hosts, each in network namespaces of its own, at one switch. What
//! programs do is written down and checked. As root, with etcd; else each test says that it is left out, and why.

mod apart;
mod behind;
mod cables;
mod check;
mod clock;
mod faults;
mod history;
mod host;
mod lost;
mod member;
mod program;
mod register;
mod runs;
mod seeded;
mod world;

support::watched_for_seconds!(support::watchdog::USUAL);

use cables::keeper;
use program::program;

support::roles! { keeper, program }
