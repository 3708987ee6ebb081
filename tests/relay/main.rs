//! The relay of `examples/relay`, run for real; and that its check can fail.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};
use support::{NoHang, Place, built, elsewhere, limit};
use turnlock::LockFile;

support::watched_for_seconds!(support::watchdog::USUAL);

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/relay").join(name)
}

/// relay.rs, built once for all tests.
fn rust_program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| built::rust_program(&example("relay.rs")))
}

fn library() -> PathBuf {
    built::libraries().join("libturnlock.so")
}

fn run(arguments: &[&str]) -> (Output, String) {
    let mut driver = Command::new("python3");
    driver.arg(example("run.py")).arg("--library").arg(library()).arg("--rust").arg(rust_program());
    let output = limit::output(driver.args(arguments)).unwrap();
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat();
    (output, said)
}

/// [`run`], with more legs until they are enough: on a busy machine one program may be through with its legs before another
/// one has begun.
fn run_with_enough_legs(arguments: &[&str]) -> (Output, String) {
    let mut legs = 300;
    loop {
        let (output, said) = run(&[arguments, &["--legs", &legs.to_string()]].concat());
        println!("{said}");
        if !said.contains("take more legs") {
            return (output, said);
        }
        legs *= 4;
    }
}

#[test]
fn the_turn_goes_round_and_a_death_does_not_stop_it() {
    let _no_hang = NoHang::for_seconds(300);
    for program in ["relay.c", "relay.py", "relay.rs"] {
        let (output, said) = run_with_enough_legs(&["--kill", program]);
        assert!(output.status.success(), "{said}");
        assert!(said.contains(&format!("{program} was absent and came back")), "{said}");
    }
}

#[test]
fn without_a_common_ring_it_is_off() {
    let _no_hang = NoHang::for_seconds(300);
    let (output, said) = run_with_enough_legs(&["--separate-locks"]);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("NOT IN ORDER"), "{said}");
}

/// Each program finds half a line of a participant that died in its turn, cuts it off, and goes on.
#[test]
fn each_program_repairs_an_unfinished_line() {
    let _no_hang = NoHang::for_seconds(120);
    let compiled = Place::new();
    let c_program = compiled.at("relay-c");
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut cc = Command::new("cc");
    cc.args(["-std=c99", "-Wall", "-Werror", "-I"])
        .arg(include)
        .arg(example("relay.c"))
        .arg("-o")
        .arg(&c_program);
    assert!(limit::status(cc.arg(library())).unwrap().success());
    let python = [PathBuf::from("python3"), example("relay.py")];
    for (name, command) in
        [("relay.c", &[c_program][..]), ("relay.py", &python), ("relay.rs", &[rust_program().into()])]
    {
        let place = Place::new();
        for (text, whole) in [("1 relay.c leg 1\n2 rel", "1 relay.c leg 1\n"), ("3 half", "")] {
            // A participant that stood in the ring dies in its turn.
            let file = LockFile::options().label("one.who.dies").open(place.at("relay.lock")).unwrap();
            let ring = file.ring_options().member(true).open("relay").unwrap();
            elsewhere(|| {
                let mut turn = ring.lock().unwrap();
                if turn.acquired().previous_owner_died {
                    turn.mark_consistent().unwrap();
                }
                std::mem::forget(turn);
            });
            fs::write(place.at("text"), text).unwrap();
            let mut program = Command::new(&command[0]);
            program.args(&command[1..]).arg(place.folder()).arg("2");
            program.env("TURNLOCK_LIBRARY", library()).env("LD_LIBRARY_PATH", built::libraries());
            let output = limit::output(&mut program).unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
            assert!(said.contains(&format!("{name}: told that one.who.dies (process ")), "{said}");
            assert!(said.contains(&format!("cut {} bytes", text.len() - whole.len())), "{said}");
            let now = fs::read_to_string(place.at("text")).unwrap();
            let added = now.strip_prefix(whole).unwrap_or_else(|| panic!("{now:?}"));
            let legs: Vec<&str> = added.lines().map(|line| line.split_once(' ').unwrap().1).collect();
            assert_eq!(legs, [format!("{name} leg 1"), format!("{name} leg 2")]);
        }
    }
}

/// The text of a relay of twelve legs each, in which relay.c died after three and was absent for three rounds.
fn text_in_order() -> Vec<String> {
    let (mut text, mut legs) = (Vec::new(), [0, 0, 0]);
    for round in 0..18 {
        for (program, name) in ["c", "py", "rs"].iter().enumerate() {
            match (program, round) {
                (0, 3..6) => continue,
                (0, 6) => legs[0] = 0,
                _ => {}
            }
            if legs[program] < 12 {
                legs[program] += 1;
                text.push(format!("{} relay.{name} leg {}\n", 100 + 2 * text.len(), legs[program]));
            }
        }
    }
    text
}

#[test]
fn the_check_finds_what_is_wrong() {
    let place = Place::new();
    let check = |what: &str, expected: &str, change: &dyn Fn(&mut Vec<String>)| {
        let mut text = text_in_order();
        change(&mut text);
        fs::write(place.at("text"), text.concat()).unwrap();
        let path = place.at("text");
        let (output, said) = run(&["--check", path.to_str().unwrap(), "--legs", "12", "--kill", "relay.c"]);
        assert_eq!(output.status.code(), Some(i32::from(!what.is_empty())), "{what}: {said}");
        assert!(said.contains(expected), "{what}: {said}");
    };
    let program_of = |line: &str| line.split(' ').nth(1).unwrap().to_owned();
    let swap = |text: &mut Vec<String>, at: usize| {
        // The programs and their legs change places, the tokens stay.
        let tokens = [at, at + 1].map(|at| text[at].split_once(' ').unwrap().0.to_owned());
        let rests = [at + 1, at].map(|at| text[at].split_once(' ').unwrap().1.to_owned());
        for (place, (token, rest)) in tokens.iter().zip(&rests).enumerate() {
            text[at + place] = format!("{token} {rest}");
        }
    };
    check("", "in order", &|_| ());
    check("two in the wrong order", "turns", &|text| swap(text, 4));
    check("two in the wrong order while one is absent", "turns", &|text| swap(text, 11));
    check("a token twice", "comes after", &|text| text[5] = text[5].replace("110", "108"));
    check("a torn line", "is torn", &|text| text[5] = text[5].replace('\n', "12"));
    check("half a line at the end", "has no end", &|text| text.push("900 rel".into()));
    check("a line is lost", "out of place", &|text| drop(text.remove(4)));
    check("the last line is lost", "should have", &|text| drop(text.pop()));
    check("no holder died", "should have", &|text| {
        let dead: Vec<String> = text.drain(..9).collect();
        assert_eq!(program_of(&dead[0]), "relay.c");
        text.retain(|line| program_of(line) == "relay.c");
    });
}
