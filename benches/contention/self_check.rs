//! Before anything is measured: would a violation be noticed? A lock that locks nothing must be caught.

use crate::{arena::VIOLATED, contender, round::Ground, scenario::SCENARIOS};

/// # Errors
/// If it is not caught. Numbers that nobody checked are not worth printing.
pub fn run(ground: &Ground) -> Result<(), String> {
    // Sections long enough that two overlap even on one core.
    let cell = SCENARIOS.iter().flat_map(|scenario| scenario.cells()).find(|cell| cell.is("long-1ms", 2, 2));
    let cell = cell.expect("there is such a cell");
    match ground.round(contender::nothing().as_ref(), &cell) {
        Err(why) if why.contains(VIOLATED) => Ok(()),
        Err(why) => Err(why),
        Ok(_) => Err("a lock that locks nothing was not caught: the check does not work here".into()),
    }
}
