//! A token on a mesh: its requests, its token, and its script.

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
    Action, Event, Machine, Message, Misuse, RicartAgrawala, RicartAgrawalaMessage as Say, RingHost, Standing,
};

/// Returns the stamp of a request without the life in its high half: how many requests there were.
fn count(stamp: u64) -> u32 {
    stamp as u32
}

fn list(stamps: impl Iterator<Item = u64>) -> String {
    stamps.map(|stamp| count(stamp).to_string()).collect::<Vec<_>>().join(" ")
}

impl Shown for RicartAgrawala {
    const FENCING: &'static str = "the token's number, which counts each hop and each entry";
    const TOKENS: &'static [&'static str] = &["token"];
    const COLUMNS: &'static [(&'static str, usize)] = &[("clock", 5), ("requests", 8), ("token", 13)];

    fn begun(participants: usize, me: usize) -> Result<Self, Misuse> {
        Self::founding(participants, me)
    }

    fn cells(&self, down: &[bool]) -> Vec<String> {
        let token =
            self.token().map(|token| format!("#{} [{}]", token.number, list(token.visits.iter().copied())));
        let requests = list((0..down.len()).map(|peer| self.request_of(peer)));
        vec![count(self.clock()).to_string(), requests, token.unwrap_or_else(|| "-".into())]
    }

    fn text(message: &MessageOf<Self>) -> String {
        match message {
            Say::Request { stamp } => format!("REQUEST({})", count(*stamp)),
            Say::Token(token) => format!("TOKEN(#{})", token.number),
            other => other.kind().to_uppercase(),
        }
    }

    fn token_number(message: &MessageOf<Self>) -> Option<u64> {
        match message {
            Say::Token(token) => Some(token.number),
            _ => None,
        }
    }

    fn told(told: &Told<Self>) -> Vec<String> {
        let (who, now) = (told.who(), told.now);
        let mut said = match told.event {
            Event::Request if told.before.token().is_some() => {
                vec![format!("The token is here: {who} needs no message.")]
            }
            Event::Request => vec![format!(
                "The token is not here. {who} counts its requests, and tells the others: this is number {}.",
                count(now.clock())
            )],
            Event::Release => {
                vec![format!(
                    "{who}'s section is over. The token says now which requests it has served: {}.",
                    visits(told)
                )]
            }
            Event::Receive { from, message: Say::Request { .. } } => vec![requested(told, *from)],
            Event::Receive { message: Say::Token(token), .. } => {
                vec![format!(
                    "The token is here now. It says which requests it has served: [{}].",
                    list(token.visits.iter().copied())
                )]
            }
            Event::Down { peer } => vec![format!("{who} sends {} no token any more.", LABELS[*peer])],
            _ => Vec::new(),
        };
        said.extend(goes_to(told.actions).map(|to| {
            format!(
                "{to} is the first after {who}, in the order of numbers, with a request that the token has not served."
            )
        }));
        if matches!(told.event, Event::Release) && now.token().is_some() {
            said.push(
                "No participant that is there has a request that the token has not served. So it stays."
                    .into(),
            );
        }
        said
    }

    fn attend(&mut self, host: &mut Host) -> Result<Attended<Self>, Misuse> {
        let is_to_take = self.standing() == Standing::Waiting;
        let Some(floor) = is_to_take.then(|| host.take(0)).flatten() else {
            return Ok((Vec::new(), Vec::new()));
        };
        let actions = self.on(Event::Recreate { floor })?;
        let who = LABELS[self.me()];
        let said = vec![
            format!(
                "{who} waits, and sees that the record of the token names no participant: the token is lost for certain."
            ),
            format!(
                "{who} writes its own name there, and makes the token anew with a number above {floor}, the largest so far."
            ),
        ];
        Ok((said, actions))
    }
}

/// Returns what the token says of the last section.
fn visits(told: &Told<RicartAgrawala>) -> String {
    let token = told.now.token().or_else(|| {
        told.actions.iter().find_map(|action| match action {
            Action::Send { message: Say::Token(token), .. } => Some(token),
            _ => None,
        })
    });
    token.map_or_else(String::new, |token| format!("[{}]", list(token.visits.iter().copied())))
}

fn requested(told: &Told<RicartAgrawala>, from: usize) -> String {
    let who = told.who();
    let noted = format!("{who} notes {}'s last request: {}.", LABELS[from], count(told.now.request_of(from)));
    match (told.now.standing(), told.before.token()) {
        (Standing::Inside, _) => format!("{noted} {who} is inside, and answers nothing."),
        (_, Some(_)) => format!("{noted} The token is here, and not in use."),
        (_, None) => format!("{noted} It does not have the token, so it answers nothing."),
    }
}

fn goes_to(actions: &[Action<Say>]) -> Option<&'static str> {
    actions.iter().find_map(|action| match action {
        Action::Send { to, message: Say::Token(_) } => Some(LABELS[*to]),
        _ => None,
    })
}

/// The token at home, asked for, and dead with its holder.
pub fn script(world: &mut World<RicartAgrawala>) -> Result<(), Stop> {
    world.chapter(
        "A token on a mesh (ricart-agrawala)",
        &[
            "There is one token, and who has it may enter without asking. Each participant counts its own requests (clock), and \
             knows the last request that came from each (requests, of ada, ben and cleo). ada has the token at first.",
            "The token has a number, and says for each participant which of its requests it has served: #0 [0 0 0]. A word \
             of the lock file, the record, says who has it, or to whom it is on its way.",
        ],
    )?;
    world.lock(ADA)?;
    world.chapter("A token on a mesh: asked for", &["ada is inside. ben wants the lock, and then cleo."])?;
    world.lock(BEN)?;
    world.deliver_all()?;
    world.lock(CLEO)?;
    world.deliver_all()?;
    world.chapter("A token on a mesh: passed on", &["ada unlocks."])?;
    world.unlock(ADA)?;
    world.deliver_all()?;
    world.chapter(
        "A token on a mesh: lost with its holder",
        &["ben has the token, and cleo waits. Now ben is killed."],
    )?;
    world.kill(BEN)?;
    world.say(&[
        "The token has died with ben, and no message will say so. In a lock file the kernel lets go of ben's byte lock. A waiter looks \
         for that now and then, and ends ben's life there.",
    ])?;
    world.end_life(BEN)?;
    world.say(&[
        "A token is made anew for this reason only: the record was empty, and one participant alone has changed it to its own \
         name. In a lock file, cleo's lock() says that the previous owner died.",
    ])?;
    world.unlock(CLEO)?;
    world.chapter(
        "A token on a mesh: at home",
        &["cleo wants the lock again, and no other participant has asked."],
    )?;
    world.lock(CLEO)?;
    world.unlock(CLEO)?;
    let count = world.count();
    world.say(&[
        "That was the token of Ricart and Agrawala (1983) and of Suzuki and Kasami (1985): n messages for an entry, none where \
         the token was last.",
        &count,
    ])
}
