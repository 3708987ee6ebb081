//! Misra's two tokens on a ring, as a lock file runs them: the tokens, and the script.

use super::{
    records::Host,
    shown::{Attended, MessageOf, Shown, Told},
    world::World,
};
use crate::explain::{
    picture::Stop,
    scripts::{ADA, BEN, CLEO, LABELS},
};
use turnlock::message::{
    Action, DemandRing, Event, Machine, Message, Misuse, Standing, TokenRingMessage as Say,
};

const PING: usize = 0;
const PONG: usize = 1;
const NAMES: [&str; 2] = ["ping", "pong"];

impl Shown for DemandRing {
    const FENCING: &'static str = "the number of ping, which counts each entry";
    const TOKENS: &'static [&'static str] = &NAMES;
    const COLUMNS: &'static [(&'static str, usize)] = &[("ping", 9), ("pong", 6), ("m", 7)];

    fn begun(participants: usize, me: usize) -> Result<Self, Misuse> {
        Self::absent(participants, me, 1)
    }

    fn cells(&self, _: &[bool]) -> Vec<String> {
        let ping = self.token(PING).map(|ping| format!("#{} ({})", ping.number, ping.counter));
        let pong = self.token(PONG).map(|pong| format!("({})", pong.counter));
        let seen = self.last_seen().map(|(name, counter)| format!("{} {counter}", NAMES[name]));
        [ping, pong, seen].map(|cell| cell.unwrap_or_else(|| "-".into())).into()
    }

    fn text(message: &MessageOf<Self>) -> String {
        match message {
            Say::Token(ping) if usize::from(ping.name) == PING => {
                format!("PING(#{}, {})", ping.number, ping.counter)
            }
            Say::Token(pong) => format!("PONG({})", pong.counter),
            other => other.kind().to_uppercase(),
        }
    }

    fn token_number(message: &MessageOf<Self>) -> Option<u64> {
        match message {
            Say::Token(token) if usize::from(token.name) == PING => Some(token.number),
            _ => None,
        }
    }

    fn told(told: &Told<Self>) -> Vec<String> {
        let (who, now) = (told.who(), told.now);
        match told.event {
            Event::Request if told.before.token(PING).is_some() => {
                vec![format!("Ping is here: {who} needs no message.")]
            }
            Event::Request => {
                vec![format!("{who} does not have ping. It says that it waits, where the others see it.")]
            }
            Event::Release => vec![format!("{who}'s section is over.")],
            Event::Receive { message: Say::Token(token), .. } => {
                let (name, counter) = (usize::from(token.name), token.counter);
                let (token, other) = (NAMES[name], NAMES[1 - name]);
                let mut said = vec![match told.before.last_seen() == Some((name, counter)) {
                    true => format!(
                        "m is \"{token} {counter}\" already: {token} has come here twice without meeting {other} in between. By \
                         Misra's rule {other} is lost."
                    ),
                    false => format!("{who} remembers what came: m is \"{token} {counter}\"."),
                }];
                if let (Some(_), Some(met)) = (told.before.token(1 - name), now.token(name)) {
                    said.push(format!("Ping and pong meet here. Both count that: {}.", met.counter));
                }
                said
            }
            Event::Down { peer } => vec![format!("{who} passes {} over from now on.", LABELS[*peer])],
            _ => Vec::new(),
        }
    }

    fn attend(&mut self, host: &mut Host) -> Result<Attended<Self>, Misuse> {
        let before = self.clone();
        let actions = DemandRing::attend(self, host);
        let said = attended(&before, self, &actions);
        Ok((said, actions))
    }
}

/// Returns what was done without a message.
fn attended(before: &DemandRing, now: &DemandRing, actions: &[Action<Say>]) -> Vec<String> {
    let (who, mut said) = (LABELS[now.me()], Vec::new());
    let is_made = |token: usize| before.token(token).is_none() && now.token(token).is_some();
    match (is_made(PING), is_made(PONG)) {
        (true, true) => said.push(format!(
            "{who} sees that the records of ping and pong name no participant. It writes its own name into both, and makes \
             both tokens."
        )),
        (true, false) | (false, true) => {
            let lost = NAMES[usize::from(is_made(PONG))];
            said.push(format!(
                "{who} asks the record, which names no participant: {lost} is lost for certain. {who} writes its own name \
                 there, and makes {lost} anew."
            ));
        }
        (false, false) => {}
    }
    for action in actions {
        if let Action::Send { to, message } = action {
            said.push(match message.token() {
                Some(PING) => format!(
                    "{who} has ping and wants nothing, and another waits. So ping goes on, to {}.",
                    LABELS[*to]
                ),
                _ => {
                    let waits = if now.standing() == Standing::Waiting { who } else { "another" };
                    format!(
                        "Ping is lost, {waits} waits, and {who} has pong: pong sets off, to find that out."
                    )
                }
            });
        }
    }
    said
}

/// The tokens made, wanted, and one of them lost.
pub fn script(world: &mut World<DemandRing>) -> Result<(), Stop> {
    world.chapter(
        "Two tokens on a ring (token-ring)",
        &[
            "Who has ping may enter. pong watches over ping, and ping over pong: each counts how often they have met, and each \
             participant remembers the last token that came, with its count (m).",
            "Both rest where they are until they are wanted, and go from one to the next that is there. A word of the lock file, \
             the record, says who has each, or to whom it is on its way. At first neither was made.",
        ],
    )?;
    world.lock(ADA)?;
    world.chapter(
        "Two tokens on a ring: at home",
        &["ada unlocks, and locks again. No other participant waits."],
    )?;
    world.unlock(ADA)?;
    world.lock(ADA)?;
    world.chapter("Two tokens on a ring: wanted", &["ada is inside. cleo wants the lock, and then ben."])?;
    world.lock(CLEO)?;
    world.lock(BEN)?;
    world.unlock(ADA)?;
    world.deliver_all()?;
    world.say(&["ben comes before cleo, although cleo waits longer: the order is that of the ring."])?;
    world.chapter("Two tokens on a ring: round", &["ada wants the lock too, and ping comes round to it."])?;
    world.lock(ADA)?;
    world.unlock(BEN)?;
    world.deliver_all()?;
    world.unlock(CLEO)?;
    world.deliver_all()?;
    world.chapter(
        "Two tokens on a ring: ping lost with its holder",
        &["ben and cleo want the lock again, and ada unlocks. ben is killed inside."],
    )?;
    world.lock(BEN)?;
    world.lock(CLEO)?;
    world.unlock(ADA)?;
    world.deliver_all()?;
    world.kill(BEN)?;
    world.say(&[
        "ping has died with ben. In a lock file the kernel lets go of ben's byte lock. A waiter looks for that now and then, and ends \
         ben's life there. But pong is with ada.",
    ])?;
    world.end_life(BEN)?;
    world.deliver_all()?;
    world.say(&[
        "In a lock file, cleo's lock() says that the previous owner died. A token is made anew only by the one participant that \
         has changed its empty record to its own name.",
    ])?;
    world.unlock(CLEO)?;
    let count = world.count();
    world.say(&[
        "That was Misra's ring of 1983, with tokens that rest: no message for an entry where ping was last, else one for each \
         hop. Nothing moves while none waits.",
        &count,
    ])
}
