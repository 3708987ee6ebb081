//! `turnlock completions`: what a shell completes a command line by. Clap writes it from the command line's own description;
//! here is added what only the file knows, the names of locks, and where the words of another command begin.

use super::{file, hold::path_of, print};
use clap::CommandFactory;
use clap_complete::Shell;
use std::{
    collections::BTreeSet,
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Print what bash, zsh or fish complete turnlock's command lines by
///
/// install.sh puts it where each of them looks below its prefix. Commands, options and their values are completed, the names
/// of locks from the lock file that the line names, and after `run`, `flock` and `once` the command that is run.
#[derive(clap::Args)]
#[command(after_help = "\
EXIT CODES
  0  printed
  64  the command line is wrong
  71  standard output cannot be written to

EXAMPLES
  turnlock completions bash > ~/.local/share/bash-completion/completions/turnlock
  turnlock completions zsh > ~/.zfunc/_turnlock     with fpath+=~/.zfunc before compinit
  turnlock completions fish > ~/.config/fish/completions/turnlock.fish")]
pub struct Completions {
    /// Which shell
    #[arg(value_enum, required_unless_present = "names")]
    shell: Option<Shell>,
    /// What the scripts ask: the names of the locks in those of these words that are lock files
    #[arg(long, hide = true, num_args = 1.., allow_hyphen_values = true, conflicts_with = "shell")]
    names: Vec<OsString>,
}

impl Completions {
    /// Runs it.
    pub fn run(&self) -> ExitCode {
        let text = match self.shell {
            Some(shell) => script(shell),
            None => names_in(&self.names).into_iter().map(|name| name + "\n").collect(),
        };
        print::and_end(&text, 0)
    }
}

fn script(shell: Shell) -> String {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut super::Cli::command(), "turnlock", &mut text);
    let text = String::from_utf8_lossy(&text);
    match shell {
        Shell::Bash => bash(&text),
        Shell::Zsh => zsh(&text),
        Shell::Fish => fish(&text),
        _ => text.into_owned(),
    }
}

/// Returns the options that no help shows, since turnlock calls itself with them. Clap writes them all the same.
fn hidden() -> BTreeSet<String> {
    let command = super::Cli::command();
    let options = command.get_subcommands().flat_map(clap::Command::get_opts);
    options
        .filter(|option| option.is_hide_set())
        .filter_map(|option| option.get_long().map(Into::into))
        .collect()
}

/// Returns the names of the locks in those words that name lock files, or are descriptors after `--fd`. Whatever else a word
/// may be, it is only looked at.
fn names_in(words: &[OsString]) -> BTreeSet<String> {
    let descriptor = |at: usize| {
        let is_one = at.checked_sub(1).is_some_and(|before| words[before] == "--fd");
        words[at].to_str().filter(|_| is_one)?.parse().ok().map(path_of)
    };
    let paths = (0..words.len()).map(|at| descriptor(at).unwrap_or_else(|| at_home(Path::new(&words[at]))));
    let files = paths.filter(|path| path.is_file());
    let locks = files.filter_map(|path| file::snapshot(&path).ok()).flat_map(|status| status.locks);
    // A name with a line break in it cannot be a line.
    locks.map(|lock| lock.name).filter(|name| !name.contains('\n')).collect()
}

/// A shell that completes has not expanded the word yet.
fn at_home(path: &Path) -> PathBuf {
    let home = std::env::var_os("HOME").filter(|_| path.starts_with("~"));
    home.map_or_else(|| path.into(), |home| Path::new(&home).join(path.strip_prefix("~").unwrap_or(path)))
}

/// Returns what comes before the words of the command: these options' values are words too.
fn options_with_values() -> String {
    let (command, mut names) = (super::Cli::command(), BTreeSet::new());
    for name in ["run", "flock", "once"] {
        let options = command.find_subcommand(name).into_iter().flat_map(clap::Command::get_opts);
        for option in options.filter(|option| option.get_action().takes_values()) {
            let longs = option.get_long_and_visible_aliases().unwrap_or_default();
            names.extend(longs.into_iter().map(|long| format!("--{long}")));
            let shorts = option.get_short_and_visible_aliases().unwrap_or_default();
            names.extend(shorts.into_iter().map(|short| format!("-{short}")));
        }
    }
    names.into_iter().collect::<Vec<_>>().join(" | ")
}

fn bash(text: &str) -> String {
    let text = text.replace("complete -F _turnlock ", "complete -F _turnlock_line ");
    let text = hidden().iter().fold(text, |text, name| text.replace(&format!(" --{name} "), " "));
    let line = r#"
_turnlock_line() {
    local name at=$COMP_CWORD words=0 before=1
    # So many words come before the command: the file, and the name of a once.
    [[ ${COMP_WORDS[1]} != once ]] || before=2
    if [[ ${COMP_WORDS[1]} == run || ${COMP_WORDS[1]} == flock || ${COMP_WORDS[1]} == once ]]; then
        for ((at = 2; at < COMP_CWORD; at++)); do
            case ${COMP_WORDS[at]} in
                VALUED) ((++at)) ;;
                -*) ;;
                *) ((++words <= before)) || break ;;
            esac
        done
        # What follows a command's name is the command's own.
        if ((at < COMP_CWORD)); then
            COMPREPLY=()
            if declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset "$at"
            elif declare -F _command_offset >/dev/null; then
                _command_offset "$at"
            fi
            return
        elif ((words == before && at == COMP_CWORD)) && [[ $2 != -* ]]; then
            COMPREPLY=($(compgen -c -- "$2"))
            return
        fi
    fi
    case ${COMP_WORDS[1]}:$COMP_CWORD:$3 in
        *:-l | *:--lock | remove-lock:3:* | wait:3:* | notify:3:* | barrier:3:* | once:3:*)
            COMPREPLY=()
            while IFS= read -r name; do
                [[ $name != "$2"* ]] || COMPREPLY+=("$(printf %q "$name")")
            done < <(turnlock completions --names "${COMP_WORDS[@]:1}" 2>/dev/null)
            return
            ;;
    esac
    _turnlock "$@"
    # Nothing is typed yet: a word is meant, which may be a file's name, and not an option.
    [ -n "$2" ] || COMPREPLY=($(printf '%s\n' "${COMPREPLY[@]}" | grep -v '^-'))
}
"#;
    text + &line.replace("VALUED", &options_with_values())
}

fn zsh(text: &str) -> String {
    const COMMAND: &str = r"'*:::command: _normal' \";
    let hidden = hidden();
    let is_shown = |line: &&str| !hidden.iter().any(|name| line.contains(&format!("--{name}=[")));
    let lines = text.lines().filter(is_shown).map(|line| match line {
        lock if lock.starts_with("'-l+[") || lock.starts_with("'--lock=[") => {
            lock.replace(":_default'", ":_turnlock_names'")
        }
        // The words of a command are completed as if they were the line; of `flock` the first one is the file.
        words if words.starts_with("'*::words -- ") => format!("':file:_files' \\\n{COMMAND}"),
        words if words.starts_with("'*::command -- ") => COMMAND.into(),
        name if name.starts_with("':name -- ") => name.replace(":_default'", ":_turnlock_names'"),
        other => other.into(),
    });
    let names = r#"_turnlock_names() {
    local -a names
    names=("${(@f)$(turnlock completions --names "${(@Q)words}" 2>/dev/null)}")
    compadd -a names
}

"#;
    let text: String = lines
        .map(|line| {
            line + "
"
        })
        .collect();
    text.replacen("_turnlock() {", &(names.to_owned() + "_turnlock() {"), 1)
}

fn fish(text: &str) -> String {
    const NAMES: &str = r#" -f -a "(turnlock completions --names (commandline -o) 2>/dev/null)""#;
    let hidden = hidden();
    let is_shown = |line: &&str| !hidden.iter().any(|name| line.contains(&format!(" -l {name} ")));
    let with_names = |line: &str| {
        let more = if line.contains(" -l lock ") { NAMES } else { "" };
        format!("{line}{more}\n")
    };
    let mut text: String = text.lines().filter(is_shown).map(with_names).collect();
    let of =
        |command: &str| format!(r#"complete -c turnlock -n "__fish_turnlock_using_subcommand {command}"#);
    // What clap leaves out: words that are no options.
    for command in super::Cli::command().get_subcommands() {
        let words = command.get_positionals().flat_map(clap::Arg::get_possible_values);
        let words: Vec<_> = words.map(|word| word.get_name().to_owned()).collect();
        if !words.is_empty() {
            text += &format!("{}\" -f -a \"{}\"\n", of(command.get_name()), words.join(" "));
        }
    }
    for command in ["remove-lock", "wait", "notify", "barrier", "once"] {
        text += &format!("{}; and test (count (commandline -opc)) -eq 3\"{NAMES}\n", of(command));
    }
    let command = r#"function __turnlock_command
    set -l words (commandline -opc)
    set -l at 3
    set -l files 0
    # So many words come before the command: the file, and the name of a once.
    set -l before 1
    test "$words[2]" = once; and set before 2
    while test $at -le (count $words)
        switch $words[$at]
            case VALUED
                set at (math $at + 1)
            case '-*'
            case '*'
                set files (math $files + 1)
                test $files -le $before; or break
        end
        set at (math $at + 1)
    end
    test $files -ge $before; and test $at -le (math (count $words) + 1); or return
    set -l line (string escape -- $words[$at..-1]) (commandline -ct)
    complete -C "$line"
end
"#;
    text += &command.replace("VALUED", &options_with_values().replace(" | ", " "));
    text + &of("run flock once") + "\" -a \"(__turnlock_command)\"\n"
}
