//! Waiting: how long to stay awake, where to park, and what ends a wait.
//!
//! Everything is generic over a [`Platform`], so that the checkers run what ships.

mod adaptive;
mod back_off;
mod bell;
mod cancel;
mod parking;
mod platform;
mod section;
mod standby;
mod stop;
mod waiter;

pub use adaptive::AdaptiveSpin;
pub use back_off::{Surroundings, back_off};
pub use bell::Bell;
pub use cancel::Cancel;
pub use parking::{ParkingSpot, name_of};
pub use platform::Platform;
pub use section::SectionClock;
pub use standby::{CalledWord, Standby};
pub use stop::{Interrupt, Stop};
pub use waiter::Waiter;
