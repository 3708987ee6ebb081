//! What one lock on several hosts costs, by turnlock-link (kept and leased), beside `etcdctl lock` and etcd's lock service: hosts that are lock
//! files of their own on this machine, an etcd of the bench's own, programs in processes of their own.
//!
//! `cargo bench --package turnlock-link --bench hosts`; `-- --help` says what can be chosen. `docs/hosts.md` has a run of it.

mod away;
mod commands;
mod contended;
mod deaths;
mod engine;
mod home;
mod host;
mod readers;
mod roles;
mod table;

use clap::Parser;
use roles::{contender, holder, looper, opener, reader, told};

support::roles! { contender, holder, looper, opener, reader, told }

/// Measure a lock on several hosts beside etcdctl lock: Markdown tables, in some three minutes
///
/// etcd, etcdctl and turnlock-link are run on this machine; with `turnlock` beside turnlock-link (cargo build --release), it, too. What waits for a
/// lease of 10 s to end is measured least often.
#[derive(Parser)]
#[command(name = "hosts", bin_name = "cargo bench --package turnlock-link --bench hosts --")]
pub struct Options {
    /// How often what is short is measured; numbers are medians
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// How often what waits for leases is measured
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    slow_rounds: u32,
    /// etcd's data is in this folder: in memory if not said, where nothing is waited for that a disk writes
    #[arg(long, default_value = "/dev/shm")]
    data: std::path::PathBuf,
    /// Only the tables whose titles have this in them
    only: Option<String>,
    /// What cargo says
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let options = Options::parse();
    let etcd = engine::Etcd::begin(&options.data);
    table::introduce(&etcd, &options);
    type Measure = fn(&engine::Etcd, &Options);
    let all: [(&str, Measure); 6] = [
        ("An entry where the lock is home", home::measure),
        ("Two hosts that contend", contended::measure),
        ("Three hosts that read", readers::measure),
        ("An entry by each", commands::measure),
        ("After a death", deaths::measure),
        ("An engine that is away, and a host that is cut off", away::measure),
    ];
    for (title, measure) in all {
        if options.only.as_ref().is_none_or(|only| title.contains(only.as_str())) {
            println!("\n### {title}\n");
            measure(&etcd, &options);
        }
    }
}
