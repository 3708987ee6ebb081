//! What a program in Rust takes in with turnlock: few packages, no allocator, and no C functions that it would export.

use std::{collections::BTreeSet, path::Path, process::Command};
use support::{Place, built::RustPackage, limit};

support::watched_for_seconds!(support::watchdog::USUAL);

/// Takes a lock in the file that it is told, and one by messages, for which it is not built.
const TAKES_A_LOCK: &str = r#"
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let file = turnlock::LockFile::options().mailboxes(2).open(path).unwrap();
    let mutex = file.mutex("a").unwrap();
    let guard = mutex.lock().unwrap();
    println!("taken");
    guard.unlock().unwrap();
    let by_messages = file.mutex_options().algorithm(turnlock::MutexAlgorithm::LamportQueue).open("b");
    assert!(by_messages.unwrap_err().to_string().contains("its feature `messages`"));
    assert!(matches!(file.mutex_options().must_exist(true).open("b"), Err(turnlock::Error::NotFound { .. })));
}
"#;

fn printed_by(command: &mut Command) -> String {
    let output = limit::output(command).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The names of a program's or library's symbols.
fn symbols(option: &str, path: &Path) -> BTreeSet<String> {
    let printed = printed_by(Command::new("nm").arg(option).arg(path));
    printed.lines().filter_map(|line| line.rsplit(' ').next()).map(str::to_owned).collect()
}

#[test]
fn a_program_compiles_few_packages_and_keeps_the_systems_allocator() {
    let package = RustPackage::new("takes_a_lock", TAKES_A_LOCK, false);
    let tree = package.cargo(&["tree", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"]);
    let name = |line: &str| line.split(' ').next().unwrap().to_owned();
    let packages: BTreeSet<String> = tree.lines().map(name).filter(|name| name != "takes_a_lock").collect();
    assert!(packages.contains("turnlock") && packages.len() <= 8, "{packages:?}");
    assert_eq!(package.build(), "", "what a user who builds it sees");
    let program = package.built().join("takes_a_lock");
    let place = Place::new();
    assert_eq!(printed_by(Command::new(&program).arg(place.lock_file())), "taken\n");
    let of_the_c_library = |name: &String| name.contains("WithReserve") || name.starts_with("turnlock_mutex");
    assert_eq!(symbols("-a", &program).into_iter().filter(of_the_c_library).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn a_program_with_an_allocator_of_its_own_keeps_that() {
    let source = format!(
        r#"
use std::{{alloc::{{GlobalAlloc, Layout, System}}, sync::atomic::{{AtomicUsize, Ordering::Relaxed}}}};

struct Counting;

static TAKEN: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {{
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {{
        TAKEN.fetch_add(1, Relaxed);
        // SAFETY: as the caller says.
        unsafe {{ System.alloc(layout) }}
    }}

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {{
        // SAFETY: likewise; it came from there.
        unsafe {{ System.dealloc(at, layout) }}
    }}
}}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

mod takes_a_lock {{
    {TAKES_A_LOCK}
    pub fn counted() -> usize {{
        let before = super::TAKEN.load(super::Relaxed);
        main();
        super::TAKEN.load(super::Relaxed) - before
    }}
}}

fn main() {{
    assert!(takes_a_lock::counted() > 0);
}}
"#
    );
    let package = RustPackage::new("own_allocator", &source, false);
    package.build();
    let place = Place::new();
    let program = package.built().join("own_allocator");
    assert_eq!(printed_by(Command::new(program).arg(place.lock_file())), "taken\n");
}

#[test]
fn a_shared_library_exports_its_own_functions_only() {
    let source = r#"
// SAFETY: nothing else in the library has this name.
#[unsafe(no_mangle)]
pub extern "C" fn of_its_own() -> i32 {
    turnlock::LockFile::open("app.lock").is_ok().into()
}
"#;
    let package = RustPackage::new("shared_library", source, true);
    package.build();
    let exported = symbols("-D", &package.built().join("libshared_library.so"));
    assert!(exported.contains("of_its_own"), "{exported:?}");
    assert!(!exported.iter().any(|name| name.starts_with("turnlock_")), "{exported:?}");
}
