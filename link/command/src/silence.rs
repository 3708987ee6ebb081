//! An engine that does not answer, of which people are told once.

use crate::{answers::NoAnswer, os, print, sentences};
use turnlock_link_agent::{Mode, Nanoseconds};

/// Since when etcd has not answered, if it does not.
#[derive(Default)]
pub struct Silence(Option<Nanoseconds>);

impl Silence {
    /// Takes the answer to a call. Says when etcd stops to answer, and when it answers again.
    pub fn note<T>(&mut self, answer: &Result<T, NoAnswer>, mode: Mode) {
        match (answer, self.0) {
            (Err(NoAnswer::Failed(why)), None) => {
                self.0 = Some(os::now());
                print::message(&sentences::silent(why, mode));
            }
            (Ok(_), Some(since)) => {
                let seconds = (os::now() - since) as f64 / 1e9;
                print::message(&format!("etcd answers again, after {seconds:.1} s"));
                self.0 = None;
            }
            _ => {}
        }
    }
}
