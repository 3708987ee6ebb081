//! What is refused, and why: nothing is lost by it.

use crate::{
    engine::etcd,
    host::{Host, LOCK, failed, link, linked, status},
};
use std::net::TcpListener;
use support::limit;
use turnlock::LockFile;

#[test]
fn a_second_agent_of_a_file_and_a_second_file_of_a_name_are_refused() {
    let Some(etcd) = etcd() else { return };
    let a = Host::new(&etcd, "a");
    let (first, _) = a.enter();
    let path = a.path();
    let (code, said) = failed(&etcd, &["run", path.to_str().unwrap(), LOCK, "--host", "a"]);
    assert!(code == Some(1) && said.contains("has an agent already"), "{code:?} {said}");
    let other = path.with_file_name("other.lock");
    let (code, said) = failed(&etcd, &["run", other.to_str().unwrap(), LOCK, "--host", "a"]);
    let says = |what: &str| said.contains(what);
    assert!(
        code == Some(1) && says("app.lock") && says("other.lock") && says("use another one"),
        "{code:?} {said}"
    );
    assert_eq!(a.enter(), (first + 1, false));
    assert_eq!(status(&etcd), (Some("a".into()), Vec::new()));
}

#[test]
fn a_file_stays_with_its_name_and_its_prefix() {
    let Some(etcd) = etcd() else { return };
    let mut a = Host::new(&etcd, "a");
    let (first, _) = a.enter();
    a.kill_agent();
    let path = a.path();
    let path = path.to_str().unwrap();
    let (code, said) = failed(&etcd, &["run", path, "--host", "b"]);
    assert!(code == Some(1) && said.contains("this lock file is host \"a\""), "{code:?} {said}");
    let (code, said) = failed(&etcd, &["run", path, "--host", "a", "--prefix", "other"]);
    assert!(code == Some(1) && said.contains("linked to another etcd"), "{code:?} {said}");
    assert!(a.is_home(), "nothing was done to it");
    a.start();
    assert_eq!(a.enter(), (first + 1, false));
}

#[test]
fn an_engine_that_cannot_be_reached_or_refuses_is_told_of() {
    let Some(etcd) = etcd() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lock");
    let path = path.to_str().unwrap();
    let run = |options: &[&str]| failed(&etcd, &[&["run", path, LOCK, "--host", "a"], options].concat());
    let refuses = |options: &[&str], code: i32, what: &str| {
        let (ended, said) = run(options);
        assert!(ended == Some(code) && said.contains(what), "{options:?}: {ended:?} {said}");
    };
    refuses(&["--endpoints", "127.0.0.1:1"], 69, "Connection refused (os error 111); is it running");
    // It takes connections, and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    refuses(
        &["--endpoints", &silent.local_addr().unwrap().to_string()],
        69,
        "no answer within 5.0 s; is it running",
    );
    refuses(&["--endpoints", &etcd.endpoint().replace("http:", "https:")], 69, "one side speaks TLS");
    refuses(&["--user", "app"], 64, "the password of app is missing");
    refuses(&["--user", "app:secret"], 69, "authentication is not enabled");
    refuses(
        &["--endpoints", "https://127.0.0.1:1", "--cacert", "/no/such/file"],
        71,
        "cannot read /no/such/file",
    );
    refuses(&["--cacert", path], 64, "is without TLS");
    refuses(&["--prefix", "/"], 64, "a prefix has a letter at least");
    etcd.ctl(&["user", "add", "root:secret"]);
    etcd.ctl(&["auth", "enable"]);
    refuses(&[], 69, "user name is empty; give the user");
    refuses(&["--user", "root:wrong"], 69, "authentication failed");
    let mut status = link(&etcd);
    let status =
        limit::output(status.args(["status", "--user", "root"]).env("ETCDCTL_PASSWORD", "secret")).unwrap();
    assert!(status.status.success(), "{status:?}");
}

#[test]
fn names_and_files_that_will_not_do_are_told_of() {
    let Some(etcd) = etcd() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lock");
    let file = LockFile::open(&path).unwrap();
    file.mutex("plain").unwrap();
    let path = path.to_str().unwrap();
    let refuses = |arguments: &[&str], code: i32, what: &str| {
        let (ended, said) = failed(&etcd, arguments);
        assert!(ended == Some(code) && said.contains(what), "{arguments:?}: {ended:?} {said}");
    };
    refuses(&["run", path, "--host", "a"], 66, "has no linked lock");
    refuses(&["run", path, "plain", "--host", "a"], 66, "not linked");
    refuses(&["run", path, "x", "--host", "a/b"], 64, "no / and no control characters");
    refuses(&["run", "/no/such/folder/a.lock", "--host", "a"], 66, "/no/such/folder");
    refuses(&["run", path], 64, "--host");
    refuses(
        &["run", path, "x", "--host", "a", "--hold", "30", "--hold-most", "20"],
        64,
        "is less than --hold",
    );
    etcd.ctl(&["put", "turnlock/locks/x/held/of/another", "?"]);
    let (code, said) = failed(&etcd, &["status"]);
    assert!(code == Some(1) && said.contains("is not one of turnlock-link"), "{code:?} {said}");
    assert!(linked(&etcd, &["status", "--prefix", "mine"]).status.success());
}
