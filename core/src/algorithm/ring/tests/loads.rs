//! How many loads there are, as docs/algorithms.md counts them.

use super::*;

#[test]
fn loads_are_as_many_as_the_document_says() {
    fn count<R>(table: &Table, act: impl FnOnce() -> R) -> usize {
        table.loads.set(0);
        let _ = act();
        table.loads.get()
    }
    let (u, m) = (9, 4);
    for rule in rules(u).into_iter().take(3) {
        let table = Table::new(u);
        let ring = table.ring(rule);
        let sum = matches!(rule, Rule::Sum { .. });
        table.membership[0].set(Membership::EveryTurn);
        ring.begin(0);
        assert_eq!(count(&table, || assert!(ring.has_privilege(0))), if sum { u + 2 } else { 4 }, "{rule:?}");
        assert_eq!(count(&table, || ring.pass(0, |_| ())), 2 * u + 1, "alone, {rule:?}");
        assert!(count(&table, || ring.who()) <= if sum { u } else { 3 * u + 1 }, "{rule:?}");
        table.membership.iter().take(m).for_each(|membership| membership.set(Membership::EveryTurn));
        (0..m).for_each(|machine| assert_ne!(ring.pass(machine, |_| ()), Passed::ToNobody));
        assert_eq!(
            count(&table, || assert!(!ring.has_privilege(1))),
            if sum { u + 1 } else { 3 },
            "{rule:?}"
        );
        assert_eq!(count(&table, || ring.pass(0, |_| ())), 2 * u + m + 2, "{rule:?}");
    }
}
