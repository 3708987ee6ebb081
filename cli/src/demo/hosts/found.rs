//! etcd and turnlock-link: where they are, or how to install them.

use super::super::{limit, no_verdict::NoVerdict};
use crate::link;
use std::{io::ErrorKind, path::PathBuf, process::Command};

/// What the demo needs besides this command.
pub struct Found {
    /// turnlock-link.
    pub link: PathBuf,
    /// etcd, and its version.
    pub etcd: (PathBuf, String),
}

/// Looks for both.
///
/// # Errors
/// One is missing, or both: which, and how to install it.
pub fn find() -> Result<Found, NoVerdict> {
    let etcd = PathBuf::from("etcd");
    let etcd_says = says(&etcd, "install it (Debian: apt-get install etcd-server)");
    let link = link::program();
    let link_says = says(
        &link,
        "install it from turnlock's sources: cargo install --path link/command (protoc is needed to build it; Debian: apt-get install \
         protobuf-compiler)",
    );
    match (etcd_says, link_says) {
        (Ok(said), Ok(_)) => {
            let version = said.lines().find_map(|line| line.strip_prefix("etcd Version: "));
            Ok(Found { link, etcd: (etcd, version.unwrap_or("of an unknown version").trim().into()) })
        }
        (etcd, link) => {
            let missing: Vec<String> = [etcd.err(), link.err()].into_iter().flatten().collect();
            Err(NoVerdict::Missing(format!("for --hosts, {}", missing.join("\n  and "))))
        }
    }
}

/// Returns what it says of its version, or why it cannot be used.
fn says(program: &PathBuf, how_to_install: &str) -> Result<String, String> {
    let name = program.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    match limit::output(Command::new(program).arg("--version")) {
        Ok(done) if done.status.success() => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        Ok(done) => Err(format!("{name} does not work here ({}): {how_to_install}", done.status)),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(format!("{name} is missing: {how_to_install}"))
        }
        Err(error) => Err(format!("{name} cannot be started: {error}")),
    }
}
