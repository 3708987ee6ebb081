//! Messages of arbitrary bytes: a message that is written just so, or an error; and no machine ends by one.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use turnlock::message::{Bakery, Event, LamportQueue, Machine, DemandRing, RicartAgrawala, TokenRing, Wire};

/// What happens to a machine.
#[derive(Arbitrary, Debug)]
enum Happens {
    Request,
    Withdraw,
    Release,
    Join,
    Leave,
    Retry,
    Recreate(u32),
    Down(u8),
    /// Bytes come from a participant, and the head is made right: all but the kind.
    Comes(u8, Vec<u8>),
}

#[derive(Arbitrary, Debug)]
struct Input {
    machine: u8,
    participants: u8,
    happens: Vec<Happens>,
}

fuzz_target!(|input: Input| {
    let n = usize::from(input.participants % 4) + 1;
    let tokens = usize::from(input.machine / 5 % 8) + 1;
    match input.machine % 5 {
        0 => run(LamportQueue::founding(n, 0).unwrap(), input.happens),
        1 => run(RicartAgrawala::founding(n, 0).unwrap(), input.happens),
        2 => run(TokenRing::founding(n, 0, tokens).unwrap(), input.happens),
        3 => run(DemandRing::absent(n, 0, 1).unwrap(), input.happens),
        _ => run(Bakery::founding(n, 0).unwrap(), input.happens),
    }
});

fn run<A: Machine<Message: Wire>>(mut machine: A, happens: Vec<Happens>) {
    let n = machine.participants();
    let mut room = vec![0; A::Message::max_bytes(n)];
    for what in happens {
        let event = match what {
            Happens::Request => Event::Request,
            Happens::Withdraw => Event::Withdraw,
            Happens::Release => Event::Release,
            Happens::Join => Event::Join,
            Happens::Leave => Event::Leave,
            Happens::Retry => Event::Retry,
            Happens::Recreate(floor) => Event::Recreate { floor: floor.into() },
            Happens::Down(peer) => Event::Down { peer: peer.into() },
            Happens::Comes(from, mut bytes) => {
                if let [version, number, ..] = &mut bytes[..] {
                    (*version, *number) = (1, A::Message::MACHINE);
                }
                let Ok(message) = A::Message::decode(&bytes, n) else { continue };
                let length = message.encode(n, &mut room).unwrap();
                assert_eq!(room[..length], bytes, "two forms of one message");
                Event::Receive { from: from.into(), message }
            }
        };
        // What cannot be is an error that has a text.
        if let Err(misuse) = machine.on(event) {
            assert!(!misuse.to_string().is_empty());
        }
    }
}
