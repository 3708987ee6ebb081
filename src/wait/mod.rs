//! Waiting: how long to stay awake, where to park, and what ends a wait.

mod adaptive;
mod cancel;
mod parking;
mod section;
mod stop;
mod waiter;

pub use adaptive::AdaptiveSpin;
pub use cancel::Cancel;
pub use parking::{ParkingSpot, Standby, name_of};
pub use section::SectionClock;
pub use stop::{Interrupt, Stop};
pub use waiter::Waiter;
