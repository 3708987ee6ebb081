//! A process without a machine, that shows what its transport does to messages.

use crate::{
    cables::enter_host,
    orders::Orders,
    sockets::{Sockets, Wrong},
};
use std::{io, os::fd::AsFd, time::Duration};
use support::actor::say;
use turnlock::message::{LamportQueueMessage, Notice, Transport};

/// The role. Words: its number, how many there are, its host's pid, and how its transport is wrong.
///
/// It sends all others messages with the clocks 1, 2, 3 ..., until it hears `enough`. `ask` has it say how many
/// it has sent to and got from each, and the first thing that is not as the contract says; `end` ends it.
pub fn talker(words: &[String]) {
    let (me, n): (usize, usize) = (words[0].parse().unwrap(), words[1].parse().unwrap());
    let wrong = [Wrong::NoNumbers, Wrong::NothingAgain, Wrong::SilenceIsDeath];
    let wrong = wrong.into_iter().find(|wrong| format!("{wrong:?}") == words[3]).unwrap_or(Wrong::Nothing);
    enter_host(&words[2]);
    let mut sockets: Sockets<LamportQueueMessage> = Sockets::new(me, n, 1, wrong).unwrap();
    let (mut sent, mut got) = (vec![0_u64; n], vec![0_u64; n]);
    let (mut goes_on, mut broken, mut orders) = (true, String::from("-"), Orders::new());
    say("ready");
    loop {
        sockets.wait(io::stdin().as_fd(), Duration::from_millis(20));
        for order in orders.come() {
            match order.as_str() {
                "enough" => goes_on = false,
                "end" => return,
                _ => {}
            }
            let sums = sockets.counts;
            let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
            say(&format!("{}|{}|{}|{}|{broken}", list(&sent), list(&got), sums.broken, sums.again));
        }
        sockets.work();
        while let Some(notice) = sockets.receive() {
            let what = match notice {
                Notice::Message { from, message: LamportQueueMessage::Request { clock } } => {
                    let last = std::mem::replace(&mut got[from], clock);
                    if clock == last + 1 {
                        continue;
                    }
                    format!("message {clock} of participant {from} came after its message {last}")
                }
                other => format!("{other:?} came, which no participant sent"),
            };
            if broken == "-" {
                broken = what;
            }
        }
        for peer in (0..n).filter(|peer| *peer != me && goes_on) {
            while sockets.send(peer, LamportQueueMessage::Request { clock: sent[peer] + 1 }).is_ok() {
                sent[peer] += 1;
                if sent[peer].is_multiple_of(64) {
                    break;
                }
            }
        }
    }
}
