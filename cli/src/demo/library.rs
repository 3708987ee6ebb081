//! Where libturnlock.so is: the library that the C, C++ and Python programs load.

use std::{
    env::consts::ARCH,
    path::{Path, PathBuf},
    time::SystemTime,
};

const NAME: &str = "libturnlock.so";
/// Its name where only what programs run with is installed.
const SONAME: &str = "libturnlock.so.4";

/// Returns the library, as an absolute path: the one given (a file, or the folder it is in), or the one that came with this
/// command. Nothing: the command came alone, as `cargo install` leaves it.
pub fn find(given: Option<&Path>) -> Result<Option<PathBuf>, String> {
    let found = match given {
        Some(path) if path.is_dir() => {
            in_folder(path).ok_or_else(|| format!("{}: there is no {NAME} in this folder", path.display()))?
        }
        Some(path) if path.is_file() => path.into(),
        Some(path) => return Err(format!("{}: no such file", path.display())),
        None => match beside_this_command()? {
            Some(found) => found,
            None => return Ok(None),
        },
    };
    found.canonicalize().map(Some).map_err(|error| format!("{}: {error}", found.display()))
}

/// Why a program is left out that loads the library, where there is none.
pub fn missing() -> String {
    format!(
        "it loads {NAME}, which is not beside this command: say where it is with --library PATH. In turnlock's sources, \
         install.sh installs it, and cargo build --release makes it"
    )
}

fn beside_this_command() -> Result<Option<PathBuf>, String> {
    let command =
        std::env::current_exe().map_err(|error| format!("cannot tell where this command is: {error}"))?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let places = [
        // As cargo builds it: `cargo build` puts it here, `cargo test` only there, and the newer one counts.
        vec![folder.into(), folder.join("deps")],
        // As it is installed.
        vec![folder.join("../lib"), folder.join("../lib64"), folder.join(format!("../lib/{ARCH}-linux-gnu"))],
    ];
    Ok(places.iter().find_map(|folders| newest(folders)))
}

fn newest(folders: &[PathBuf]) -> Option<PathBuf> {
    let age =
        |path: &PathBuf| path.metadata().and_then(|about| about.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    // The first of those that are equally new.
    folders.iter().rev().filter_map(|folder| in_folder(folder)).max_by_key(age)
}

fn in_folder(folder: &Path) -> Option<PathBuf> {
    [NAME, SONAME].map(|name| folder.join(name)).into_iter().find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_soname_is_of_this_abi() {
        assert_eq!(super::SONAME, format!("libturnlock.so.{}", turnlock::capi::TURNLOCK_ABI_VERSION));
    }
}
