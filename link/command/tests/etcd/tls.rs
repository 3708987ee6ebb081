//! Certificates.

use crate::{
    engine::etcd_with,
    host::{Host, failed},
};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use support::limit;

/// A certificate that is signed by itself, and its key.
fn certificate(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    let (certificate, key) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
    let mut openssl = Command::new("openssl");
    openssl.args([
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]);
    openssl.args([
        "-subj",
        "/CN=turnlock",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
    ]);
    openssl.arg("-keyout").arg(&key).arg("-out").arg(&certificate);
    let made = limit::output(&mut openssl)
        .expect("openssl makes the certificates (Debian: apt-get install openssl)");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (certificate, key)
}

#[test]
fn an_engine_is_reached_over_tls_by_its_authority_and_by_no_other() {
    let Some(etcd) = etcd_with(|folder| Some(certificate(folder, "server"))) else { return };
    let other = certificate(etcd.folder(), "other").0;
    let (code, said) = failed(&etcd, &["status", "--cacert", other.to_str().unwrap()]);
    assert!(code == Some(69) && said.contains("see --cacert"), "{code:?} {said}");
    let (code, said) = failed(&etcd, &["status"]);
    assert!(code == Some(69) && said.contains("see --cacert"), "{code:?} {said}");
    let own: &'static str = etcd.folder().join("server.pem").to_str().unwrap().to_owned().leak();
    fs::metadata(own).unwrap();
    let a = Host::with(&etcd, "a", &["--cacert", own]);
    assert!(!a.enter().1);
}
