//! What is printed: the story on standard output, or on standard error where standard output is for the verdict alone.

use super::{
    super::narrator::{BAD, FAINT, GOOD, STRONG},
    evidence::{self, Next, Scene},
    found::Found,
    verdict::Verdict,
};
use crate::{escape, fit, print};
use std::{cell::Cell, io, path::Path, time::Duration};

/// As many stays of the lock at a host are shown.
const SHOWN: usize = 12;

/// Tells the story.
pub struct Narrator {
    json: bool,
    scenes: Cell<u32>,
}

impl Narrator {
    /// For a verdict in words or in JSON.
    pub fn new(json: bool) -> Self {
        Self { json, scenes: Cell::new(0) }
    }

    fn write(&self, text: &str) {
        print::story(text, self.json);
    }

    /// What this is about.
    pub fn opening(&self, folder: &Path, found: &Found, count: usize) {
        self.write(&format!(
            "{STRONG}turnlock demo --hosts {count}{STRONG:#}: {count} lock files stand for {count} hosts that share one lock.\n\
             Each has an agent, and programs that add to one counter in a plain file. A turn: read the counter,\n\
             add a line to the journal, write the counter + 1. Only the lock keeps them from losing updates.\n\n\
             {FAINT}folder  {}\netcd    {}, on loopback\nagents  {}{FAINT:#}\n",
            escape::path(folder),
            escape::text(&found.etcd.1),
            escape::path(&found.link)
        ));
    }

    /// What happens next.
    pub fn scene(&self, what: &str) {
        self.scenes.set(self.scenes.get() + 1);
        self.write(&format!("\n{STRONG}{}  {what}{STRONG:#}\n", self.scenes.get()));
    }

    /// A line of the scene.
    pub fn line(&self, text: &str) {
        self.write(&format!("   {}\n", text.replace('\n', "\n   ")));
    }

    /// How the lock went from host to host.
    pub fn contended(&self, journal: &str) {
        let turns = evidence::turns(journal).unwrap_or_default();
        let stays = turns.chunk_by(|one, next| one.host == next.host);
        let shown: Vec<_> =
            stays.take(SHOWN).map(|stay| format!("{} {}", stay[0].host, stay.len())).collect();
        self.line(&format!(
            "{} turns, and the lock went to another host {} times. Turns at a host, one after another:",
            turns.len(),
            evidence::hand_overs(&turns)
        ));
        self.line(&format!("  {} ...", shown.join(", ")));
    }

    /// What was seen while others waited.
    pub fn meanwhile(&self, home: &str, scene: &Scene, time: Duration) {
        self.line(&format!(
            "For {} s programs at {home} had {} turns, and {}.",
            time.as_secs(),
            scene.turns_at_home,
            self.entered(scene.other_turns)
        ));
    }

    /// Says how many others got in.
    pub fn entered(&self, others: u64) -> String {
        match others {
            0 => "no other program got in".into(),
            turns => format!("{BAD}others had {turns} turns{BAD:#}"),
        }
    }

    /// Who came in next.
    pub fn next(&self, next: Option<Next>) {
        self.line(&match next {
            Some(Next { host, told, after }) => {
                let told =
                    if told { ", was told that its holder died, and repaired the counter" } else { "" };
                format!("The one at {host} got the lock {:.1} ms later{told}.", after.as_secs_f64() * 1e3)
            }
            None => format!("{BAD}No program got the lock.{BAD:#}"),
        });
    }

    /// What came of it. `kept`: the folder, if it stays.
    pub fn verdict(&self, verdict: &Verdict, kept: Option<&Path>) -> io::Result<()> {
        if self.json {
            return print::result(&format!("{}\n", serde_json::to_string_pretty(verdict)?));
        }
        let columns = fit::columns();
        let mut text = format!("\n{STRONG}What was claimed, and what was seen{STRONG:#}\n");
        for claim in &verdict.claims {
            let (style, mark) = if claim.holds { (GOOD, "yes") } else { (BAD, "NO ") };
            text += &fit::fit(claim.claim, &format!("{style}{mark}{style:#}  "), "     ", columns);
            text += &fit::fit(&format!("{}.", escape::text(&claim.seen)), "     ", "     ", columns);
        }
        let broken = verdict.claims.iter().filter(|claim| !claim.holds).count();
        text += &match broken {
            0 => format!("\n{GOOD}All in order{GOOD:#}, in {:.1} s.", verdict.seconds),
            broken => format!("\n{BAD}Not in order{BAD:#}: {broken} of {} claims.", verdict.claims.len()),
        };
        if let Some(folder) = kept {
            text += &format!("\nKept: {}", escape::path(folder));
        }
        print::result(&(text + "\n"))
    }
}
