//! Where libturnlock.so is: the library that the C, C++ and Python programs load.

use std::{
    env::consts::ARCH,
    path::{Path, PathBuf},
    time::SystemTime,
};

const NAMES: [&str; 2] = ["libturnlock.so", "libturnlock.so.3"];

/// The library, as an absolute path: the one given (a file, or the folder it is in), or the one that came with this
/// command.
pub fn find(given: Option<&Path>) -> Result<PathBuf, String> {
    let found = match given {
        Some(path) if path.is_dir() => in_folder(path)
            .ok_or_else(|| format!("{}: there is no {} in this folder", path.display(), NAMES[0]))?,
        Some(path) if path.is_file() => path.into(),
        Some(path) => return Err(format!("{}: no such file", path.display())),
        None => beside_this_command()?,
    };
    found.canonicalize().map_err(|error| format!("{}: {error}", found.display()))
}

fn beside_this_command() -> Result<PathBuf, String> {
    let command =
        std::env::current_exe().map_err(|error| format!("cannot tell where this command is: {error}"))?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let places = [
        // As cargo builds it: `cargo build` puts it here, `cargo test` only there, and the newer one counts.
        vec![folder.into(), folder.join("deps")],
        // As it is installed.
        vec![folder.join("../lib"), folder.join("../lib64"), folder.join(format!("../lib/{ARCH}-linux-gnu"))],
    ];
    places.iter().find_map(|folders| newest(folders)).ok_or_else(|| {
        let looked: Vec<String> =
            places.iter().flatten().map(|place| format!("\n  {}", place.display())).collect();
        format!(
            "cannot find {}, which the C, C++ and Python programs need. Looked in{}\nSay where it is with --library \
             PATH. In the sources, `cargo build --release` makes it, and the command beside it finds it.",
            NAMES[0],
            looked.concat()
        )
    })
}

fn newest(folders: &[PathBuf]) -> Option<PathBuf> {
    let age =
        |path: &PathBuf| path.metadata().and_then(|about| about.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    // The first of those that are equally new.
    folders.iter().rev().filter_map(|folder| in_folder(folder)).max_by_key(age)
}

fn in_folder(folder: &Path) -> Option<PathBuf> {
    NAMES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}
