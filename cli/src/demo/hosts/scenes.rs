//! What happens: the hosts contend, and then a program, an agent, etcd and a whole host die, one after another, each while a program of another
//! host wants the lock.

use super::{
    super::no_verdict::NoVerdict,
    evidence::{Evidence, Scene, hand_overs, turns},
    host::Host,
    narrator::Narrator,
    stage::{AT_EACH, Stage},
};
use std::time::{Duration, Instant};

/// How long all contend.
const CONTEND: Duration = Duration::from_secs(3);
/// How long others are seen to wait.
const STAY: Duration = Duration::from_secs(1);
/// How long etcd is away.
const OUTAGE: Duration = Duration::from_secs(3);
/// The hosts that the scenes are about: the first one, and one that wants the lock.
const FIRST: usize = 0;
const OTHER: usize = 1;

/// Plays all of them.
pub fn play(stage: &mut Stage, narrator: &Narrator) -> Result<Evidence, NoVerdict> {
    let began = Instant::now();
    let mut seen = Evidence {
        hosts: stage.hosts.iter().map(|host| host.name).collect(),
        contended: contend(stage, narrator)?,
        killed_inside: a_program_dies_inside(stage, narrator)?,
        agent_at_home: an_agent_dies_while_home(stage, narrator)?,
        agent_away: an_agent_dies_while_away(stage, narrator)?,
        outage: etcd_is_away(stage, narrator)?,
        dead_host: a_host_dies(stage, narrator)?,
        ..Evidence::default()
    };
    seen.seconds = began.elapsed().as_secs_f64();
    (seen.counter, seen.journal) = (stage.read("counter"), stage.read("journal"));
    Ok(seen)
}

fn contend(stage: &mut Stage, narrator: &Narrator) -> Result<usize, NoVerdict> {
    narrator.scene(&format!(
        "All want the lock for {} s: {AT_EACH} programs at each of {} hosts.",
        CONTEND.as_secs(),
        stage.hosts.len()
    ));
    let all: Vec<_> =
        (0..stage.hosts.len()).flat_map(|host| (0..AT_EACH).map(move |at| (host, at))).collect();
    all.iter().for_each(|(host, at)| stage.program(*host, *at).tell("turns"));
    stage.ears.pass(CONTEND)?;
    // On a busy machine that may take longer.
    stage.until("every host has had the lock", |stage| Ok(has_gone_round(stage)))?;
    all.iter().for_each(|(host, at)| stage.program(*host, *at).tell("stop"));
    for (host, at) in all {
        stage.hear(host, at, "turns")?;
    }
    narrator.contended(&stage.read("journal"));
    Ok(stage.turns())
}

fn has_gone_round(stage: &Stage) -> bool {
    let journal = stage.read("journal");
    // The line that is written now may not be whole.
    let Ok(turns) = turns(journal.rfind('\n').map_or("", |end| &journal[..end])) else { return false };
    let had = |host: &Host| turns.iter().any(|turn| turn.host == host.name);
    stage.hosts.iter().all(had) && hand_overs(&turns) >= stage.hosts.len()
}

fn a_program_dies_inside(stage: &mut Stage, narrator: &Narrator) -> Result<Scene, NoVerdict> {
    narrator.scene("A program dies inside, and the next one is at another host.");
    let victim = AT_EACH - 1;
    stage.program(FIRST, victim).tell("half");
    let (token, _) = stage.hear(FIRST, victim, "half")?;
    let pid = stage.program(FIRST, victim).id();
    narrator.line(&format!(
        "A program at {} (process {pid}) stops half-way through its turn. Fencing token {token}.",
        stage.hosts[FIRST].name
    ));
    stage.program(OTHER, 0).tell("turn");
    stage.until_waited_for(OTHER)?;
    let before = stage.turns();
    stage.ears.pass(STAY)?;
    let other_turns = (stage.turns() - before) as u64;
    narrator.line(&format!("One at {} waits. Now kill -9.", stage.hosts[OTHER].name));
    let killed = Instant::now();
    stage.program(FIRST, victim).kill();
    let next = stage.next(OTHER, killed)?;
    narrator.next(next);
    Ok(Scene { turns_at_home: 0, other_turns, next })
}

fn an_agent_dies_while_home(stage: &mut Stage, narrator: &Narrator) -> Result<Scene, NoVerdict> {
    stage.bring_home(FIRST)?;
    let home = stage.hosts[FIRST].name;
    narrator.scene(&format!("The agent of {home} dies while the lock is home there."));
    let pid = stage.hosts[FIRST].kill_agent();
    narrator.line(&format!(
        "kill -9 of it (process {pid}). A program at {} wants the lock.",
        stage.hosts[OTHER].name
    ));
    let mut scene = others_wait(stage, OTHER, FIRST, STAY)?;
    narrator.meanwhile(home, &scene, STAY);
    let began = Instant::now();
    stage.start_agent(FIRST)?;
    narrator.line(&format!("The agent of {home} is started again."));
    scene.next = stage.next(OTHER, began)?;
    narrator.next(scene.next);
    Ok(scene)
}

fn an_agent_dies_while_away(stage: &mut Stage, narrator: &Narrator) -> Result<Scene, NoVerdict> {
    let (closed, home) = (stage.hosts[FIRST].name, stage.hosts[OTHER].name);
    narrator.scene(&format!("The agent of {closed} dies while the lock is away from there, at {home}."));
    let pid = stage.hosts[FIRST].kill_agent();
    narrator.line(&format!("kill -9 of it (process {pid}). A program at {closed} wants the lock."));
    let mut scene = others_wait(stage, FIRST, OTHER, STAY)?;
    narrator.meanwhile(home, &scene, STAY);
    let began = Instant::now();
    stage.start_agent(FIRST)?;
    narrator.line(&format!("The agent of {closed} is started again."));
    scene.next = stage.next(FIRST, began)?;
    narrator.next(scene.next);
    Ok(scene)
}

fn etcd_is_away(stage: &mut Stage, narrator: &Narrator) -> Result<Scene, NoVerdict> {
    stage.bring_home(FIRST)?;
    let home = stage.hosts[FIRST].name;
    narrator.scene(&format!(
        "etcd dies while the lock is home at {home}, and is away for {} s.",
        OUTAGE.as_secs()
    ));
    stage.kill_engine();
    narrator.line(&format!("kill -9 of it. A program at {} wants the lock.", stage.hosts[OTHER].name));
    let mut scene = others_wait(stage, OTHER, FIRST, OUTAGE)?;
    narrator.meanwhile(home, &scene, OUTAGE);
    let began = Instant::now();
    stage.start_engine()?;
    narrator.line("etcd is started again, with the data that it has.");
    scene.next = stage.next(OTHER, began)?;
    narrator.next(scene.next);
    Ok(scene)
}

fn a_host_dies(stage: &mut Stage, narrator: &Narrator) -> Result<Scene, NoVerdict> {
    let dead = stage.hosts.len() - 1;
    stage.program(dead, 0).tell("half");
    stage.hear(dead, 0, "half")?;
    let name = stage.hosts[dead].name;
    narrator.scene(&format!("Host {name} dies, with a program inside."));
    stage.hosts[dead].kill_agent();
    (0..AT_EACH).for_each(|at| stage.program(dead, at).kill());
    narrator.line(&format!(
        "kill -9 of its agent and its programs. A program at {} wants the lock.",
        stage.hosts[FIRST].name
    ));
    stage.program(FIRST, 0).tell("turn");
    let before = stage.turns();
    stage.ears.pass(STAY)?;
    let mut scene = Scene { turns_at_home: 0, other_turns: (stage.turns() - before) as u64, next: None };
    narrator.line(&format!(
        "For {} s {}. Only a person can tell whether {name} is dead or cut off:\n  turnlock link forget {name}",
        STAY.as_secs(),
        narrator.entered(scene.other_turns)
    ));
    let began = Instant::now();
    stage.forget(dead)?;
    scene.next = stage.next(FIRST, began)?;
    narrator.next(scene.next);
    Ok(scene)
}

/// A program of the host `waits` wants the lock, while one of the host `home` takes turns for so long.
fn others_wait(stage: &mut Stage, waits: usize, home: usize, time: Duration) -> Result<Scene, NoVerdict> {
    let before = stage.turns();
    stage.program(waits, 0).tell("turn");
    stage.until_waited_for(waits)?;
    stage.program(home, 0).tell("turns");
    stage.ears.pass(time)?;
    stage.program(home, 0).tell("stop");
    let turns_at_home = stage.turns_taken(home)?;
    // The journal is everyone's; the program that takes turns says how many of them are its own.
    let all = (stage.turns() - before) as u64;
    Ok(Scene { turns_at_home, other_turns: all.saturating_sub(turns_at_home), next: None })
}
