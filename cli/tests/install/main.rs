//! `install.sh`, into a scratch prefix: what it writes down is right from everywhere, and what it says to do works.

mod cargo_c;
mod debian;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use support::{built, limit};

support::watched_for_seconds!(support::watchdog::USUAL);

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../install.sh");

/// A folder with what cargo built for these tests, as `TURNLOCK_BUILT` wants it.
fn built_folder(below: &Path) -> PathBuf {
    let folder = below.join("built");
    fs::create_dir(&folder).unwrap();
    let (commands, libraries) = built::folders();
    for file in [commands.join("turnlock"), libraries.join("libturnlock.so"), libraries.join("libturnlock.a")]
    {
        fs::copy(&file, folder.join(file.file_name().unwrap())).unwrap();
    }
    folder
}

fn install(from: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    Command::new(SCRIPT)
        .args(arguments)
        .current_dir(from)
        .env_remove("DESTDIR")
        .env("TURNLOCK_BUILT", "built")
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The README's C program.
fn c_program() -> String {
    let readme = include_str!("../../../README.md");
    readme.split("```c\n").nth(1).unwrap().split("```").next().unwrap().into()
}

#[test]
fn a_relative_prefix_is_written_down_absolute_and_what_it_says_works() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    built_folder(&here);
    let output = install(&here, &["./built/../out/turnlock/"], &[]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}{}", text(&output.stderr));
    let prefix = here.join("out/turnlock");
    let prefix = prefix.to_str().unwrap();
    assert!(said.contains(&format!(" is in {prefix}\n")), "{said}");
    let pc = fs::read_to_string(here.join("out/turnlock/lib/pkgconfig/turnlock.pc")).unwrap();
    assert!(pc.starts_with(&format!("prefix={prefix}\n")), "{pc}");
    let installed = Command::new(here.join("out/turnlock/bin/turnlock")).arg("--version").output().unwrap();
    assert_eq!(text(&installed.stdout), format!("turnlock {}\n", env!("CARGO_PKG_VERSION")));

    // Every line that it says, as it says it, elsewhere.
    let work = here.join("elsewhere");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("program.c"), c_program()).unwrap();
    let lines: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let (programs, others): (Vec<&str>, Vec<&str>) =
        lines.iter().partition(|line| line.ends_with("./program"));
    assert_eq!((programs.len(), others.len()), (2, 3), "{said}");
    let script = format!("{}\ncommand -v turnlock", lines.join("\n"));
    let ran = Command::new("sh")
        .args(["-ec", &script])
        .current_dir(&work)
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("PKG_CONFIG_PATH")
        .output()
        .unwrap();
    let printed = text(&ran.stdout);
    assert!(ran.status.success(), "{script}\n{printed}{}", text(&ran.stderr));
    assert_eq!(printed.matches("alone, with fencing token ").count(), 2, "{printed}");
    assert!(printed.ends_with(&format!("{prefix}/bin/turnlock\n")), "{printed}");
}

/// What finds it where it is installed.
const FIND_PACKAGE: &str = "\
find_package(turnlock 0.1 REQUIRED)
find_package(turnlock 0.1 REQUIRED) # twice is once
find_package(turnlock 99 QUIET)
if(turnlock_FOUND)
  message(FATAL_ERROR \"version 99 was found\")
endif()
";

/// What takes it from its sources.
const FETCH_CONTENT: &str = "\
include(FetchContent)
FetchContent_Declare(turnlock SOURCE_DIR \"${TURNLOCK_SOURCES}\")
FetchContent_MakeAvailable(turnlock)
";

/// A CMake project with the README's program in C, linked both ways, and that in C++; behind what has the targets.
const CMAKE_PROJECT: &str = "\
foreach(way turnlock static)
  add_executable(program-${way} program.c)
  target_link_libraries(program-${way} PRIVATE turnlock::${way})
endforeach()
add_executable(program-cpp program.cpp)
target_compile_features(program-cpp PRIVATE cxx_std_17)
target_link_libraries(program-cpp PRIVATE turnlock::turnlock)
";

#[test]
fn cmake_finds_it_and_so_does_a_cpp_program() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    built_folder(&here);
    let output = install(&here, &["moved-from"], &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // What CMake reads says no path of its own.
    fs::rename(here.join("moved-from"), here.join("prefix")).unwrap();
    cmake_builds(&here, FIND_PACKAGE, "-DCMAKE_PREFIX_PATH=$PWD/prefix");
}

#[test]
fn cmake_takes_it_from_its_sources() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    built_folder(&here);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let options = format!("-DTURNLOCK_SOURCES={} -DTURNLOCK_BUILT=$PWD/built", sources.display());
    cmake_builds(&here, FETCH_CONTENT, &options);
    // cargo builds it where nothing was built: that takes a minute.
    if std::env::var_os("TURNLOCK_CARGO_C").is_some() {
        fs::remove_dir_all(here.join("build")).unwrap();
        cmake_builds(&here, FETCH_CONTENT, &format!("-DTURNLOCK_SOURCES={}", sources.display()));
    }
}

/// Builds the project below `here`, and runs its programs.
fn cmake_builds(here: &Path, begin: &str, options: &str) {
    let project =
        ["cmake_minimum_required(VERSION 3.16)\nproject(program LANGUAGES C CXX)\n", begin, CMAKE_PROJECT];
    fs::write(here.join("CMakeLists.txt"), project.concat()).unwrap();
    fs::write(here.join("program.c"), c_program()).unwrap();
    let readme = include_str!("../../../bindings/cpp/README.md");
    let program = readme.split("```cpp\n").nth(1).unwrap().split("```").next().unwrap();
    fs::write(here.join("program.cpp"), program).unwrap();
    let script = format!(
        "cmake -S . -B build {options} -DCMAKE_BUILD_TYPE=Release
        cmake --build build
        for way in turnlock static cpp; do build/program-$way; done"
    );
    let ran = limit::output(Command::new("sh").args(["-ec", &script]).current_dir(here)).unwrap();
    let printed = text(&ran.stdout);
    assert!(ran.status.success(), "is cmake installed? {printed}{}", text(&ran.stderr));
    assert_eq!(printed.matches("alone, with fencing token ").count(), 3, "{printed}");
}

#[test]
fn symbols_are_installed_on_request() {
    let folder = tempfile::tempdir().unwrap();
    built_folder(folder.path());
    let size = |name: &str| fs::metadata(folder.path().join(name)).unwrap().len();
    for (prefix, symbols) in [("with", "1"), ("without", "")] {
        let output = install(folder.path(), &[prefix], &[("TURNLOCK_SYMBOLS", symbols)]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    for (built, installed) in [
        ("turnlock", "bin/turnlock"),
        ("libturnlock.so", "lib/libturnlock.so"),
        ("libturnlock.a", "lib/libturnlock.a"),
    ] {
        assert_eq!(size(&format!("with/{installed}")), size(&format!("built/{built}")), "{installed}");
        let without = size(&format!("without/{installed}"));
        assert!(without < size(&format!("with/{installed}")), "{installed} has {without} bytes");
    }
}

#[test]
fn every_function_has_a_manual_page() {
    let folder = tempfile::tempdir().unwrap();
    built_folder(folder.path());
    let output = install(folder.path(), &["prefix"], &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let manual = folder.path().join("prefix/share/man");
    let page =
        |name: &str| fs::read_to_string(manual.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    for command in ["run", "status", "remove-lock"] {
        let name = format!("turnlock-{command}(1)").replace('-', "\\-");
        assert!(page("man1/turnlock.1").contains(&name), "{command}");
        let page = page(&format!("man1/turnlock-{command}.1"));
        let synopsis = format!(".SH SYNOPSIS\n.nf\nturnlock {command} ").replace('-', "\\-");
        assert!(page.contains(&synopsis) && page.contains(".SH EXIT CODES\n"), "{page}");
    }
    let header = fs::read_to_string(folder.path().join("prefix/include/turnlock.h")).unwrap();
    let functions = header.lines().filter_map(|line| {
        let name = line.split_once('(')?.0.rsplit([' ', '*']).next()?;
        (name.starts_with("turnlock_") && !line.starts_with([' ', '/'])).then_some(name)
    });
    let mut seen = 0;
    for function in functions {
        assert!(page(&format!("man3/{function}.3")).contains(&format!(".SS {function}\n")), "{function}");
        seen += 1;
    }
    assert!(seen > 20, "the search found only {seen} functions");
}

#[test]
fn shells_find_what_they_complete_by_and_the_demo_finds_the_library() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    built_folder(&here);
    let output = install(&here, &["moved-from"], &[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    // Away from everything that cargo built: what is installed stands alone.
    fs::rename(here.join("moved-from"), here.join("prefix")).unwrap();
    fs::remove_dir_all(here.join("built")).unwrap();
    let share = here.join("prefix/share");
    for (file, says) in [
        ("bash-completion/completions/turnlock", "complete -F _turnlock"),
        ("zsh/site-functions/_turnlock", "#compdef turnlock"),
        ("fish/vendor_completions.d/turnlock.fish", "complete -c turnlock"),
    ] {
        assert!(fs::read_to_string(share.join(file)).unwrap().contains(says), "{file}");
    }
    let mut demo = Command::new(here.join("prefix/bin/turnlock"));
    demo.args(["demo", "--json", "--turns", "400"]).current_dir("/").env_remove("LD_LIBRARY_PATH");
    let demo = limit::output(&mut demo).unwrap();
    let story = text(&demo.stderr);
    assert!(demo.status.success(), "{}{story}", text(&demo.stdout));
    let verdict: serde_json::Value = serde_json::from_slice(&demo.stdout).unwrap();
    assert_eq!(verdict["in_order"], true, "{verdict:#}");
    let programs: Vec<&str> =
        verdict["programs"].as_array().unwrap().iter().filter_map(|one| one["program"].as_str()).collect();
    assert!(programs.contains(&"counter.c") && programs.contains(&"counter.py"), "{programs:?}");
}

#[test]
fn a_package_says_where_it_will_be() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().canonicalize().unwrap();
    built_folder(&here);
    let output = install(&here, &["/opt/turnlock"], &[("DESTDIR", "package")]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let pc = fs::read_to_string(here.join("package/opt/turnlock/lib/pkgconfig/turnlock.pc")).unwrap();
    assert!(pc.starts_with("prefix=/opt/turnlock\n"), "{pc}");
    assert!(text(&output.stdout).ends_with("It is for /opt/turnlock: copy it there before using it.\n"));
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    built_folder(folder.path());
    for argument in ["with blank", "--prefix=/usr", "it's"] {
        let output = install(folder.path(), &[argument], &[]);
        assert_eq!(output.status.code(), Some(64), "{argument}: {}", text(&output.stdout));
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
    let help = install(folder.path(), &["--help"], &[]);
    let help = text(&help.stdout);
    assert!(help.contains("./install.sh [PREFIX]") && help.contains("TURNLOCK_BUILT"), "{help}");
}
