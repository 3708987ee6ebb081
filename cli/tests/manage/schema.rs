//! What commands print with --json is what docs/turnlock.schema.json says, and no field is left out there.

use super::{growing::with_everything, *};
use boon::{Compiler, Schemas};
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../docs/turnlock.schema.json")).unwrap()
}

/// Has every object refuse fields that are not documented. Readers must not: fields may be added.
fn refuse_others(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.values_mut().for_each(refuse_others);
            // One that is part of another object does not know the rest of it.
            if fields.contains_key("properties") && !fields.contains_key("$comment") {
                fields.insert("unevaluatedProperties".into(), false.into());
            }
        }
        Value::Array(values) => values.iter_mut().for_each(refuse_others),
        _ => {}
    }
}

/// Returns what is wrong with `value` by `schema`, which is a good one itself.
fn fault_by(schema: Value, value: &Value) -> Option<String> {
    const AT: &str = "https://turnlock.example/schema.json";
    let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
    compiler.add_resource(AT, schema).unwrap();
    let schema = compiler.compile(AT, &mut schemas).unwrap_or_else(|error| panic!("{error:#}"));
    schemas.validate(value, schema).err().map(|error| format!("{error:#}"))
}

/// Checks what a command printed.
pub fn check(command: &str, printed: &Value) {
    let mut strict = schema();
    refuse_others(&mut strict);
    let schema = strict.as_object_mut().unwrap();
    schema.remove("anyOf");
    schema.insert("$ref".into(), format!("#/$defs/{command}").into());
    let wrong = fault_by(strict, printed);
    assert!(wrong.is_none(), "{command}: {}\n{printed:#}", wrong.unwrap());
}

#[test]
fn what_is_printed_of_a_deadlock_is_what_is_documented() {
    let fixture = new_fixture();
    with_deadlock(&fixture, || {
        let seen = json_of(&fixture, "status");
        assert_eq!(seen["deadlocks"].as_array().unwrap().len(), 1);
        check("status", &seen);
    });
}

#[test]
fn what_is_printed_is_what_is_documented() {
    let fixture = new_fixture();
    with_everything(&fixture);
    check("list", &json_of(&fixture, "list"));
    check("doctor", &json_of(&fixture, "doctor"));
    check("grow", &json(&fixture.turnlock("grow", &["--locks", "30", "--json"])));

    let holders: [&[&str]; 8] = [
        &["--lock", "well"],
        &["--lock", "cache", "-s"],
        &["--lock", "jobs", "--permits", "5"],
        &["--lock", "rows", "--range", "100-200"],
        &["--lock", "users", "--key", "ada"],
        &["--lock", "store", "--in-group", "7"],
        &["--lock", "turns"],
        &["--lock", "raynal", "--algorithm", "raynal"],
    ];
    // With what it holds they are more than eight.
    check("grow", &json(&fixture.turnlock("grow", &["--participants", "40", "--json"])));
    let held: Vec<Running> = holders.iter().map(|options| fixture.hold(options)).collect();
    let waiting: [&[&str]; 5] = [
        &["--lock", "well"],
        &["--lock", "cache", "-x"],
        &["--lock", "rows", "--range", "0-"],
        &["--lock", "store", "--in-group", "8"],
        &["--lock", "turns"],
    ];
    let mut waiters: Vec<Child> = waiting
        .iter()
        .map(|options| fixture.command("run", options).arg("true").stdout(Stdio::null()).spawn().unwrap())
        .collect();
    until("they wait", || {
        let status = json_of(&fixture, "status");
        let waits =
            |lock: &Value| lock["queue"].as_array().unwrap().iter().any(|one| one["for_seconds"].is_number());
        status["locks"].as_array().unwrap().iter().filter(|lock| waits(lock)).count() == 5
    });
    let status = json_of(&fixture, "status");
    check("status", &status);
    check("list", &json_of(&fixture, "list"));
    let seen = |field: &str| -> BTreeSet<String> {
        let of_all = status["locks"].as_array().unwrap().iter();
        of_all.filter_map(|lock| Some(lock[field].as_str()?.to_owned())).collect()
    };
    assert_eq!(seen("kind").len(), 11, "{status:#}");
    // Those of locks; and an idle condition, an event that is not set, an open barrier, a once that is done.
    assert_eq!(seen("state").len(), 3 + 4, "{status:#}");
    drop(held);
    waiters.iter_mut().for_each(|waiter| drop(waiter.wait()));

    let mut watch = fixture.command("watch", &["--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(watch.stdout.take().unwrap()));
    for line in lines.take(2) {
        check("watch", &serde_json::from_str(&line.unwrap()).unwrap());
    }
    watch.kill().unwrap();
    watch.wait().unwrap();

    fixture.leave_dead(&["--lock", "well"]);
    check("status", &json_of(&fixture, "status"));
    check("doctor", &json_of(&fixture, "doctor"));
    check("reap", &json_of(&fixture, "reap"));
    check("reset", &json(&fixture.turnlock("reset", &["--lock", "closed", "--json"])));
    for (word, words) in [("notify", &["ready"][..]), ("notify", &["changed"]), ("barrier", &["one", "1"])] {
        check(word, &json(&limit::output(fixture.command(word, &["--json"]).args(words)).unwrap()));
    }
    let mut reset = fixture.command("barrier", &["--json", "--reset"]);
    check("barrier", &json(&limit::output(reset.arg("one")).unwrap()));
    let waits = fixture.command("barrier", &["-w", "0.01"]).args(["two", "2"]).status();
    assert_eq!(waits.unwrap().code(), Some(1));
    check("status", &json_of(&fixture, "status"));
    let mut remove = fixture.command("remove-lock", &["--json"]);
    check("remove-lock", &json(&limit::output(remove.arg("closed")).unwrap()));
    check("rm", &json_of(&fixture, "rm"));
    check("create", &json_of(&fixture, "create"));
    let mut bench = Command::new(TURNLOCK);
    bench.args([
        "bench",
        "--json",
        "--seconds",
        "2",
        "--contender",
        "turnlock mutex",
        "--contender",
        "flock",
    ]);
    check("bench", &json(&limit::output(&mut bench).unwrap()));
    check(
        "demo",
        &json(&limit::output(Command::new(TURNLOCK).args(["demo", "--json", "--turns", "100"])).unwrap()),
    );
}

#[test]
fn a_field_that_is_missing_wrong_or_new_is_noticed() {
    let fixture = new_fixture();
    let created = json_of(&fixture, "create");
    check("create", &created);
    let spoilt: [fn(&mut Value); 3] = [
        |value| drop(value.as_object_mut().unwrap().remove("bytes")),
        |value| value["mode"] = "rw".into(),
        |value| value["more"] = 1.into(),
    ];
    for spoil in spoilt {
        let mut value = created.clone();
        spoil(&mut value);
        assert!(std::panic::catch_unwind(|| check("create", &value)).is_err(), "{value}");
    }
}

#[test]
fn an_error_is_an_object_too() {
    let fixture = new_fixture();
    fixture.turnlock("create", &[]);
    let missing = || ["/nonexistent/a.lock"].map(String::from);
    let of = |command: &str, options: &[&str], path: bool| {
        let mut words: Vec<String> =
            [command, "--json"].iter().chain(options).map(|word| (*word).into()).collect();
        if path {
            words.extend(missing());
        }
        limit::output(Command::new(TURNLOCK).args(words)).unwrap()
    };
    for (command, options, path, code) in [
        ("status", &[][..], true, 66),
        ("watch", &[], true, 66),
        ("reap", &[], true, 66),
        ("reset", &[], true, 66),
        ("grow", &["--locks", "100"], true, 66),
        ("grow", &[], true, 64),
        ("status", &["--no-such-option"], false, 64),
    ] {
        let output = of(command, options, path);
        assert_eq!(output.status.code(), Some(code), "{command} {options:?}: {}", errors(&output));
        let told = json(&output);
        check("error", &told);
        assert_eq!(told["exit_code"], code);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let said = words(told["error"].as_str().unwrap());
        assert!(words(&errors(&output)).contains(&said), "{said}");
        assert!(code != 64 || said.contains("--"), "which option it is about: {said}");
    }
    // Of several files some can be listed.
    let list = of("list", &[], true);
    assert_eq!(list.status.code(), Some(66));
    check("list", &json(&list));
    assert_eq!(json(&list)["errors"][0]["path"], "/nonexistent/a.lock");
    let rm = of("rm", &[], true);
    assert_eq!(rm.status.code(), Some(66));
    check("rm", &json(&rm));
    assert_eq!(json(&rm)["errors"][0]["path"], "/nonexistent/a.lock");
    // The command's own option is not turnlock's.
    let run =
        limit::output(Command::new(TURNLOCK).args(["run", "/nonexistent/a.lock", "ls", "--json"])).unwrap();
    assert_eq!((run.status.code(), text(&run)), (Some(66), String::new()));
}

/// Readers of the schema itself may be given any command's output.
#[test]
fn every_command_with_json_is_in_the_schema() {
    let schema = schema();
    // With an option a command may print something else: `demo_hosts`.
    let command_of = |name: &str| name.split('_').next().unwrap().to_owned();
    let documented: BTreeSet<String> = schema["anyOf"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| command_of(one["$ref"].as_str().unwrap().rsplit('/').next().unwrap()))
        .collect();
    let help = |arguments: &[&str]| text(&limit::output(Command::new(TURNLOCK).args(arguments)).unwrap());
    let all = help(&["--help"]);
    let commands = all.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = commands.lines().filter(|line| !line.starts_with("   "));
    let names = names.map(|line| line.split_whitespace().next().unwrap().to_owned());
    let has_json = |name: &String| name != "help" && help(&[name, "--help"]).contains("--json\n");
    let errors = ["error".to_owned()];
    assert_eq!(names.filter(has_json).chain(errors).collect::<BTreeSet<_>>(), documented);
    assert_eq!(fault_by(schema, &json!({"deleted": [], "errors": []})), None);
}
