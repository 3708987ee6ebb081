//! What bash, zsh and fish complete turnlock's command lines by: read, and driven, where they are installed.

use crate::{Fixture, TURNLOCK, errors, new_fixture, text};
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use support::limit;

fn script_for(shell: &str) -> String {
    let printed = limit::output(Command::new(TURNLOCK).args(["completions", shell])).unwrap();
    assert_eq!(printed.status.code(), Some(0), "{}", errors(&printed));
    text(&printed)
}

/// A folder with the lock file `app.lock`, which has the locks `build` and `two words`; and the scripts beside it.
struct Line {
    fixture: Fixture,
    scripts: PathBuf,
}

impl Line {
    fn new() -> Self {
        let fixture = new_fixture();
        let file = turnlock::LockFile::open(fixture.folder().join("app.lock")).unwrap();
        drop([file.mutex("build").unwrap(), file.mutex("two words").unwrap()]);
        let scripts = fixture.folder().join("scripts");
        std::fs::create_dir(&scripts).unwrap();
        for (shell, name) in [("bash", "bash"), ("zsh", "_turnlock"), ("fish", "fish")] {
            std::fs::write(scripts.join(name), script_for(shell)).unwrap();
        }
        Self { fixture, scripts }
    }

    /// A shell that runs `script`, in which `turnlock` is the command, $S the folder of the scripts, and descriptor 9 the lock
    /// file. `None`: it is not installed, or lacks what it is driven by.
    fn drive(&self, shell: &str, script: &str, arguments: &[&str]) -> Option<Output> {
        let mut folders = vec![Path::new(TURNLOCK).parent().unwrap().to_owned()];
        folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let path: OsString = std::env::join_paths(folders).unwrap();
        let words: &[&str] = match shell {
            "fish" => &["--no-config", "-c", script],
            "zsh" => &["-f", "-c", script, "zsh"],
            _ => &["--norc", "-c", script, "bash"],
        };
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$@\" 9<app.lock", "sh", shell]).args(words).args(arguments);
        command.current_dir(self.fixture.folder()).env("PATH", path).env("S", &self.scripts);
        let driven = limit::output(&mut command).unwrap();
        if driven.status.code() == Some(127) {
            println!("left out: {shell} is not installed");
            return None;
        }
        assert!(driven.status.success(), "{shell}: {}{}", text(&driven), errors(&driven));
        Some(driven)
    }
}

#[test]
fn completions_are_what_each_shell_can_read() {
    for (shell, check, says) in [
        ("bash", &["bash", "-n"][..], "complete -F _turnlock"),
        ("zsh", &["zsh", "-n"], "#compdef turnlock"),
        ("fish", &["fish", "--no-execute"], "complete -c turnlock"),
    ] {
        let script = script_for(shell);
        assert!(script.contains(says), "{shell}: {script}");
        for word in ["remove-lock", "doctor", "participants"] {
            assert!(script.contains(word), "{shell} is not told of {word}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("turnlock");
        std::fs::write(&file, &script).unwrap();
        match limit::output(Command::new(check[0]).args(&check[1..]).arg(&file)) {
            Ok(read) => assert!(read.status.success(), "{shell}: {}", errors(&read)),
            Err(_) => println!("left out: {shell} is not installed"),
        }
    }
    let unknown = limit::output(Command::new(TURNLOCK).args(["completions", "ksh"])).unwrap();
    assert_eq!(unknown.status.code(), Some(64));
}

/// Words of a line, of which the last one is completed; and what comes, one after the other.
const LINES: [(&[&str], &str); 17] = [
    (&["re"], "report reset reap remove-lock"),
    (&["explain", ""], "bakery ring bias messages"),
    (&["run", "--algorithm", "ba"], "bakery"),
    (&["lock", "--on-death", ""], "inform release"),
    (&["unlock", "--"], "--fd --lock --help"),
    (&["bench", "--"], "--seconds --contender --folder --output --json --help"),
    (&["status", "app.lock", "--lock", ""], r"build two\ words"),
    (&["reset", "app.lock", "-l", "b"], "build"),
    (&["unlock", "--fd", "9", "-l", "t"], r"two\ words"),
    (&["remove-lock", "app.lock", "b"], "build"),
    (&["run", "-w", "5", "app.lock", "unam"], "uname"),
    (&["notify", "app.lock", "b"], "build"),
    (&["barrier", "app.lock", "tw"], r"two\ words"),
    (&["once", "app.lock", "b"], "build"),
    (&["once", "-w", "5", "app.lock", "build", "unam"], "uname"),
    // The command's own, of which this bash knows nothing; not turnlock's.
    (&["flock", "-x", "app.lock", "ls", "--he"], ""),
    (&["run", "app.lock", "ls", "-l", ""], ""),
];

#[test]
fn bash_completes_commands_options_values_names_and_the_command_that_is_run() {
    let line = Line::new();
    let script = r#"
        source "$S/bash"
        COMP_WORDS=(turnlock "$@"); COMP_CWORD=$#
        _turnlock_line turnlock "${COMP_WORDS[$#]}" "${COMP_WORDS[$# - 1]}"
        echo "${COMPREPLY[@]}""#;
    let complete = |words: &[&str]| {
        let completed = line.drive("bash", script, words).expect("bash is here");
        text(&completed).trim_end().to_owned()
    };
    for (words, expected) in LINES {
        // More often than once, where a command lies in several folders.
        let mut completed: Vec<_> = complete(words).split(' ').map(str::to_owned).collect();
        completed.dedup();
        let completed = completed.join(" ");
        assert_eq!(completed, expected, "{words:?}");
    }
    // Every command has its options, and none is shown that only turnlock itself uses.
    let commands = complete(&[""]);
    assert!(commands.split(' ').count() > 15 && !commands.contains("--"), "{commands}");
    for command in commands.split(' ').filter(|name| *name != "help") {
        let options = complete(&[command, "--"]);
        assert!(options.contains("--help") && !options.contains("--take-part"), "{command}: {options}");
    }
}

#[test]
fn fish_completes_likewise() {
    let line = Line::new();
    let script = r#"source $S/fish; for line in $argv; string join ' ' (complete -C $line | string replace -r '\t.*' ''); end; true"#;
    let cases = [
        ("turnlock rea", "reap"),
        ("turnlock explain ", "bakery bias messages ring"),
        ("turnlock status app.lock --lock ", "build two words"),
        ("turnlock unlock --fd 9 -l t", "two words"),
        ("turnlock remove-lock app.lock b", "build"),
        ("turnlock run -w 5 app.lock unam", "uname"),
        ("turnlock flock app.lock unam", "uname"),
        ("turnlock wait app.lock b", "build"),
        ("turnlock once app.lock build unam", "uname"),
    ];
    let lines = cases.map(|(line, _)| line);
    let Some(completed) = line.drive("fish", script, &lines) else { return };
    let expected: String = cases.iter().map(|(_, expected)| format!("{expected}\n")).collect();
    assert_eq!(text(&completed), expected, "{}", errors(&completed));
}

/// Keys are typed into a zsh, and each line is written down as it is then.
#[test]
fn zsh_completes_likewise() {
    let line = Line::new();
    let script = r#"
        zmodload zsh/zpty || exit 127
        zpty Z zsh -f -i
        zpty -w Z 'PS1=; fpath=($S $fpath); autoload -U compinit; compinit -u -D'
        zpty -w Z 'shown() { print -r -- "$BUFFER" >>seen; BUFFER= }; zle -N shown; bindkey "^O" shown'
        for line; do zpty -n -w Z "$line"$'\t\x0f'; done
        zpty -w Z exit
        # To its end: it would wait for its terminal otherwise.
        while zpty -r Z said; do :; done
        cat seen"#;
    let cases = [
        ("turnlock rea", "turnlock reap "),
        ("turnlock explain ri", "turnlock explain ring "),
        ("turnlock status app.lock --lock b", "turnlock status app.lock --lock build "),
        ("turnlock unlock --fd 9 -l t", r"turnlock unlock --fd 9 -l two\ words "),
        ("turnlock remove-lock app.lock b", "turnlock remove-lock app.lock build "),
        ("turnlock run -w 5 app.lock unam", "turnlock run -w 5 app.lock uname "),
        ("turnlock flock app.lock unam", "turnlock flock app.lock uname "),
    ];
    let lines = cases.map(|(line, _)| line);
    let Some(completed) = line.drive("zsh", script, &lines) else { return };
    let expected: String = cases.iter().map(|(_, expected)| format!("{expected}\n")).collect();
    assert_eq!(text(&completed), expected, "{}", errors(&completed));
}
