//! `turnlock-link run`: the agents of one host's linked locks.

use crate::{
    agents::Agents,
    cluster::Cluster,
    exit,
    failure::Failure,
    keys,
    local::{self, Named},
    print,
    registration::Registration,
    semaphores::{self, Semaphores},
    sentences,
};
use std::path::PathBuf;
use tokio::runtime;
use turnlock_link_agent::{Config, Host, Mode};

/// Run this host's agents: bring linked locks home when programs want them, and let other hosts have them
///
/// Runs until it is ended. Its locks stay home or away then, as they are: programs go on with one that is home, wait for one that is
/// away, and the next agent goes on from there; no other host gets a lock that is home meanwhile. With --leave others do. One agent for a lock file at a time; each host has a name of its own.
///
/// While etcd does not answer, a lock that is home stays home, and one that is away stays away; it says so on standard error, once. With
/// --lease a lock that is home goes away before its lease ends.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  it was asked to end (SIGTERM, SIGINT)
  1  the file has an agent already, the host's name is another file's, or the host was forgotten
  64  the command line is wrong
  66  the lock file cannot be opened, or has no linked lock
  69  etcd cannot be reached, or refuses
  71  something else went wrong

EXAMPLES
  turnlock-link run /run/app/app.lock accounts --host db1 --endpoints 10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379
  turnlock-link run /run/app/app.lock --host db1 --endpoints https://etcd:2379 --cacert ca.pem --user app
  turnlock-link run /run/app/app.lock --host db1 --hold-most 200                  where hosts contend all the time
  turnlock-link run /run/app/app.lock --host db1 --semaphore jobs=10 --lease 10   10 permits, which a host that is gone does not keep")]
pub struct Run {
    /// The lock file
    file: PathBuf,
    /// The linked locks, mutexes and rwlocks; all of the file if none is named. One that is not there is created as a mutex
    locks: Vec<String>,
    /// A linked rwlock, which is created if it is not there; may be said several times. Its readers may be of several hosts at once
    #[arg(long, value_name = "NAME")]
    rwlock: Vec<String>,
    /// A linked semaphore of N permits, which is created if it is not there; may be said several times. Its permits are shared out among the
    /// hosts, which all say the same number
    #[arg(long, value_name = "NAME=N", value_parser = semaphore)]
    semaphore: Vec<(String, u32)>,
    /// This host's name: no other has the same one
    #[arg(long, value_name = "NAME", value_parser = keys::host)]
    host: Host,
    /// For so many milliseconds programs of this host may go on after another host was seen to want the lock
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(..=3_600_000))]
    hold: u64,
    /// Let that grow up to so many milliseconds while two hosts contend, so that less time goes into moving the lock: it doubles each time that
    /// programs of this host want the lock back within it, and begins anew when they do not. Hosts wait longer for it then; not below --hold
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(..=3_600_000))]
    hold_most: Option<u64>,
    /// Have the locks, and the permits of semaphores, leased, for so many seconds, rather than kept: a host that cannot reach etcd for that
    /// long loses them, and others go on. Programs of this host are admitted until the last fifth of the lease, and those inside are told then
    /// (see `turnlock run` and `still_owner` in the library). All hosts of a lock are to say the same
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    lease: Option<u64>,
    /// When it is asked to end (SIGTERM, SIGINT), first move all locks away and give up what this host has of them, so that other
    /// hosts go on while it is down. Its programs wait until an agent is back. A second signal ends it at once
    #[arg(long)]
    leave: bool,
    #[command(flatten)]
    cluster: Cluster,
}

impl Run {
    /// Returns what its agents are set up with.
    ///
    /// # Errors
    /// Options that do not go together.
    fn config(&self) -> Result<Config, Failure> {
        let hold_most = self.hold_most.unwrap_or(self.hold);
        if hold_most < self.hold {
            let why = format!(
                "--hold-most {hold_most} is less than --hold, which is {}: it is what that may grow to",
                self.hold
            );
            return Err(Failure::new(exit::USAGE, why));
        }
        let config =
            Config { hold: self.hold * 1_000_000, hold_most: hold_most * 1_000_000, ..Config::default() };
        let Some(lease) = self.lease.map(|seconds| seconds * 1_000_000_000) else { return Ok(config) };
        // What a call takes is time that the lease does not have.
        let answer = config.answer.min(lease / 5);
        let (fresh, fresh_at_home) = (config.fresh.min(lease / 2), config.fresh_at_home);
        Ok(Config { mode: Mode::Leased, lease, margin: lease / 5, answer, fresh, fresh_at_home, ..config })
    }

    fn named(&self) -> Named<'_> {
        Named { locks: &self.locks, rwlocks: &self.rwlock, semaphores: &self.semaphore }
    }

    /// Runs it.
    pub fn run(&self) -> Result<(), Failure> {
        let mut config = self.config()?;
        let local = local::open(&self.file, &self.named(), &self.host)?;
        let semaphores = (!local.semaphores.is_empty())
            .then(|| semaphores::open(&self.file, &local.semaphores, &self.host))
            .transpose()?;
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::of_system("cannot begin", error))?;
        let ended = runtime.block_on(async {
            let members = self.cluster.connect().await?;
            let home = local.locks.iter().find(|lock| lock.linked.is_home()).map(|lock| lock.name.as_str());
            let mut shares = semaphores.iter().flat_map(|semaphores| &semaphores.all);
            let home =
                home.or_else(|| shares.find(|one| one.linked.share() > 0).map(|one| one.name.as_str()));
            let (cluster, host) = (&self.cluster, &self.host);
            let registration = Registration::register(&members, cluster, host, &self.file, home).await?;
            if config.mode == Mode::Leased
                && let Some(version) = self.cluster.ends_leases_early(&members).await
            {
                // Clocks differ by a tenth of the hundredth.
                config.distrust = config.lease + config.lease / 100;
                print::message(&sentences::distrusts(&version, config.lease));
            }
            let prefix = cluster.prefix();
            let semaphores = semaphores.map(|semaphores| {
                Semaphores::begin(members.clone(), prefix, host, registration.clone(), config, semaphores)
            });
            let semaphores = semaphores.transpose()?;
            let agents = (!local.locks.is_empty())
                .then(|| Agents::begin(members, prefix, host, registration, config, local))
                .transpose()?;
            let names: Vec<_> =
                agents.iter().map(Agents::names).chain(semaphores.iter().map(Semaphores::names)).collect();
            print::message(&format!("host {host:?}: {} of {}", names.join(", "), self.file.display()));
            // What ends the one ends the other.
            let (locks, permits) = tokio::join!(
                async { if let Some(agents) = agents { agents.run(self.leave).await } else { Ok(()) } },
                async {
                    if let Some(semaphores) = semaphores { semaphores.run(self.leave).await } else { Ok(()) }
                },
            );
            locks.and(permits)
        });
        // A thread that waits for a lock, to move it away, ends with the process, and is reaped.
        runtime.shutdown_background();
        ended
    }
}

/// Returns the name of a semaphore, and how many permits it has.
fn semaphore(text: &str) -> Result<(String, u32), String> {
    let wrong = || {
        format!(
            "{text:?} is not NAME=N, a semaphore's name and how many permits it has, 1 to {}",
            u32::MAX - 1
        )
    };
    let (name, permits) = text.rsplit_once('=').ok_or_else(wrong)?;
    let permits = permits.parse().ok().filter(|permits| (1..u32::MAX).contains(permits)).ok_or_else(wrong)?;
    Ok((name.into(), permits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        run: Run,
    }

    fn config(options: &[&str]) -> Result<Config, Failure> {
        let words = ["x", "a.lock", "accounts", "--host", "a"].iter().chain(options);
        Alone::parse_from(words).run.config()
    }

    #[test]
    fn a_hold_grows_as_far_as_it_may_and_not_at_all_if_that_is_not_said() {
        let of = |options: &[&str]| {
            let Config { hold, hold_most, mode, .. } = config(options).unwrap();
            (hold, hold_most, mode)
        };
        assert_eq!(of(&[]), (20_000_000, 20_000_000, Mode::Kept));
        assert_eq!(of(&["--hold", "3"]), (3_000_000, 3_000_000, Mode::Kept));
        assert_eq!(of(&["--hold-most", "200"]), (20_000_000, 200_000_000, Mode::Kept));
        let leased = ["--hold", "5", "--hold-most", "5", "--lease", "3"];
        assert_eq!(of(&leased), (5_000_000, 5_000_000, Mode::Leased));
    }

    #[test]
    fn one_that_may_grow_to_less_than_it_is_is_refused() {
        let Failure { code, why } = config(&["--hold-most", "19"]).unwrap_err();
        assert!(
            code == exit::USAGE && why.contains("--hold-most 19 is less than --hold, which is 20"),
            "{why}"
        );
    }
}
