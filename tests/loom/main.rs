#![cfg(loom)]

mod bias;
mod numbers;
mod oracle;
mod plan;
mod queue;
mod scene;
mod search;
mod site;

// Each execution is a sign of life.
support::watched_for_seconds!(300);
