//! Which claims conflict.

use super::*;
use crate::sync::{AtomicU64, Ordering::Relaxed};

#[derive(Default)]
struct Cell([AtomicU64; 3]);

impl ClaimCell for Cell {
    fn claim(&self) -> ClaimWords<'_> {
        let [mode_word, first, last] = &self.0;
        ClaimWords { mode_word, first, last }
    }
}

fn conflicts(relation: Relation, one: Claim, other: Claim) -> bool {
    let (cells, permits) = (<[Cell; 2]>::default(), AtomicU32::new(3));
    let claims = InCells { cells: &cells, relation, permits: &permits };
    claims.write(0, one);
    claims.write(1, other);
    let waits = |mine: Claim, theirs| claims.cost(mine, theirs) > claims.capacity(mine);
    assert_eq!(waits(one, 1), waits(other, 0), "it is symmetric");
    waits(claims.read(0), 1)
}

#[test]
fn modes_conflict_but_shared_with_shared_and_upgradable() {
    use Mode::{Exclusive, Shared, Upgradable, Upgrading};
    for (one, other, conflict) in [
        (Shared, Shared, false),
        (Shared, Upgradable, false),
        (Upgradable, Upgradable, true),
        (Shared, Upgrading, true),
        (Upgradable, Exclusive, true),
        (Exclusive, Exclusive, true),
    ] {
        assert_eq!(conflicts(Relation::Modes, Claim::whole(one), Claim::whole(other)), conflict);
        assert!(conflicts(Relation::Modes, Claim::whole(one), Claim::EVERYTHING));
    }
}

#[test]
fn permits_conflict_where_they_are_too_much_together() {
    let weighing = |weight| Claim { weight, ..Claim::whole(Mode::Shared) };
    assert!(!conflicts(Relation::Permits, weighing(1), weighing(2)));
    assert!(conflicts(Relation::Permits, weighing(2), weighing(2)));
    assert!(conflicts(Relation::Permits, weighing(1), Claim::EVERYTHING));
}

#[test]
fn ranges_conflict_where_they_overlap_and_keys_where_they_are_equal() {
    let range = |first, last, mode| Claim { mode, weight: 1, extent: Extent { first, last } };
    use Mode::{Exclusive, Shared};
    for (one, other, ranges, keys) in [
        (range(0, 9, Exclusive), range(10, 19, Exclusive), false, false),
        (range(0, 10, Exclusive), range(10, 19, Shared), true, false),
        (range(0, 10, Shared), range(10, 19, Shared), false, false),
        (range(5, 5, Exclusive), range(0, u64::MAX, Exclusive), true, false),
        (range(5, 7, Exclusive), range(5, 7, Shared), true, true),
        (range(5, 7, Shared), range(5, 7, Shared), false, false),
    ] {
        assert_eq!(conflicts(Relation::Ranges, one, other), ranges, "{one:?} {other:?}");
        assert_eq!(conflicts(Relation::Keys, one, other), keys, "{one:?} {other:?}");
        assert!(conflicts(Relation::Keys, one, Claim::EVERYTHING));
    }
}

#[test]
fn groups_conflict_where_they_differ_whatever_the_deaths_that_a_member_was_told_of() {
    for (one, other, conflict) in [(0, 0, false), (7, 7, false), (7, 8, true), (0, u64::MAX, true)] {
        let [one, other] = [one, other].map(Claim::of_group);
        assert_eq!(conflicts(Relation::Groups, one, other), conflict, "{one:?} {other:?}");
        assert!(conflicts(Relation::Groups, one, Claim::EVERYTHING));
        assert!(conflicts(Relation::Groups, Claim::EVERYTHING, Claim::EVERYTHING));
    }
    let (cells, permits) = (<[Cell; 2]>::default(), AtomicU32::new(0));
    let claims = InCells { cells: &cells, relation: Relation::Groups, permits: &permits };
    claims.write(0, Claim::of_group(7));
    claims.write(1, Claim { extent: Extent { first: 7, last: 5 }, ..Claim::of_group(7) });
    assert_eq!(claims.read(1).extent.last, 0, "it was told of none yet");
    cells[1].claim().last.store(5, Relaxed);
    assert_eq!(claims.cost(claims.read(0), 1), 0);
    let mine = claims.read(0);
    assert!(
        claims.may_change(mine) && claims.hold_class(mine) == HoldClass::Member && mine.mode == Mode::Shared
    );
    assert!(!claims.may_be_reserved(mine));
}
