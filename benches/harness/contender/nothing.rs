//! A lock that locks nothing, by which the bench shows that it would notice.

use super::Lock;
use crate::place::Place;

pub struct Family;

impl super::Family for Family {
    type Lock = Nothing;

    fn attach(&self, _: &Place, _: usize) -> Nothing {
        Nothing
    }
}

pub struct Nothing;

impl Lock for Nothing {
    type Held<'a> = ();

    fn lock(&self) {}

    fn unlock(&self, (): ()) {}
}
