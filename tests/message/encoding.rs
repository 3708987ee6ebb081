//! Messages as bytes: what is written is read again, what is not written is refused, and what is read, from any sender,
//! does no harm to a machine. The simulator asserts of every machine's message that it carries that it can be written.

use std::fmt::Debug;
use support::simulator::Dice;
use turnlock::message::{
    Bakery, BakeryMessage, Event, LamportQueue, LamportQueueMessage, Machine, Malformed, MeshToken, Misuse,
    RicartAgrawala, RicartAgrawalaMessage, RingToken, TokenRing, TokenRingMessage, Wire,
};

/// The largest clock or number of the queue and the bakery, and the largest number of a token.
const MOST_CLOCK: u64 = (1 << 52) - 1;
const MOST_NUMBER: u64 = (1 << 63) - 1;
/// What counts on from a life, in the first life and in the last.
const OF_A_LIFE: [u64; 2] = [(1 << 32) + 1, u64::MAX];

fn of_the_queue(_: usize) -> Vec<LamportQueueMessage> {
    use LamportQueueMessage::{Acknowledge, Join, Leave, Release, Request, Welcome};
    let clocks = [1, 0x1234, MOST_CLOCK];
    let lives = [1, u32::MAX];
    let welcome = |knows| move |life| Welcome { life, own: life ^ 2, round: life ^ 1, knows };
    let mut all: Vec<_> =
        lives.into_iter().flat_map(|life| [Join { life, round: life }, Leave { life }]).collect();
    all.extend(
        clocks.into_iter().flat_map(|clock| [Request { clock }, Acknowledge { clock }, Release { clock }]),
    );
    all.extend(lives.map(welcome(true)).into_iter().chain(lives.map(welcome(false))));
    all
}

fn of_the_mesh(n: usize) -> Vec<RicartAgrawalaMessage> {
    use RicartAgrawalaMessage::{Farewell, Join, Leave, Request, Token, Welcome};
    let token = |number, visit| Token(MeshToken { number, visits: vec![visit; n].into() });
    vec![
        Request { stamp: OF_A_LIFE[0] },
        Request { stamp: OF_A_LIFE[1] },
        token(1, 0),
        token(MOST_NUMBER, 1 << 32),
        token(7, u64::MAX),
        Join { life: 1 },
        Welcome { life: 1, own: u32::MAX },
        Leave { life: 3 },
        Farewell { life: 1, sent: 0 },
        Farewell { life: 1, sent: MOST_NUMBER },
    ]
}

fn of_the_ring(n: usize) -> Vec<TokenRingMessage> {
    use TokenRingMessage::{Clear, Join, Leave, Mark, Restarted, Token, Welcome};
    let n16 = n as u16;
    vec![
        Token(RingToken { name: 0, counter: 0, fresh: 0, number: 1, ward_number: 0 }),
        Token(RingToken { name: 7, counter: n16, fresh: n16, number: MOST_NUMBER, ward_number: MOST_NUMBER }),
        Mark { round: OF_A_LIFE[0], to_leave: false },
        Mark { round: OF_A_LIFE[1], to_leave: true },
        Clear { round: OF_A_LIFE[0], next: 0 },
        Clear { round: OF_A_LIFE[1], next: n - 1 },
        Join { life: 1 },
        Welcome { life: u32::MAX, next: n - 1 },
        Leave { life: 2 },
        Restarted { life: 3 },
    ]
}

fn of_the_bakery(_: usize) -> Vec<BakeryMessage> {
    use BakeryMessage::{Answer, Ask, Join, Leave, Welcome};
    let question = OF_A_LIFE[0];
    vec![
        Ask { question, number: 0 },
        Ask { question: OF_A_LIFE[1], number: MOST_CLOCK },
        Answer { question, choosing: true, number: 0, highest: 0 },
        Answer { question, choosing: false, number: MOST_CLOCK, highest: MOST_CLOCK },
        Join { life: 1, round: 1 },
        Welcome { life: 1, own: 2, round: 0, knows: false, highest: 0 },
        Welcome { life: u32::MAX, own: u32::MAX, round: u32::MAX, knows: true, highest: MOST_CLOCK },
        Leave { life: 1 },
    ]
}

fn encoded<M: Wire + Debug>(message: &M, n: usize) -> Vec<u8> {
    let mut bytes = vec![0xaa; M::max_bytes(n)];
    let length = message.encode(n, &mut bytes).unwrap_or_else(|wrong| panic!("{message:?}: {wrong}"));
    bytes.truncate(length);
    bytes
}

/// Returns whether the bytes were read: then they are what is written.
fn is_canonical<M: Wire + Debug>(bytes: &[u8], n: usize) -> bool {
    let Ok(message) = M::decode(bytes, n) else { return false };
    assert_eq!(encoded(&message, n), bytes, "{message:?} was read, and is written otherwise");
    true
}

fn is_one_form_only<M: Wire + PartialEq + Debug>(messages: impl Fn(usize) -> Vec<M>) {
    for n in [1, 2, 5, 4096] {
        let all = messages(n);
        let longest = all.iter().map(|message| encoded(message, n).len()).max();
        assert_eq!(longest, Some(M::max_bytes(n)), "the longest message for {n} participants");
        for message in &all {
            let bytes = encoded(message, n);
            assert_eq!(M::decode(&bytes, n).as_ref(), Ok(message));
            let too_little = message.encode(n, &mut vec![0; bytes.len() - 1]);
            assert_eq!(too_little, Err(Malformed::Room { bytes: bytes.len() - 1 }));
            for cut in (0..bytes.len()).filter(|cut| *cut < 64 || bytes.len() - cut < 64) {
                assert!(
                    !is_canonical::<M>(&bytes[..cut], n),
                    "{message:?}, cut off after {cut} bytes, was read"
                );
            }
            for more in [0, 1, 0xff] {
                let longer = [&bytes[..], &[more]].concat();
                assert!(!is_canonical::<M>(&longer, n), "{message:?} with a byte more was read");
            }
        }
        // Each byte of each message in turn with each value that it can have.
        if n < 10 {
            for message in &all {
                let bytes = encoded(message, n);
                for at in 0..bytes.len() {
                    for value in 0..=u8::MAX {
                        let mut other = bytes.clone();
                        other[at] = value;
                        is_canonical::<M>(&other, n);
                    }
                }
            }
        }
    }
}

#[test]
fn a_message_has_one_form_and_everything_else_is_refused() {
    is_one_form_only(of_the_queue);
    is_one_form_only(of_the_mesh);
    is_one_form_only(of_the_ring);
    is_one_form_only(of_the_bakery);
}

/// The first message of each, as it stands in the table of `Wire`.
#[test]
fn the_encoding_is_the_one_that_is_documented() {
    fn is<M: Wire + Debug>(message: &M, n: usize, bytes: &[u8]) {
        assert_eq!(encoded(message, n), bytes, "{message:?}");
    }
    let acknowledge = LamportQueueMessage::Acknowledge { clock: 0x0102 };
    is(&acknowledge, 2, &[1, 1, 2, 0, 2, 1, 0, 0, 0, 0, 0, 0]);
    let welcome = LamportQueueMessage::Welcome { life: 3, own: 4, round: 5, knows: true };
    is(&welcome, 2, &[1, 1, 5, 1, 3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0]);
    let token = RicartAgrawalaMessage::Token(MeshToken { number: 9, visits: [0, 1 << 32].into() });
    is(&token, 2, &[1, 2, 2, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]);
    let token =
        TokenRingMessage::Token(RingToken { name: 1, counter: 2, fresh: 3, number: 4, ward_number: 5 });
    is(&token, 3, &[1, 3, 1, 0, 1, 2, 0, 3, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]);
    let mark = TokenRingMessage::Mark { round: (1 << 32) + 1, to_leave: true };
    is(&mark, 3, &[1, 3, 2, 1, 1, 0, 0, 0, 1, 0, 0, 0]);
    let answer = BakeryMessage::Answer { question: (1 << 32) + 1, choosing: true, number: 0, highest: 6 };
    is(&answer, 2, &[1, 4, 2, 1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_refusal_says_why() {
    let read = |bytes: &[u8]| LamportQueueMessage::decode(bytes, 2);
    let request = encoded(&LamportQueueMessage::Request { clock: 1 }, 2);
    let with = |at: usize, value: u8| {
        let mut bytes = request.clone();
        bytes[at] = value;
        read(&bytes)
    };
    assert_eq!(read(&[]), Err(Malformed::Length { bytes: 0 }));
    assert_eq!(read(&request[..11]), Err(Malformed::Length { bytes: 11 }));
    assert_eq!(with(0, 2), Err(Malformed::Version { version: 2 }));
    assert_eq!(with(1, 4), Err(Malformed::Machine { machine: 4, expected: 1 }));
    assert_eq!(with(2, 7), Err(Malformed::Kind { kind: 7 }));
    assert_eq!(with(3, 1), Err(Malformed::Flag { flag: 1 }));
    assert_eq!(with(4, 0), Err(Malformed::Value { field: "clock", value: 0, most: MOST_CLOCK }));

    let mut room = [0; 64];
    let worn_out = LamportQueueMessage::Request { clock: MOST_CLOCK + 1 }.encode(2, &mut room);
    assert_eq!(worn_out, Err(Malformed::Value { field: "clock", value: MOST_CLOCK + 1, most: MOST_CLOCK }));
    let elsewhere = TokenRingMessage::Clear { round: OF_A_LIFE[0], next: 2 }.encode(2, &mut room);
    assert_eq!(elsewhere, Err(Malformed::Value { field: "next participant", value: 2, most: 1 }));
    let token = RicartAgrawalaMessage::Token(MeshToken { number: 1, visits: [0; 3].into() });
    let larger = token.encode(2, &mut room);
    assert_eq!(larger, Err(Malformed::Value { field: "number of visits", value: 3, most: 2 }));
    let for_three = encoded(&token, 3);
    assert_eq!(
        RicartAgrawalaMessage::decode(&for_three, 2),
        Err(Malformed::Length { bytes: for_three.len() })
    );
}

/// No peer would count a participant whose life is 0 as present.
#[test]
fn a_life_of_number_0_is_refused() {
    assert_eq!(LamportQueue::absent(2, 0, 0), Err(Misuse::Life));
    assert_eq!(RicartAgrawala::absent(2, 0, 0), Err(Misuse::Life));
    assert_eq!(TokenRing::absent(2, 0, 0, 2), Err(Misuse::Life));
    assert_eq!(TokenRing::restarted(2, 0, 0, 2, 1), Err(Misuse::Life));
    assert_eq!(Bakery::absent(2, 0, 0), Err(Misuse::Life));
    let join = LamportQueueMessage::Join { life: 0, round: 1 }.encode(2, &mut [0; 64]);
    assert_eq!(join, Err(Malformed::Value { field: "life", value: 0, most: u32::MAX.into() }));
}

/// A machine is told what a liar sends, and goes on or refuses it.
fn survives<A: Machine<Message: Wire + Debug>>(
    machine: A,
    messages: impl Fn(usize) -> Vec<A::Message>,
    seed: u64,
) {
    let (mut machine, mut dice) = (machine, Dice::new(seed));
    let n = machine.participants();
    let examples = messages(n);
    for _ in 0..3_000 {
        let event = match dice.within(0..16) {
            0 => Event::Request,
            1 => Event::Withdraw,
            2 => Event::Release,
            3 => Event::Leave,
            4 => Event::Join,
            5 => Event::Retry,
            6 => Event::Down { peer: dice.within(0..n as u64 + 1) as usize },
            _ => {
                let mut bytes = encoded(&examples[dice.within(0..examples.len() as u64) as usize], n);
                for _ in 0..dice.within(0..4) {
                    let at = dice.within(2..bytes.len() as u64) as usize;
                    bytes[at] = dice.number() as u8;
                }
                let Ok(message) = A::Message::decode(&bytes, n) else { continue };
                Event::Receive { from: dice.within(0..n as u64 + 1) as usize, message }
            }
        };
        let _ = machine.on(event);
    }
}

#[test]
fn what_a_liar_sends_ends_no_machine() {
    for seed in 1..=20 {
        survives(LamportQueue::founding(3, 0).unwrap(), of_the_queue, seed);
        survives(RicartAgrawala::founding(3, 0).unwrap(), of_the_mesh, seed);
        survives(TokenRing::founding(3, 0, 2).unwrap(), of_the_ring, seed);
        survives(TokenRing::founding(3, 0, 3).unwrap(), of_the_ring, seed);
        survives(Bakery::founding(3, 0).unwrap(), of_the_bakery, seed);
    }
}
