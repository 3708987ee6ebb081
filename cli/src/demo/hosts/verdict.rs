//! What is claimed, against what was seen. A pure function: what it is shown is all that it knows.

use super::evidence::{Evidence, Scene, Turn, hand_overs, turns};

/// What came of it. The JSON of `turnlock demo --hosts N --json`.
#[derive(Debug, serde::Serialize)]
pub struct Verdict {
    /// Every claim holds.
    pub in_order: bool,
    /// Every claim.
    pub claims: Vec<Claim>,
    /// The turns of each host.
    pub hosts: Vec<Share>,
    /// How often a host had the lock after another one.
    pub hand_overs: usize,
    /// How long it took, from the first turn.
    pub seconds: f64,
}

/// A claim, and what was seen of it.
#[derive(Debug, serde::Serialize)]
pub struct Claim {
    /// What is claimed.
    pub claim: &'static str,
    /// It is so.
    pub holds: bool,
    /// What was seen.
    pub seen: String,
}

/// A host's part.
#[derive(Debug, serde::Serialize)]
pub struct Share {
    /// Its name.
    pub host: &'static str,
    /// How many turns its programs had.
    pub turns: usize,
}

/// Compares what was seen with what is claimed.
pub fn verify(seen: &Evidence) -> Verdict {
    let parsed = turns(&seen.journal);
    let turns = parsed.as_deref().unwrap_or_default();
    let mut claims = vec![exclusion(seen, turns)];
    if let Err(why) = &parsed {
        (claims[0].holds, claims[0].seen) = (false, why.clone());
    }
    claims.push(every_host(seen, turns));
    claims.extend(scenes(seen));
    let hosts = shares(seen, turns);
    let seconds = (seen.seconds * 1e3).round() / 1e3;
    let in_order = claims.iter().all(|claim| claim.holds);
    Verdict { in_order, claims, hosts, hand_overs: hand_overs(turns), seconds }
}

fn shares(seen: &Evidence, turns: &[Turn]) -> Vec<Share> {
    let of = |host: &'static str| turns.iter().filter(|turn| turn.host == host).count();
    seen.hosts.iter().map(|host| Share { host, turns: of(host) }).collect()
}

/// That the counter has every turn, and that each fencing token is larger than the one before, is mutual exclusion, seen from the data.
fn exclusion(seen: &Evidence, turns: &[Turn]) -> Claim {
    let falls = turns.windows(2).filter(|pair| pair[1].fencing_token <= pair[0].fencing_token).count();
    let counter = seen.counter.trim();
    let tokens = match (turns.first(), turns.last()) {
        (Some(first), Some(last)) if falls == 0 => {
            format!("fencing tokens rise, from {} to {}", first.fencing_token, last.fencing_token)
        }
        _ => format!("the fencing tokens do not rise, {falls} times"),
    };
    Claim {
        claim: "One program at a time, over all hosts: no update of the counter is lost",
        holds: counter.parse() == Ok(turns.len()) && falls == 0 && !turns.is_empty(),
        seen: format!("the counter is {counter}, the journal has {} turns; {tokens}", turns.len()),
    }
}

fn every_host(seen: &Evidence, turns: &[Turn]) -> Claim {
    let contended = &turns[..seen.contended.min(turns.len())];
    let shares = shares(seen, contended);
    let moves = hand_overs(contended);
    let of_each: Vec<_> = shares.iter().map(|share| format!("{} {}", share.host, share.turns)).collect();
    Claim {
        claim: "A lock that all want goes from host to host",
        holds: shares.iter().all(|share| share.turns > 0) && moves >= seen.hosts.len(),
        seen: format!("{moves} hand-overs; turns: {}", of_each.join(", ")),
    }
}

fn scenes(seen: &Evidence) -> [Claim; 5] {
    let next_told = |claim, scene: &Scene| Claim {
        claim,
        holds: scene.other_turns == 0 && scene.next.is_some_and(|next| next.told),
        seen: in_words(scene, false),
    };
    // None died inside, so none is told so.
    let goes_on = |claim, scene: &Scene| Claim {
        claim,
        holds: scene.turns_at_home > 0 && scene.other_turns == 0 && scene.next.is_some_and(|next| !next.told),
        seen: in_words(scene, true),
    };
    [
        next_told("Who follows a program that died inside is told, at another host too", &seen.killed_inside),
        goes_on(
            "Where the lock is home an agent's death stops no program, and no other host gets the lock by it",
            &seen.agent_at_home,
        ),
        goes_on("Where the lock is away it stays closed without an agent", &seen.agent_away),
        goes_on(
            "An etcd that is away stops no program at home, and takes the lock from no host",
            &seen.outage,
        ),
        next_told(
            "A host that is dead has the lock until it is forgotten, and the next one is told",
            &seen.dead_host,
        ),
    ]
}

fn in_words(scene: &Scene, at_home: bool) -> String {
    let home = if at_home { format!("{} turns at home, ", scene.turns_at_home) } else { String::new() };
    let next = match scene.next {
        None => "and nobody came in afterwards".into(),
        Some(next) => {
            let told = if next.told { ", told of a death" } else { "" };
            format!("then one at {} after {:.1} ms{told}", next.host, next.after.as_secs_f64() * 1e3)
        }
    };
    format!("{home}{} elsewhere, {next}", scene.other_turns)
}

#[cfg(test)]
mod tests {
    use super::super::evidence::Next;
    use super::*;
    use serde_json::Value;
    use std::{collections::BTreeSet, time::Duration};

    /// Returns what is seen when all is well.
    fn good() -> Evidence {
        let next = |host, told| Some(Next { host, told, after: Duration::from_millis(7) });
        let goes_on = |host| Scene { turns_at_home: 9, other_turns: 0, next: next(host, false) };
        Evidence {
            hosts: vec!["a", "b"],
            counter: "6\n".into(),
            journal: "a 1\nb 10\na 20\nb 30\nb 31\na 40\n".into(),
            contended: 4,
            killed_inside: Scene { next: next("b", true), ..Scene::default() },
            agent_at_home: goes_on("b"),
            agent_away: goes_on("a"),
            outage: goes_on("b"),
            dead_host: Scene { next: next("a", true), ..Scene::default() },
            seconds: 1.0,
        }
    }

    /// Returns the claims that do not hold when this much of the good evidence is spoiled, by their places.
    fn broken(spoil: impl FnOnce(&mut Evidence)) -> Vec<usize> {
        let mut seen = good();
        spoil(&mut seen);
        let verdict = verify(&seen);
        let broken: Vec<_> = (0..verdict.claims.len()).filter(|at| !verdict.claims[*at].holds).collect();
        assert_eq!(verdict.in_order, broken.is_empty());
        broken
    }

    #[test]
    fn all_in_order() {
        assert_eq!(broken(|_| ()), [0; 0]);
        let verdict = verify(&good());
        assert_eq!((verdict.hand_overs, verdict.hosts[0].turns, verdict.hosts[1].turns), (4, 3, 3));
        assert_eq!(verdict.claims[3].seen, "9 turns at home, 0 elsewhere, then one at b after 7.0 ms");
    }

    #[test]
    fn two_inside_at_once() {
        assert_eq!(broken(|seen| seen.counter = "5".into()), [0]);
        assert_eq!(broken(|seen| seen.counter = "no number".into()), [0]);
        assert_eq!(broken(|seen| seen.journal = seen.journal.replace("31", "30")), [0]);
        assert_eq!(broken(|seen| seen.journal = seen.journal.replace("40", "4")), [0]);
        assert_eq!(broken(|seen| seen.journal += "a x\n"), [0, 1]);
    }

    #[test]
    fn a_host_that_has_no_turn() {
        assert_eq!(broken(|seen| seen.contended = 1), [1]);
        assert_eq!(broken(|seen| seen.hosts.push("c")), [1]);
        assert_eq!(broken(|seen| seen.contended = 2), [1]);
    }

    #[test]
    fn each_scene() {
        type Of = fn(&mut Evidence) -> &mut Scene;
        let told: [(usize, Of); 2] = [(2, |seen| &mut seen.killed_inside), (6, |seen| &mut seen.dead_host)];
        let goes_on: [(usize, Of); 3] = [
            (3, |seen| &mut seen.agent_at_home),
            (4, |seen| &mut seen.agent_away),
            (5, |seen| &mut seen.outage),
        ];
        for (at, of) in told.into_iter().chain(goes_on) {
            assert_eq!(broken(|seen| of(seen).other_turns = 1), [at], "one came in");
            assert_eq!(broken(|seen| of(seen).next = None), [at], "none came in afterwards");
            let other = |seen: &mut Evidence| {
                let next = of(seen).next.as_mut().unwrap();
                next.told = !next.told;
            };
            assert_eq!(broken(other), [at], "told, or not");
        }
        for (at, of) in goes_on {
            assert_eq!(broken(|seen| of(seen).turns_at_home = 0), [at], "home stood still");
        }
    }

    #[test]
    fn it_is_as_the_schema_says() {
        let schema: Value =
            serde_json::from_str(include_str!("../../../../docs/turnlock.schema.json")).unwrap();
        let verdict = serde_json::to_value(verify(&good())).unwrap();
        let names = |of: &Value| of.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        for (name, printed) in [
            ("demo_hosts", &verdict),
            ("demo_claim", &verdict["claims"][0]),
            ("demo_share", &verdict["hosts"][0]),
        ] {
            let documented = &schema["$defs"][name];
            let required = documented["required"].as_array().unwrap().iter();
            let required = required.map(|name| name.as_str().unwrap().to_owned()).collect::<BTreeSet<_>>();
            assert_eq!(names(printed), names(&documented["properties"]), "{name}");
            assert_eq!(names(printed), required, "{name}");
        }
    }
}
