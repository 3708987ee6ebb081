//! Every mutant is a switch in the code or a patch here, not both; the patches fit the code as it is; and nothing that is
//! shipped has more than switches of a fence or an order.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

support::watched_for_seconds!(support::watchdog::USUAL);

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The names of all mutants, as their table has them.
fn mutants() -> BTreeSet<String> {
    let table = fs::read_to_string(root().join("core/src/mutants.rs")).unwrap();
    let list = table.split_once("\nmutants! {\n").unwrap().1.split_once("\n}").unwrap().0;
    let names = list.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    names.map(|line| line.split([' ', ',']).next().unwrap().to_owned()).collect()
}

/// Where mutants may be.
const SOURCES: [&str; 3] = ["core/src", "message/src", "src"];

fn files_in(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files_in(&path, files) } else { files.push(path) }
    }
}

/// The mutants that stand in the sources below `root`, and where something else than a switch of a fence or an order does.
fn switches_in(root: &Path) -> (BTreeSet<String>, Vec<String>) {
    let (mut files, mut found, mut others) = (Vec::new(), BTreeSet::new(), Vec::new());
    SOURCES.iter().for_each(|folder| files_in(&root.join(folder), &mut files));
    let are_switches =
        |path: &Path| path.ends_with("core/src/mutants.rs") || path.ends_with("core/src/mutants/switch.rs");
    for path in files.iter().filter(|path| !are_switches(path)) {
        let text = fs::read_to_string(path).unwrap();
        let name =
            |rest: &str| rest.chars().take_while(|letter| letter.is_alphanumeric()).collect::<String>();
        found.extend(text.split("Mutant::").skip(1).map(name));
        if text.contains("is_on(") {
            others.push(path.display().to_string());
        }
    }
    (found, others)
}

fn patches() -> Vec<PathBuf> {
    let mut files = Vec::new();
    files_in(&root().join("tests/mutants"), &mut files);
    files.retain(|path| path.extension().is_some_and(|ending| ending == "patch"));
    files.sort();
    files
}

#[test]
fn each_mutant_is_a_switch_or_a_patch() {
    let (switches, others) = switches_in(&root());
    assert_eq!(others, [] as [&str; 0], "asks whether a mutant is on: make a patch of it");
    let patches: BTreeSet<String> =
        patches().iter().map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(switches.intersection(&patches).collect::<Vec<_>>(), [] as [&String; 0], "both");
    let all: BTreeSet<String> = switches.union(&patches).cloned().collect();
    assert_eq!(all, mutants());
}

#[test]
fn the_patches_fit_the_code_together() {
    let folder = tempfile::tempdir().unwrap();
    let copied = Command::new("cp")
        .args(["-r", "--parents"])
        .args(SOURCES)
        .arg(folder.path())
        .current_dir(root())
        .status();
    assert!(copied.unwrap().success());
    let applied = Command::new("git").arg("apply").args(patches()).current_dir(&folder).output().unwrap();
    assert!(
        applied.status.success(),
        "{}make the patch anew: CONTRIBUTING.md says how",
        String::from_utf8_lossy(&applied.stderr)
    );
    let (switches, _) = switches_in(folder.path());
    assert_eq!(switches, mutants());
}
