//! The crate stays as `docs/architecture.md` draws it: each layer imports itself and the layers above it in the list
//! below, no two files import each other in a circle, the atomics have one door, the kernel is asked in one layer. Tests
//! and benches are plain modules, and no suite can hang for ever.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

support::watched_for_seconds!(support::watchdog::USUAL);

/// The layers of each crate that has several, from the top down. `lib.rs` shows what everyone sees.
const LAYERS: [(&str, &[&str]); 2] = [
    (
        "core/src",
        &[
            "sync",
            "trace",
            "mutants",
            "event",
            "error",
            "algorithm",
            "acquire",
            "wait",
            "coordination",
            "deadlock",
            "spsc",
            "requests",
        ],
    ),
    (
        "src",
        &[
            "layout",
            "transport",
            "os",
            "recording",
            "registers",
            "slots",
            "recovery",
            "deadlock",
            "attach",
            "kind",
            "inspect",
            "capi",
        ],
    ),
];

/// Folders of suites, and of benches.
const SUITES: [&str; 5] = ["tests", "cli/tests", "core/tests", "link/agent/tests", "link/command/tests"];
const BENCHES: [&str; 2] = ["benches", "link/command/benches"];

/// A source file.
struct Source {
    /// Its module path, `["os", "file"]` of `src/os/file.rs` and `["os"]` of `src/os/mod.rs`.
    module: Vec<String>,
    path: PathBuf,
    /// Its text without comments, and without what comes after the first test module.
    code: String,
    lines: usize,
}

impl Source {
    fn layer(&self) -> &str {
        self.module.first().map_or("lib", String::as_str)
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Of all crates that are shipped.
fn sources() -> Vec<Source> {
    ["core/src", "message/src", "link/agent/src", "link/command/src", "src", "cli/src", "capi/src"]
        .iter()
        .flat_map(|folder| sources_in(&root().join(folder)))
        .collect()
}

fn sources_in(root: &Path) -> Vec<Source> {
    let (mut files, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let inside = path.strip_prefix(root).unwrap().with_extension("");
                let mut module: Vec<String> =
                    inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
                if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
                    module.pop();
                }
                let lines = text.lines().count();
                files.push(Source { module, path: inside, code: code(&text), lines });
            }
        }
    }
    files
}

/// No comments, and nothing after the first test module.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap();
    let text = text.split("#[cfg(all(test").next().unwrap();
    text.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}

/// Whether the code says `word`, and not only something that ends in it.
fn says(code: &str, word: &str) -> bool {
    let letter = |before: &str| before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
    code.match_indices(word).any(|(at, _)| !letter(&code[..at]))
}

/// Every path that a `use` statement names, braces resolved, and whether it is a `pub use`.
fn imports(code: &str) -> Vec<(bool, Vec<String>)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let begin = code[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let before = code[begin..at].trim();
        if !(before.is_empty() || before.starts_with("pub")) {
            continue;
        }
        let statement: String =
            code[at + 4..].split(';').next().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        let mut paths = Vec::new();
        expand(&statement, &mut Vec::new(), &mut paths);
        found.extend(paths.into_iter().map(|path| (!before.is_empty(), path)));
    }
    found
}

fn expand(tree: &str, prefix: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    if tree.is_empty() {
        return;
    }
    let (mut depth, mut begin, mut parts) = (0, 0, Vec::new());
    for (at, letter) in tree.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&tree[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tree[begin..]);
    if parts.len() > 1 {
        parts.into_iter().for_each(|part| expand(part, prefix, paths));
        return;
    }
    if let Some(inner) = tree.strip_prefix('{').and_then(|tree| tree.strip_suffix('}')) {
        return expand(inner, prefix, paths);
    }
    match tree.split_once("::") {
        Some((first, rest)) if !first.contains('{') => {
            prefix.push(first.trim().to_owned());
            expand(rest, prefix, paths);
            prefix.pop();
        }
        _ => {
            let last = tree.split(" as ").next().unwrap().trim().to_owned();
            paths.push(prefix.iter().cloned().chain([last]).collect());
        }
    }
}

/// Which files import which, by module path: re-exports are followed to where an item stands.
fn imported_by(files: &[Source]) -> BTreeMap<Vec<String>, BTreeSet<Vec<String>>> {
    let modules: BTreeSet<&Vec<String>> = files.iter().map(|file| &file.module).collect();
    let absolute = |own: &[String], path: &[String]| -> Option<Vec<String>> {
        let mut base = own.to_vec();
        let mut rest = path;
        match rest.first().map(String::as_str) {
            Some("crate") => {
                base.clear();
                rest = &rest[1..];
            }
            Some("self") => rest = &rest[1..],
            Some("super") => {
                while rest.first().is_some_and(|part| part == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            Some(first) if modules.contains(&[own, &[first.to_owned()]].concat()) => {}
            _ => return None,
        }
        base.extend(rest.iter().cloned());
        Some(base)
    };
    let mut reexported = BTreeMap::new();
    for file in files {
        for (is_public, path) in imports(&file.code) {
            if let (true, Some(target)) = (is_public, absolute(&file.module, &path)) {
                let name = path.last().unwrap().clone();
                reexported.insert([file.module.clone(), vec![name]].concat(), target);
            }
        }
    }
    let mut graph = BTreeMap::new();
    for file in files {
        let edges: &mut BTreeSet<Vec<String>> = graph.entry(file.module.clone()).or_default();
        for (is_public, path) in imports(&file.code) {
            let Some(mut target) = absolute(&file.module, &path) else { continue };
            if is_public && target.starts_with(&file.module) {
                continue;
            }
            while let Some(further) = reexported.get(&target) {
                target = further.clone();
            }
            while !modules.contains(&target) && !target.is_empty() {
                target.pop();
            }
            if target != file.module && !target.is_empty() {
                edges.insert(target);
            }
        }
    }
    graph
}

/// A circle of imports, if there is one.
fn circle(graph: &BTreeMap<Vec<String>, BTreeSet<Vec<String>>>) -> Option<Vec<String>> {
    fn visit<'a>(
        at: &'a Vec<String>,
        graph: &'a BTreeMap<Vec<String>, BTreeSet<Vec<String>>>,
        path: &mut Vec<&'a Vec<String>>,
        done: &mut BTreeSet<&'a Vec<String>>,
    ) -> Option<Vec<String>> {
        if let Some(from) = path.iter().position(|before| *before == at) {
            return Some(path[from..].iter().map(|module| module.join("::")).collect());
        }
        if !done.insert(at) {
            return None;
        }
        path.push(at);
        let found = graph.get(at).into_iter().flatten().find_map(|next| visit(next, graph, path, done));
        path.pop();
        found
    }
    let mut done = BTreeSet::new();
    graph.keys().find_map(|module| visit(module, graph, &mut Vec::new(), &mut done))
}

#[test]
fn layers_import_upwards_only() {
    for (folder, layers) in LAYERS {
        let place = |layer: &str| layers.iter().position(|known| *known == layer);
        let files = sources_in(&root().join(folder));
        assert!(files.len() > 30, "the search found only {} files in {folder}", files.len());
        for file in &files {
            if file.layer() == "lib" {
                continue;
            }
            let path = file.path.display();
            let own = place(file.layer())
                .unwrap_or_else(|| panic!("{folder}/{path}: a layer that tests/layers does not know"));
            for used in file.code.split("crate::").skip(1) {
                let used: String =
                    used.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
                // What is not a layer is one of the crate's own re-exports.
                if let Some(theirs) = place(&used) {
                    assert!(theirs <= own, "{folder}/{path}: {} must not know {used}", file.layer());
                }
            }
        }
    }
}

/// The folders of every crate here: the library, each suite and each bench, and what they share.
fn crates() -> Vec<PathBuf> {
    let mut crates: Vec<_> = [
        "core/src",
        "message/src",
        "link/agent/src",
        "link/command/src",
        "src",
        "cli/src",
        "capi/src",
        "bindings/python/src",
        "tests/support/src",
        "benches/harness",
    ]
    .iter()
    .map(|folder| root().join(folder))
    .collect();
    for folder in SUITES.into_iter().chain(BENCHES) {
        let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
        // In these a site and the world that it stands in are one thing in two files.
        let models = |path: &PathBuf| ["ring_model", "shuttle"].iter().any(|name| path.ends_with(name));
        crates.extend(entries.filter(|path| path.join("main.rs").exists() && !models(path)));
    }
    crates
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let crates = crates();
    assert!(crates.len() > 20, "the search found only {} crates", crates.len());
    let circles =
        crates.iter().filter_map(|folder| Some((folder, circle(&imported_by(&sources_in(folder)))?)));
    assert_eq!(circles.collect::<Vec<_>>(), []);
}

#[test]
fn a_circle_would_be_found() {
    let file = |module: &[&str], code: &str| Source {
        module: module.iter().map(|part| (*part).to_owned()).collect(),
        path: PathBuf::new(),
        code: code.to_owned(),
        lines: 1,
    };
    let files = [
        file(&["kind"], "mod a;\npub use a::A;\nmod b;\npub use b::{B, C};"),
        file(&["kind", "a"], "use super::{\n    C,\n};"),
        file(&["kind", "b"], "use crate::kind::a::{self, A};"),
    ];
    assert_eq!(circle(&imported_by(&files)), Some(vec!["kind::a".into(), "kind::b".into()]));
    assert_eq!(circle(&imported_by(&files[..2])), None);
}

#[test]
fn the_atomics_have_one_door() {
    for file in sources() {
        for forbidden in ["sync::atomic", "loom::", "shuttle::"] {
            // The mutants' own switch must not be a step of a model.
            let allowed =
                file.layer() == "sync" || (file.layer() == "mutants" && forbidden == "sync::atomic");
            assert!(allowed || !says(&file.code, forbidden), "{} names {forbidden}", file.path.display());
        }
    }
}

#[test]
fn the_kernel_is_asked_in_one_layer() {
    for file in sources() {
        for forbidden in ["libc::", "nix::", "memmap2::"] {
            // The command's debugger and its doctor ask for what no library should: to step another process, and whether a
            // file could be created.
            let of_command =
                ["explain/debugger", "doctor/place"].iter().any(|path| file.path.ends_with(path));
            let allowed = file.layer() == "os" || (forbidden == "nix::" && of_command);
            assert!(allowed || !says(&file.code, forbidden), "{} names {forbidden}", file.path.display());
        }
    }
}

/// From the heading on, paths are whole; the lists of layers before it name files of the layer.
#[test]
fn files_that_the_map_names_exist() {
    let map = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let (_, walk) = map.split_once("\n## One lock, one unlock\n").expect("the heading is there");
    let named: BTreeSet<&str> = walk
        .split(|c: char| !c.is_ascii_alphanumeric() && !"_/.-".contains(c))
        .filter(|word| word.ends_with(".rs") || word.ends_with(".py"))
        .collect();
    assert!(named.len() > 20, "{named:?}");
    let missing: Vec<_> = named.iter().filter(|path| !root().join(path).is_file()).collect();
    assert!(missing.is_empty(), "docs/architecture.md names files that are not there: {missing:?}");
}

#[test]
fn every_file_can_be_read_in_one_go() {
    for file in sources() {
        assert!(file.lines <= 450, "{} has {} lines: is it one job?", file.path.display(), file.lines);
    }
}

#[test]
fn tests_and_benches_are_plain_modules() {
    for folder in SUITES.into_iter().chain(BENCHES) {
        for file in sources_in(&root().join(folder)) {
            let web = file.code.lines().any(|line| line.trim_start().starts_with("#[path"));
            let path = file.path.display();
            assert!(!web, "{folder}/{path}: what two share is in tests/support or benches/harness");
        }
    }
}

#[test]
fn no_suite_hangs_for_ever() {
    for folder in SUITES {
        let suites = fs::read_dir(root().join(folder)).unwrap();
        for suite in suites.map(|entry| entry.unwrap().path().join("main.rs")) {
            if let Ok(text) = fs::read_to_string(&suite) {
                assert!(text.contains("watched_for_seconds!("), "{} has no watchdog", suite.display());
            }
        }
    }
}
