//! Programs that delete what looks old: rules of systemd-tmpfiles, tmpreaper, tmpwatch, logind.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

/// Where systemd-tmpfiles looks for its rules, and which folder hides which: tmpfiles.d(5).
const FOLDERS: [&str; 4] =
    ["/etc/tmpfiles.d", "/run/tmpfiles.d", "/usr/local/lib/tmpfiles.d", "/usr/lib/tmpfiles.d"];
/// Cleaners of other kinds, by what is installed with them.
const OTHERS: [(&str, &str); 3] = [
    ("/etc/cron.daily/tmpreaper", "tmpreaper"),
    ("/etc/cron.daily/tmpwatch", "tmpwatch"),
    ("/etc/cron.d/tmpreaper", "tmpreaper"),
];

/// A rule of systemd-tmpfiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The file that it stands in.
    pub from: PathBuf,
    /// As it stands there.
    pub line: String,
    kind: char,
    path: String,
    age: Option<String>,
}

/// What a rule does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is deleted when it looks old.
    Ages,
    /// It is deleted whenever the rules are applied, at boot as a rule.
    Removes,
    /// It is left alone.
    Excludes,
}

/// Returns the rules of this machine that say something of `path`.
pub fn rules_about(path: &Path) -> Vec<(Rule, Effect)> {
    let rules = files(&FOLDERS.map(PathBuf::from)).into_iter().flat_map(|file| {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        text.lines().filter_map(|line| Rule::parse(&file, line)).collect::<Vec<_>>()
    });
    rules.filter_map(|rule| rule.effect_on(path).map(|effect| (rule, effect))).collect()
}

/// Returns a cleaner of another kind that is installed here.
pub fn another() -> Option<&'static str> {
    OTHERS.iter().find(|(path, _)| Path::new(path).exists()).map(|(_, name)| *name)
}

/// Returns one of each name: that of the first folder that has it.
fn files(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut named = BTreeMap::new();
    for file in folders.iter().filter_map(|folder| folder.read_dir().ok()).flat_map(|folder| folder.flatten())
    {
        let name = file.file_name();
        if Path::new(&name).extension().is_some_and(|ending| ending == "conf") {
            named.entry(name).or_insert_with(|| file.path());
        }
    }
    named.into_values().collect()
}

impl Rule {
    /// `q /tmp 1777 root root 10d`: type, path, mode, user, group, age.
    fn parse(from: &Path, line: &str) -> Option<Self> {
        let line = line.trim();
        if line.starts_with('#') {
            return None;
        }
        let mut fields = line.split_whitespace();
        let kind = fields.next()?.chars().next()?;
        let path = fields.next()?.trim_matches('"').to_owned();
        let age = fields.nth(3).filter(|age| *age != "-").map(str::to_owned);
        Some(Self { from: from.into(), line: line.into(), kind, path, age })
    }

    fn effect_on(&self, file: &Path) -> Option<Effect> {
        match self.kind {
            // What is below a folder with an age.
            'd' | 'D' | 'e' | 'v' | 'q' | 'Q' if self.age.is_some() => {
                self.is_above(file).then_some(Effect::Ages)
            }
            'D' => self.is_above(file).then_some(Effect::Removes),
            'R' => (self.is_above(file) || self.matches(file)).then_some(Effect::Removes),
            'r' => self.matches(file).then_some(Effect::Removes),
            'x' => (self.is_above(file) || self.matches(file)).then_some(Effect::Excludes),
            'X' => self.matches(file).then_some(Effect::Excludes),
            _ => None,
        }
    }

    fn is_above(&self, file: &Path) -> bool {
        file.ancestors().skip(1).any(|folder| self.matches(folder))
    }

    fn matches(&self, path: &Path) -> bool {
        let (pattern, path) = (Path::new(&self.path), path.components());
        let pattern = pattern.components();
        pattern.clone().count() == path.clone().count()
            && pattern.zip(path).all(|(pattern, name)| {
                let (pattern, name) =
                    (pattern.as_os_str().to_string_lossy(), name.as_os_str().to_string_lossy());
                is_like(&pattern.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
            })
    }
}

/// Returns whether a name is like a shell's pattern of `*`, `?` and letters. (Of `[...]` any letter is taken for one in it.)
fn is_like(pattern: &[char], name: &[char]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        (['*', rest @ ..], name) => (0..=name.len()).any(|skipped| is_like(rest, &name[skipped..])),
        (['?', rest @ ..], [_, name @ ..]) => is_like(rest, name),
        (['[', rest @ ..], [_, name @ ..]) => {
            let end = rest.iter().position(|letter| *letter == ']');
            end.is_some_and(|end| is_like(&rest[end + 1..], name))
        }
        ([letter, rest @ ..], [other, name @ ..]) => letter == other && is_like(rest, name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(line: &str, path: &str) -> Option<Effect> {
        Rule::parse(Path::new("/etc/tmpfiles.d/a.conf"), line)?.effect_on(Path::new(path))
    }

    #[test]
    fn rules_say_what_they_do() {
        for (line, path, expected) in [
            ("q /tmp 1777 root root 10d", "/tmp/app/a.lock", Some(Effect::Ages)),
            ("d /tmp 1777 root root -", "/tmp/a.lock", None),
            ("d /run/app 0755 root root", "/run/app/a.lock", None),
            ("D! /tmp 1777 root root 0", "/tmp/a.lock", Some(Effect::Ages)),
            ("D /tmp 1777 root root", "/tmp/a.lock", Some(Effect::Removes)),
            ("q /tmp 1777 root root 10d", "/tmpfoo/a.lock", None),
            ("q /tmp 1777 root root 10d", "/tmp", None),
            ("x /tmp/app", "/tmp/app/a.lock", Some(Effect::Excludes)),
            ("X /tmp/app", "/tmp/app/a.lock", None),
            ("x /tmp/*.lock", "/tmp/a.lock", Some(Effect::Excludes)),
            ("r! /tmp/.X[0-9]*-lock", "/tmp/.X11-lock", Some(Effect::Removes)),
            ("r! /tmp/.X[0-9]*-lock", "/tmp/a.lock", None),
            ("R /var/tmp/old-*", "/var/tmp/old-things/a.lock", Some(Effect::Removes)),
            ("e \"/dev/shm\" - - - 5d", "/dev/shm/a.lock", Some(Effect::Ages)),
            ("# q /tmp 1777 root root 10d", "/tmp/a.lock", None),
            ("", "/tmp/a.lock", None),
        ] {
            assert_eq!(effect(line, path), expected, "{line} on {path}");
        }
    }

    #[test]
    fn a_file_of_rules_hides_those_of_its_name_in_later_folders() {
        let folder = tempfile::tempdir().unwrap();
        let folders = ["etc", "usr"].map(|name| folder.path().join(name));
        for (folder, names) in folders.iter().zip([&["tmp.conf", "readme"][..], &["tmp.conf", "b.conf"]]) {
            std::fs::create_dir(folder).unwrap();
            names.iter().for_each(|name| std::fs::write(folder.join(name), "").unwrap());
        }
        assert_eq!(files(&folders), [folders[1].join("b.conf"), folders[0].join("tmp.conf")]);
    }
}
