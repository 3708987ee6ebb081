//! The programs of `bindings/`, in Node, Go and Java: where each stands ready, or how to have it. Nothing is installed
//! or built here, since that takes more than a moment.

use super::limit;
use std::{
    env,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// How a program is started.
pub struct Start {
    /// What it runs on, for people.
    pub how: String,
    /// What to start.
    pub program: PathBuf,
    /// Its arguments, before those of the counter.
    pub arguments: Vec<OsString>,
    /// What has to be in its environment besides TURNLOCK_LIBRARY.
    pub environment: Vec<(&'static str, OsString)>,
}

/// Where the programs are looked for and tried.
#[derive(Clone, Copy)]
pub struct Bindings<'a> {
    /// The folder of the demo.
    pub folder: &'a Path,
    /// The library that they are to load.
    pub library: &'a Path,
    /// This command: the checks of the bindings leave what they build in cargo's target folder, where it is too.
    pub this: &'a Path,
}

impl Bindings<'_> {
    /// Node's program is part of its package: that of the current folder, of NODE_PATH, or of the package's check.
    pub fn node(self) -> Result<Start, String> {
        // The package as `require` finds it, and the interpreter itself: a wrapper may be another process.
        const PROBE: &str = "const { existsSync } = require('node:fs');
const packages = require.resolve.paths('turnlock').find((path) => existsSync(`${path}/turnlock/package.json`));
if (packages) require(`${packages}/turnlock`);
console.log([process.versions.node, process.execPath, packages ?? ''].join('\\n'));";
        const INSTALL: &str = "in turnlock's sources, `npm install ./bindings/node` installs it";
        let paths = joined(env::var_os("NODE_PATH"), self.built("node/bindings/node/node_modules").into());
        let mut probe = Command::new("node");
        probe.args(["-e", PROBE]).env("NODE_PATH", paths).env("TURNLOCK_LIBRARY", self.library);
        let done = limit::output(&mut probe).map_err(|error| absent("node", "nodejs npm", &error))?;
        if !done.status.success() {
            return Err(format!("its package does not work here ({}); {INSTALL}", complaint(&done)));
        }
        let said = String::from_utf8_lossy(&done.stdout);
        let [version, node, packages] = said.lines().collect::<Vec<_>>()[..] else {
            return Err("node does not say where it is".into());
        };
        if packages.is_empty() {
            return Err(format!("its package is missing; {INSTALL}"));
        }
        let program = Path::new(packages).join("turnlock/examples/counter.js");
        if !program.is_file() {
            return Err(format!("{} is missing; {INSTALL}", program.display()));
        }
        Ok(Start {
            how: format!("Node {version}"),
            program: node.into(),
            arguments: vec![program.into()],
            environment: vec![("NODE_PATH", packages.into())],
        })
    }

    /// Go's program, as its check leaves it: to compile it anew takes longer than the whole demo.
    pub fn go(self) -> Result<Start, String> {
        const BUILD: &str = "in turnlock's sources, bindings/go/check builds it";
        let program = self.built("go/counter");
        if !program.is_file() {
            return Err(format!("it is not built; {BUILD}"));
        }
        let libraries = self.library.parent().unwrap_or(Path::new("/")).into();
        let libraries = joined(Some(libraries), env::var_os("LD_LIBRARY_PATH").unwrap_or_default());
        let environment = vec![("LD_LIBRARY_PATH", libraries)];
        self.trial(Command::new(&program).envs(environment.clone()), "go")
            .map_err(|error| format!("{}: {error}", program.display()))?
            .map_err(|why| format!("it does not work here ({why}); {BUILD}"))?;
        Ok(Start { how: "built by its check".into(), program, arguments: Vec::new(), environment })
    }

    /// Java's program, as its check leaves it, with the class path that it needs.
    pub fn java(self) -> Result<Start, String> {
        const BUILD: &str = "in turnlock's sources, bindings/java/check builds it";
        let Ok(classes) = fs::read_to_string(self.built("java/classes")) else {
            return Err(format!("it is not built; {BUILD}"));
        };
        let arguments: Vec<OsString> =
            ["-Xshare:auto", "-cp", classes.trim(), "Counter"].map(OsString::from).to_vec();
        let mut java = Command::new("java");
        java.arg("-XshowSettings:properties").args(&arguments);
        let said = self
            .trial(&mut java, "java")
            .map_err(|error| absent("java", "default-jre-headless", &error))?
            .map_err(|why| format!("it does not work here ({why}); {BUILD}"))?;
        let property =
            |name: &str| said.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(" = "));
        let (Some(home), Some(version)) = (property("java.home"), property("java.version")) else {
            return Err("java does not say where it is".into());
        };
        // The virtual machine itself: a wrapper may be another process.
        let program = Path::new(home).join("bin/java");
        Ok(Start { how: format!("Java {version}"), program, arguments, environment: Vec::new() })
    }

    fn built(self, path: &str) -> PathBuf {
        let target = self.this.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        target.join("bindings").join(path)
    }

    /// Has a program take no turn at all, at a lock of its own: one that was built for another library fails here, and
    /// not in the midst of the others. Gives what it wrote to standard error, or why it cannot take part.
    fn trial(self, program: &mut Command, name: &str) -> io::Result<Result<String, String>> {
        let folder = self.folder.join(format!("trial-{name}"));
        fs::create_dir(&folder)?;
        let done = limit::output(program.arg(&folder).arg("0").env("TURNLOCK_LIBRARY", self.library))?;
        let said = || String::from_utf8_lossy(&done.stderr).into_owned();
        Ok(if done.status.success() { Ok(said()) } else { Err(complaint(&done)) })
    }
}

/// Two lists of paths as one.
fn joined(first: Option<OsString>, then: OsString) -> OsString {
    let mut paths = first.unwrap_or_default();
    if !paths.is_empty() && !then.is_empty() {
        paths.push(":");
    }
    paths.push(then);
    paths
}

fn absent(command: &str, packages: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("no {command} here (Debian: apt-get install {packages})"),
        _ => format!("{command}: {error}"),
    }
}

/// Returns the line of standard error that tells most: where there is a trace, its error, else the last.
fn complaint(done: &Output) -> String {
    let said = String::from_utf8_lossy(&done.stderr);
    let is_error = |line: &&str| {
        !line.starts_with(char::is_whitespace)
            && line.contains(": ")
            && (line.contains("Error") || line.contains("Exception"))
    };
    let line = said.lines().find(is_error).or_else(|| said.trim().lines().last());
    line.map_or_else(|| done.status.to_string(), str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

    #[test]
    fn a_complaint_is_one_line() {
        let said = |stderr: &str| {
            let status = ExitStatus::from_raw(1 << 8);
            complaint(&Output { status, stdout: Vec::new(), stderr: stderr.into() })
        };
        let node =
            "node:internal/modules:1\n  throw err;\n\nError: Cannot find module 'koffi'\n    at x.js\n";
        assert_eq!(said(node), "Error: Cannot find module 'koffi'");
        let node =
            "native.js:51\n    throw new TurnlockError(\n\nTurnlockError: ABI version 9\n    at y.js\n";
        assert_eq!(said(node), "TurnlockError: ABI version 9");
        assert_eq!(said("counter.go: out of ink\n"), "counter.go: out of ink");
        assert_eq!(said(""), "exit status: 1");
    }

    #[test]
    fn paths_are_joined_without_empty_ones() {
        assert_eq!(joined(Some("a".into()), "b:c".into()), "a:b:c");
        assert_eq!(joined(None, "b".into()), "b");
        assert_eq!(joined(Some("".into()), "b".into()), "b");
        assert_eq!(joined(Some("a".into()), "".into()), "a");
    }
}
