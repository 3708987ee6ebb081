//! `turnlock-link forget`: a host is gone, and others go on.

use crate::{
    cluster::Cluster,
    exit,
    failure::Failure,
    keys,
    members::Members,
    print, semaphores,
    snapshot::{self, revision},
    status::locks,
    values::{Registered, Stored},
};
use etcd_client::{Compare, CompareOp, GetOptions, GetResponse, Txn, TxnOp};
use tokio::runtime;
use turnlock_link_agent::{Config, Data, Held, Host, Key, Mode, Snapshot};

/// Say that a host is gone for good, so that others get the locks that it had
///
/// For a person, or a fence agent, and only once no program of that host can go on: it is off, or cut off from what the locks protect. The
/// next holder of each lock that the host had is told of a death, as when a holder was killed, and gets a larger fencing token.
///
/// If the host goes on after all, its agent moves its locks away when it finds that out, and ends.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  the host is forgotten
  1  there is no such host, or it was forgotten already and has no lock
  64  the command line is wrong
  69  etcd cannot be reached, or refuses
  71  something else went wrong

EXAMPLES
  turnlock-link forget db1 --endpoints 10.0.0.1:2379")]
pub struct Forget {
    /// The host's name, as its agent was given it
    #[arg(value_parser = keys::host)]
    host: Host,
    #[command(flatten)]
    cluster: Cluster,
}

/// How often a lock is tried that changes between the look at it and the transaction: its host is not gone at all.
const TRIES: u32 = 20;

impl Forget {
    /// Runs it.
    pub fn run(&self) -> Result<(), Failure> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::of_system("cannot begin", error))?;
        runtime.block_on(self.forget())
    }

    async fn forget(&self) -> Result<(), Failure> {
        let members = self.cluster.connect().await?;
        let was_registered = self.end_registration(&members).await?;
        let mut names = Vec::new();
        for (name, snapshot) in locks(&members, &self.cluster).await? {
            if self.forget_at(&members, &name, snapshot).await? {
                names.push(format!("{name:?}"));
            }
        }
        let permits = semaphores::seen::forget(&members, &self.cluster, &self.host).await?;
        names.extend(permits.iter().map(|name| format!("its permits of {name:?}")));
        if names.is_empty() && !was_registered {
            let why = format!(
                "host {:?} has no lock below {:?}, and no agent: see `turnlock-link status` for the hosts that there are",
                self.host,
                self.cluster.prefix().all()
            );
            return Err(Failure::new(exit::FAILED, why));
        }
        let had = if names.is_empty() {
            "it had no lock".into()
        } else {
            format!("others may have {}", names.join(", "))
        };
        print::result(&format!("host {:?} is forgotten; {had}\n", self.host))
    }

    /// From then on no transaction of its agent is carried out. Returns whether it had one.
    async fn end_registration(&self, members: &Members) -> Result<bool, Failure> {
        let key = self.cluster.prefix().host(&self.host);
        for _ in 0..TRIES {
            let found = self.get(members, &key, None).await?;
            let Some(pair) = found.kvs().first() else { return Ok(false) };
            let Some(known) = Registered::read(pair.value()) else {
                let why =
                    format!("the key {key} in etcd is not one of turnlock-link: is the --prefix right?");
                return Err(Failure::new(exit::FAILED, why));
            };
            if known.forgotten {
                return Ok(false);
            }
            let compare = Compare::mod_revision(key.as_str(), CompareOp::Equal, pair.mod_revision());
            let put = TxnOp::put(key.as_str(), Registered { forgotten: true, ..known }.text(), None);
            if self.change(members, vec![compare], vec![put]).await? {
                return Ok(true);
            }
        }
        Err(self.is_alive("its agent begins again and again"))
    }

    /// Returns whether it had the privilege of this lock, or that to read.
    async fn forget_at(
        &self,
        members: &Members,
        name: &str,
        mut snapshot: Snapshot,
    ) -> Result<bool, Failure> {
        let keys = self.cluster.prefix().lock(name, &self.host);
        for _ in 0..TRIES {
            let held = snapshot.held.filter(|held| held.host == self.host);
            let place = snapshot.places.iter().find(|place| place.host == self.host);
            let (mut compares, mut then) = (Vec::new(), Vec::new());
            if let Some(Held { created, .. }) = held {
                // It may have used tokens after its block ended, and another block is beyond those.
                let (modified, reserved, data, mode) =
                    snapshot.state.map_or((0, 0, Data::Consistent, Mode::Kept), |state| {
                        (state.modified, state.reserved, state.data, state.mode)
                    });
                let (held, state) = (keys.key(Key::Held), keys.key(Key::State));
                compares.push(Compare::create_revision(held.as_str(), CompareOp::Equal, revision(created)));
                compares.push(Compare::mod_revision(state.as_str(), CompareOp::Equal, revision(modified)));
                let skipped = reserved.saturating_add(Config::default().block);
                then.push(TxnOp::put(
                    state,
                    Stored::text(skipped, data.max(Data::Inconsistent), mode, None),
                    None,
                ));
                then.push(TxnOp::delete(held, None));
            }
            let reads =
                snapshot.readers.iter().chain(&snapshot.read_by).any(|reader| reader.host == self.host);
            if reads {
                // What it read is as it was. No agent of it takes that again: it is registered no more.
                then.extend([Key::Reading, Key::ReadBy].map(|key| TxnOp::delete(keys.key(key), None)));
            }
            if place.is_some() {
                then.push(TxnOp::delete(keys.key(Key::Place), None));
            }
            if then.is_empty() {
                return Ok(false);
            }
            if self.change(members, compares, then).await? {
                return Ok(held.is_some() || reads);
            }
            let all = GetOptions::new().with_prefix();
            let found = self.get(members, keys.folder(), Some(all)).await?;
            let at = found.header().map_or(0, |header| header.revision());
            snapshot = snapshot::of(&keys, at, found.kvs()).map_err(|why| Failure::new(exit::FAILED, why))?;
        }
        Err(self.is_alive(&format!("{name:?} changes while it is looked at")))
    }

    async fn get(
        &self,
        members: &Members,
        key: &str,
        options: Option<GetOptions>,
    ) -> Result<GetResponse, Failure> {
        self.cluster.call(members, |mut client| async move { client.get(key, options).await }).await
    }

    /// Returns whether the comparisons held. A transaction that may have been carried out without an answer is refused when it is tried
    /// again.
    async fn change(
        &self,
        members: &Members,
        compares: Vec<Compare>,
        then: Vec<TxnOp>,
    ) -> Result<bool, Failure> {
        let change = Txn::new().when(compares).and_then(then);
        let changed =
            self.cluster.call(members, |mut client| async move { client.txn(change).await }).await?;
        Ok(changed.succeeded())
    }

    fn is_alive(&self, why: &str) -> Failure {
        let why = format!(
            "host {:?} is not gone: {why}; end its agent, and see that its programs have ended",
            self.host
        );
        Failure::new(exit::FAILED, why)
    }
}
