//! That the network fails as it is told to.

use crate::cables::{Own, Station, Switch, alone};
use std::{net::UdpSocket, time::Duration};
use support::limit;

/// How long is waited for what does not come.
const A_MOMENT: Duration = Duration::from_millis(200);
const PORT: u16 = 7;

fn socket(station: &Station) -> UdpSocket {
    station.within(|| UdpSocket::bind((station.address(), PORT)).unwrap())
}

/// Whether what one sends to the other arrives.
fn arrives(from: &UdpSocket, to: &UdpSocket, is_expected: bool) -> bool {
    let patience = if is_expected { limit::seconds(60) } else { A_MOMENT };
    to.set_read_timeout(Some(patience)).unwrap();
    // A station whose cable is out may say so.
    let sent = from.send_to(b"x", to.local_addr().unwrap());
    sent.is_ok() && to.recv(&mut [0]).is_ok()
}

#[test]
fn directions_are_cut_and_cables_pulled_out_and_both_healed() {
    alone(|| {
        support::watchdog::a_test_begins();
        let switch = Switch::new(2).unwrap();
        let [a, b] = [0, 1].map(|number| switch.station(number, Own::default()).unwrap());
        let (of_a, of_b) = (socket(&a), socket(&b));
        let both = |is_expected| (arrives(&of_a, &of_b, is_expected), arrives(&of_b, &of_a, is_expected));
        assert_eq!(both(true), (true, true));
        switch.cut(&a, &b);
        assert!(!arrives(&of_a, &of_b, false) && arrives(&of_b, &of_a, true));
        switch.cut(&b, &a);
        assert_eq!(both(false), (false, false));
        switch.heal(&a, &b);
        assert!(arrives(&of_a, &of_b, true) && !arrives(&of_b, &of_a, false));
        switch.heal(&b, &a);
        assert_eq!(both(true), (true, true));
        switch.pull(&b);
        assert_eq!(both(false), (false, false));
        switch.plug(&b);
        support::until("the cable is in again", || {
            arrives(&of_a, &of_b, false) && arrives(&of_b, &of_a, false)
        });
    });
}
