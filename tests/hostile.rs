//! A neighbour who writes whatever it likes wherever it likes into the file: nobody crashes, and no call takes longer
//! than its limit. That two are inside at once is then possible and not asked about; what a call says (the lock, or an
//! error) is not either, unless the test's name says so.
#![cfg(not(any(loom, shuttle)))]

#[path = "hostile/header.rs"]
mod header;
#[path = "hostile/healing.rs"]
mod healing;
#[path = "hostile/neighbours.rs"]
mod neighbours;
#[path = "hostile/restless.rs"]
mod restless;
#[path = "hostile/scene.rs"]
mod scene;
mod support;
#[path = "hostile/watch.rs"]
mod watch;
#[path = "hostile/words.rs"]
mod words;

use neighbours::neighbour;

crate::roles! { neighbour }
