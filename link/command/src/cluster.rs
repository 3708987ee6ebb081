//! How etcd is reached: what the command line says, the connection, and what an error of it means.

use crate::{
    exit,
    failure::Failure,
    keys::Prefix,
    members::{CallFailed, Members},
};
use etcd_client::{Certificate, Client, ConnectOptions, Error, Identity, TlsOptions};
use std::{error::Error as _, fs, future::Future, path::PathBuf, time::Duration};

/// How long etcd may take for the first answer.
const FIRST_ANSWER: Duration = Duration::from_secs(5);
/// How long a connection may take.
const CONNECTED: Duration = Duration::from_secs(2);
/// A connection on which nothing came for so long is asked for a sign of life (a ping of HTTP/2, which is no request to etcd), which may take so
/// long. Servers refuse pings that come more often than every 5 s.
const SIGN_OF_LIFE: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(5));
/// The oldest version of etcd whose watches can be numbered by the client.
const OLDEST: (u32, u32) = (3, 4);

/// The oldest patch of each minor version from before 3.6 that ends no lease before its time (etcd#15247).
const KEEPS_LEASES: [(u32, u32, u32); 2] = [(3, 4, 31), (3, 5, 13)];

/// Which etcd, and which keys of it.
#[derive(clap::Args)]
#[command(next_help_heading = "The engine, as etcdctl has it")]
pub struct Cluster {
    /// The members of the etcd cluster, separated by commas
    #[arg(
        long,
        env = "ETCDCTL_ENDPOINTS",
        value_name = "URL,...",
        value_delimiter = ',',
        default_value = "127.0.0.1:2379"
    )]
    endpoints: Vec<String>,
    /// What all keys begin with: hosts that share locks have the same one
    #[arg(long, value_name = "PREFIX", default_value = "turnlock", value_parser = prefix)]
    prefix: Prefix,
    /// The certificate of the authority that etcd's is checked by (PEM); the system's authorities if not said
    #[arg(long, env = "ETCDCTL_CACERT", value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// This client's certificate (PEM), with --key
    #[arg(long, env = "ETCDCTL_CERT", value_name = "FILE", requires = "key")]
    cert: Option<PathBuf>,
    /// The key of this client's certificate (PEM)
    #[arg(long, env = "ETCDCTL_KEY", value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// The user, if etcd asks for one; a password on the command line can be seen by every user of the machine
    #[arg(long, env = "ETCDCTL_USER", value_name = "NAME[:PASSWORD]", hide_env_values = true)]
    user: Option<String>,
    /// The user's password, if --user does not say it
    #[arg(
        long,
        env = "ETCDCTL_PASSWORD",
        value_name = "PASSWORD",
        hide_env_values = true,
        requires = "user"
    )]
    password: Option<String>,
}

fn prefix(text: &str) -> Result<Prefix, String> {
    if text.trim_matches('/').is_empty() {
        return Err("a prefix has a letter at least, and hosts that share locks have the same one".into());
    }
    Ok(Prefix::new(text))
}

impl Cluster {
    /// Returns what all keys begin with.
    pub fn prefix(&self) -> &Prefix {
        &self.prefix
    }

    /// Returns the members, for messages.
    pub fn endpoints(&self) -> String {
        self.endpoints.join(",")
    }

    /// Connects, and sees that a member is an etcd of a version that will do.
    ///
    /// # Errors
    /// What the first member says, if none will do.
    pub async fn connect(&self) -> Result<Members, Failure> {
        let members = Members::new(&self.endpoints, self.options()?);
        let mut first = None;
        for _ in 0..members.count() {
            match members.call(FIRST_ANSWER, |mut client| async move { client.status().await }).await {
                Ok(status) => return self.check_version(status.version()).map(|()| members),
                // It asks a user for more rights than the keys need: it is etcd all the same.
                Err(CallFailed::Error(Error::GRpcStatus(status)))
                    if status.message().contains("permission denied") =>
                {
                    return Ok(members);
                }
                Err(failed) => drop(first.get_or_insert(failed)),
            }
        }
        Err(first.map_or_else(|| Failure::new(exit::USAGE, "no endpoints"), |failed| self.failed(&failed)))
    }

    /// Calls a member, and returns its answer; what fails is said as it is.
    pub async fn call<T, F: Future<Output = Result<T, Error>>>(
        &self,
        members: &Members,
        call: impl FnOnce(Client) -> F,
    ) -> Result<T, Failure> {
        members.call(FIRST_ANSWER, call).await.map_err(|failed| self.failed(&failed))
    }

    /// Returns the version of the member in use if it may end a lease before its time; `None` if it does not. One that does not say is one that
    /// may.
    pub async fn ends_leases_early(&self, members: &Members) -> Option<String> {
        let status = members.call(FIRST_ANSWER, |mut client| async move { client.status().await }).await;
        let version =
            status.map_or_else(|_| "of an unknown version".into(), |status| status.version().to_owned());
        may_end_leases_early(&version).then_some(version)
    }

    fn options(&self) -> Result<ConnectOptions, Failure> {
        let mut options = ConnectOptions::new()
            .with_connect_timeout(CONNECTED)
            .with_keep_alive(SIGN_OF_LIFE.0, SIGN_OF_LIFE.1)
            .with_require_leader(true)
            .with_auto_token_refresh(true);
        if let Some(user) = &self.user {
            let (name, password) = match (user.split_once(':'), &self.password) {
                (_, Some(password)) => (user.as_str(), password.as_str()),
                (Some((name, password)), None) => (name, password),
                (None, None) => {
                    return Err(Failure::new(
                        exit::USAGE,
                        format!(
                            "the password of {user} is missing: give it in ETCDCTL_PASSWORD, or as --user {user}:PASSWORD"
                        ),
                    ));
                }
            };
            options = options.with_user(name, password);
        }
        let is_tls = self.endpoints.iter().any(|url| url.starts_with("https://"));
        if self.cacert.is_some() || self.cert.is_some() || is_tls {
            options = options.with_tls(self.tls()?);
        }
        Ok(options)
    }

    fn tls(&self) -> Result<TlsOptions, Failure> {
        let read = |path: &PathBuf| {
            fs::read(path)
                .map_err(|error| Failure::of_system(&format!("cannot read {}", path.display()), error))
        };
        if let Some(plain) = self.endpoints.iter().find(|url| url.starts_with("http://")) {
            let why = format!(
                "{plain} is without TLS, and certificates or another member are with it: say https:// for all"
            );
            return Err(Failure::new(exit::USAGE, why));
        }
        let mut tls = TlsOptions::new();
        tls = match &self.cacert {
            Some(path) => tls.ca_certificate(Certificate::from_pem(read(path)?)),
            None => tls.with_enabled_roots(),
        };
        if let (Some(cert), Some(key)) = (&self.cert, &self.key) {
            tls = tls.identity(Identity::from_pem(read(cert)?, read(key)?));
        }
        Ok(tls)
    }

    fn check_version(&self, version: &str) -> Result<(), Failure> {
        let mut numbers = version.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
        let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        if found < OLDEST {
            let why = format!(
                "{} is etcd {version}, and {}.{} or later is needed",
                self.endpoints(),
                OLDEST.0,
                OLDEST.1
            );
            return Err(Failure::new(exit::NO_ENGINE, why));
        }
        Ok(())
    }

    /// Returns what it means that a call failed.
    fn failed(&self, failed: &CallFailed) -> Failure {
        let what = why(failed);
        let hint = hint(&what);
        Failure::new(exit::NO_ENGINE, format!("etcd at {}: {what}{hint}", self.endpoints()))
    }
}

fn may_end_leases_early(version: &str) -> bool {
    let release = version.split('-').next().unwrap_or_default();
    let mut numbers = release.split('.').map(|number| number.parse::<u32>().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    let found = (next(), next(), next());
    let since = KEEPS_LEASES.into_iter().find(|since| (since.0, since.1) == (found.0, found.1));
    since.map_or((found.0, found.1) < (3, 6), |since| found < since)
}

/// Returns why a call has no answer.
pub fn why(failed: &CallFailed) -> String {
    match failed {
        CallFailed::Late(limit) => format!("no answer within {:.1} s", limit.as_secs_f64()),
        CallFailed::Error(error) => reason(error),
    }
}

/// Returns what an error says, down to its cause.
fn reason(error: &Error) -> String {
    let (mut said, mut cause) = match error {
        Error::GRpcStatus(status) => (vec![status.message().to_owned()], status.source()),
        Error::TransportError(transport) => (vec![transport.to_string()], transport.source()),
        error => (vec![error.to_string()], None),
    };
    while let Some(error) = cause {
        let text = error.to_string();
        if !said.iter().any(|said| said.contains(&text)) {
            said.push(text);
        }
        cause = error.source();
    }
    said.retain(|said| !said.is_empty());
    said.join(": ")
}

/// Returns what to do about it, where that is known.
fn hint(what: &str) -> &'static str {
    let says = |part: &str| what.contains(part);
    if says("Connection refused") || says("no answer") {
        "; is it running, and are the endpoints right?"
    } else if says("authentication failed") || says("user name is empty") {
        "; give the user and the password that it knows (--user NAME, ETCDCTL_PASSWORD)"
    } else if says("permission denied") {
        "; give the user the right to read and write all keys of the prefix (etcdctl role grant-permission --prefix)"
    } else if says("certificate") || says("UnknownIssuer") {
        "; see --cacert, and --cert and --key where it asks for a client's certificate; the endpoint's name must be the certificate's"
    } else if says("frame with invalid size")
        || says("InvalidContentType")
        || says("corrupt message")
        || says("handshake eof")
    {
        "; one side speaks TLS and the other does not: see https:// in --endpoints, and --cacert"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        cluster: Cluster,
    }

    #[test]
    fn versions_that_end_leases_early_are_known() {
        for early in ["3.4.23", "3.4.30", "3.5.12", "3.5.0-rc.1", "of an unknown version"] {
            assert!(may_end_leases_early(early), "{early}");
        }
        for good in ["3.4.31", "3.4.40", "3.5.13", "3.6.0", "3.6.0-rc.1", "3.7.1", "4.0.0"] {
            assert!(!may_end_leases_early(good), "{good}");
        }
    }

    #[test]
    fn versions_that_are_too_old_are_refused() {
        let Alone { cluster } = Alone::parse_from(["x", "--endpoints", "a:1"]);
        for good in ["3.4.0", "3.4.23", "3.5.0-rc.1", "4.0.0"] {
            assert!(cluster.check_version(good).is_ok(), "{good}");
        }
        for bad in ["3.3.27", "2.3.8", "", "x"] {
            let failure = cluster.check_version(bad).unwrap_err();
            assert!(failure.code == exit::NO_ENGINE && failure.why.contains("3.4 or later"), "{failure:?}");
        }
    }
}
