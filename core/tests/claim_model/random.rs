//! Random visits of more participants, under shuttle.

use crate::life::BLOCK;
use crate::oracle::get;
use crate::plan::{
    BIAS, HOLD, LEASE, MOVE, Plan, READ, TO_READ, Then, UPGRADE, Visit, WRITE, member, permits, range,
};
use crate::search::all_hold;
use std::time::Duration;
use turnlock_core::acquire::site::Limit;
use turnlock_core::algorithm::claim::{Mode, Relation};

/// Each participant's visits, of these in turn.
fn among(relation: Relation, participants: usize, turns: usize, visits: &[Visit]) -> Plan {
    let of = |participant| (0..turns).map(move |turn| visits[(participant * turns + turn) % visits.len()]);
    let visits: Vec<Vec<Visit>> = (0..participants).map(|participant| of(participant).collect()).collect();
    let visits: Vec<&[Visit]> = visits.iter().map(Vec::as_slice).collect();
    Plan { permits: 3, ..Plan::new(relation, &visits) }
}

const GIVES_UP: Visit = HOLD.then(Then::Upgrade(Limit::For(Duration::ZERO)));
const OF_RWLOCK: [Visit; 10] = [
    BIAS,
    READ,
    UPGRADE,
    BIAS,
    BIAS,
    WRITE,
    WRITE.then(Then::Downgrade(Mode::Upgradable)),
    GIVES_UP,
    HOLD.then(Then::UpgradeAndDowngrade(Mode::Shared)),
    WRITE.timed(),
];

/// The same, each of which passes over those before it, and each third of which dies at one step or another.
fn rough(visits: &[Visit], passes: usize) -> Vec<Visit> {
    let die = |at: usize, visit: Visit| if at % 3 == 2 { visit.dies(3 + at) } else { visit };
    visits.iter().enumerate().map(|(at, visit)| die(at, visit.evicts(passes))).collect()
}

#[test]
fn readers_and_writers_of_all_kinds() {
    for participants in 3..=5 {
        let tally = all_hold("a rwlock", 4, &[among(Relation::Modes, participants, 3, &OF_RWLOCK)], 0);
        assert!(get(&tally.biased_entries) > 0 && get(&tally.upgrades) > 0, "too little came up");
    }
    for participants in 3..=4 {
        let plan = among(Relation::Modes, participants, 3, &rough(&OF_RWLOCK, 0));
        let tally = all_hold("a rwlock, with deaths", 4, &[plan], 0);
        assert!(get(&tally.deaths_of_writers) > 0 && get(&tally.notices) > 0, "too little came up");
        let evicting: Vec<Visit> = OF_RWLOCK.map(|visit| visit.evicts(2)).to_vec();
        let plan = among(Relation::Modes, participants, 2, &evicting);
        let tally = all_hold("a rwlock, with evictions", 4, &[plan], 0);
        assert!(get(&tally.evictions) > 0 && get(&tally.lost) > 0, "too little came up");
        let plan = among(Relation::Modes, participants, 3, &rough(&OF_RWLOCK, 2));
        let tally = all_hold("a rwlock, with deaths and evictions", 4, &[plan], 0);
        assert!(get(&tally.evictions) > 0 && get(&tally.deaths) > 0, "too little came up");
    }
}

/// One that revokes the bias is passed over by one that upgrades, with a reader between them.
#[test]
fn who_upgrades_passes_over_a_reader_that_waits_for_a_writer_that_waits_for_it() {
    let plan = Plan::biased(&[&[WRITE], &[READ, READ], &[UPGRADE.evicts(2)]]);
    all_hold("a writer, a reader and an upgrader that evicts", 4, &[plan], 0);
}

#[test]
fn permits_and_parts_of_many() {
    use Mode::{Exclusive, Shared};
    let of_semaphore =
        [permits(1), permits(2), permits(3).then(Then::Keep(1)), permits(1), permits(2).timed()];
    let of_range = [
        range(0, 1, Exclusive),
        range(1, 2, Shared),
        range(2, 3, Exclusive),
        range(1, 3, Shared),
        range(0, 3, Exclusive),
    ];
    for (relation, visits) in
        [(Relation::Permits, of_semaphore), (Relation::Ranges, of_range), (Relation::Keys, of_range)]
    {
        for visits in [visits.to_vec(), rough(&visits, 0), rough(&visits, 2)] {
            let tally = all_hold(&format!("{relation:?}"), 4, &[among(relation, 4, 3, &visits)], 0);
            assert!(get(&tally.together) > 0, "they never met");
        }
    }
}

#[test]
fn groups_of_many() {
    let of_groups = [member(1), member(2), member(1), member(1).timed(), member(3), member(2), member(1)];
    let mut told = 0;
    for participants in 3..=4 {
        for visits in [of_groups.to_vec(), rough(&of_groups, 0), rough(&of_groups, 2)] {
            let tally = all_hold("groups", 4, &[among(Relation::Groups, participants, 3, &visits)], 0);
            assert!(get(&tally.together) > 0, "they never met");
            told += get(&tally.notices);
        }
    }
    assert!(told > 0, "no member ever died inside");
}

/// Places are retained, come back to, and taken away.
#[test]
fn those_who_retain_their_places() {
    let of_rwlock = [
        WRITE.retains(),
        READ,
        WRITE.retains(),
        BIAS,
        WRITE.retains().then(Then::Downgrade(Mode::Shared)),
        READ.timed(),
        UPGRADE,
        WRITE.retains(),
        WRITE.tries(),
        READ,
    ];
    let of_semaphore = [
        permits(1).retains(),
        permits(1).retains(),
        permits(2).retains(),
        permits(2).then(Then::Keep(1)),
        permits(1).tries(),
        permits(1).retains().timed(),
        permits(3).retains(),
    ];
    for (relation, visits) in [(Relation::Modes, &of_rwlock[..]), (Relation::Permits, &of_semaphore)] {
        let (mut came, mut taken) = (0, 0);
        for participants in 2..=4 {
            for visits in [visits.to_vec(), rough(visits, 0), rough(visits, 2)] {
                let tally = all_hold("reservations", 4, &[among(relation, participants, 5, &visits)], 0);
                came += get(&tally.biased_entries);
                taken += get(&tally.evictions);
            }
        }
        assert!(came > 500 && taken > 500, "{relation:?}: {came} came by a place, {taken} were taken away");
    }
}

/// An agent moves a rwlock away and home beside them all, also where it has a lease.
#[test]
fn those_of_a_linked_rwlock() {
    let visits: Vec<Visit> = OF_RWLOCK.into_iter().chain([WRITE.retains(), READ, WRITE.retains()]).collect();
    let (mut moves, mut refused, mut biased) = (0, 0, 0);
    for participants in 2..=4 {
        for agent in [&[MOVE, MOVE, MOVE][..], &[MOVE, LEASE, MOVE], &[TO_READ, MOVE, TO_READ, MOVE]] {
            for visits in [visits.clone(), rough(&visits, 0), rough(&visits, 2)] {
                let mut plan = among(Relation::Modes, participants, 4, &visits).linked(BLOCK);
                plan.visits.push(agent.to_vec());
                let tally = all_hold("a linked rwlock", 4, &[plan], 0);
                moves += get(&tally.moves);
                refused += get(&tally.refused_away);
                biased += get(&tally.biased_entries);
            }
        }
    }
    assert!(moves > 500 && refused > 100 && biased > 30, "{moves} moves, {refused} refused, {biased} biased");
}
