//! Before anything is measured: a violation must be noticed (a lock that locks nothing is caught), and there must be a clock
//! that work can be counted by.

use crate::{
    arena::VIOLATED, clock, contender, round::Ground, scenario::SCENARIOS, statistics::median, work,
};

/// # Errors
/// If it is not caught, or reading the clock takes too long. Unchecked numbers are not worth printing.
pub fn run(ground: &Ground) -> Result<(), String> {
    let reading = median(
        (0..1000).map(|_| clock::now()).collect::<Vec<_>>().windows(2).map(|two| (two[1] - two[0]) as f64),
    );
    if 2.0 * reading > work::NO_CORE_NS as f64 {
        return Err(format!(
            "reading CLOCK_MONOTONIC takes {reading} ns here, and work is counted by it: use a machine where it takes less than \
             {} ns (`cat /sys/devices/system/clocksource/clocksource0/current_clocksource`: tsc or kvm-clock, not hpet)",
            work::NO_CORE_NS / 2
        ));
    }
    // Sections long enough that two overlap even on one core.
    let cell = SCENARIOS.iter().flat_map(|scenario| scenario.cells()).find(|cell| cell.is("long-1ms", 2, 2));
    let cell = cell.expect("there is such a cell");
    match ground.round(contender::nothing().as_ref(), &cell) {
        Err(why) if why.contains(VIOLATED) => Ok(()),
        Err(why) => Err(why),
        Ok(_) => Err("a lock that locks nothing was not caught: the check does not work here".into()),
    }
}
