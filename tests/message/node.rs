//! A machine with its transport, where links are full.

use std::collections::VecDeque;
use turnlock::message::{
    Bakery, BakeryMessage, Channels, Event, LamportQueue, LamportQueueMessage, Machine, Message, Node,
    Notice, Refusal, Standing, Transport, Unfit,
};

/// Links with room for so many messages each.
#[derive(Debug)]
struct Narrow<M> {
    room: Vec<usize>,
    sent: Vec<(usize, M)>,
    come: VecDeque<Notice<M>>,
}

impl<M> Transport<M> for Narrow<M> {
    const CHANNELS: Channels = Channels { in_order: true, loses: false, repeats: true, loses_tokens: false };

    fn send(&mut self, to: usize, message: M) -> Result<(), (Refusal, M)> {
        if self.room[to] == 0 {
            return Err((Refusal::Full, message));
        }
        self.room[to] -= 1;
        self.sent.push((to, message));
        Ok(())
    }

    fn receive(&mut self) -> Option<Notice<M>> {
        self.come.pop_front()
    }
}

fn narrow<M>(room: &[usize]) -> Narrow<M> {
    Narrow { room: room.to_vec(), sent: Vec::new(), come: VecDeque::new() }
}

#[test]
fn a_full_link_holds_up_its_own_messages_in_order_and_all_that_comes() {
    let mut node = Node::new(LamportQueue::founding(3, 0).unwrap(), narrow(&[0, 1, 9])).unwrap();
    node.request().unwrap();
    node.withdraw().unwrap();
    let sent = |node: &mut Node<LamportQueue, Narrow<LamportQueueMessage>>| {
        let kinds = node.transport().sent.iter().map(|(to, message)| (*to, message.kind()));
        kinds.collect::<Vec<_>>()
    };
    assert_eq!(sent(&mut node), [(1, "request"), (2, "request"), (2, "release")]);
    assert_eq!(node.unsent(), 1);
    // Nothing that comes is taken while the release to 1 is unsent.
    let message = LamportQueueMessage::Request { clock: 9 };
    node.transport().come.push_back(Notice::Message { from: 2, message });
    assert_eq!(node.step(), Ok(false));
    node.transport().room[1] = 9;
    assert_eq!(node.step(), Ok(true));
    assert_eq!(sent(&mut node)[3..], [(1, "release"), (2, "acknowledge")]);
}

/// A peer that takes nothing for an hour costs no memory.
#[test]
fn nothing_is_asked_again_while_something_is_unsent() {
    let mut node = Node::new(Bakery::founding(2, 0).unwrap(), narrow::<BakeryMessage>(&[0, 2])).unwrap();
    node.request().unwrap();
    for _ in 0..1000 {
        node.tell(Event::Retry).unwrap();
    }
    assert_eq!((node.unsent(), node.transport().sent.len()), (1, 2));
    node.transport().room[1] = 1;
    node.tell(Event::Retry).unwrap();
    assert_eq!((node.unsent(), node.transport().sent.len()), (0, 3));
    assert_eq!(node.machine().standing(), Standing::Waiting);
}

#[test]
fn a_transport_that_does_more_than_the_machine_bears_is_refused() {
    let ring = turnlock::message::TokenRing::founding(2, 0, 2).unwrap();
    let refused = Node::new(ring, narrow(&[0, 0])).unwrap_err();
    assert!(matches!(refused, Unfit { channels: Channels { repeats: true, .. }, .. }), "{refused}");
}
