//! A host that is cut off, with the lock.

use crate::{cables::alone, member::MEMBERS, program::now, runs::agencies, world::World};

/// How often it is seen to enter while it is cut off.
const ENTRIES: u32 = 100;

#[test]
fn a_host_that_is_cut_off_goes_on_with_the_lock_that_it_keeps_and_no_other_gets_it() {
    alone(|| {
        support::watchdog::a_test_begins();
        let mut world = World::begin(false, agencies(false)).unwrap();
        world.start_programs_at(0);
        enters_again(&world);
        for member in 0..MEMBERS {
            world.cut(MEMBERS, member);
            world.cut(member, MEMBERS);
        }
        world.start_programs();
        (0..ENTRIES).for_each(|_| enters_again(&world));
        assert_eq!([1, 2].map(|other| world.hosts[other].entered_last()), [0, 0]);
        world.heal();
        world.until_each_host_is_in();
        world.is_over().0.unwrap();
    });
}

/// Waits until a program of the first host enters.
fn enters_again(world: &World) {
    let since = now();
    support::until("it enters once more", || world.hosts[0].entered_last() > since);
}
