#![cfg(loom)]

mod bias;
#[path = "../support/limit.rs"]
mod limit;
mod oracle;
mod plan;
mod queue;
mod scene;
mod search;
mod site;
#[path = "../support/watchdog.rs"]
mod watchdog;

// Each execution is a sign of life.
watched_for_seconds!(watchdog, 300);
