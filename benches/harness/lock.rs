//! A lock, as the benches see it.

/// A lock, as a worker process that is attached to it uses it.
pub trait Lock {
    /// What a holder keeps until it unlocks.
    type Held<'a>
    where
        Self: 'a;

    fn lock(&self) -> Self::Held<'_>;

    fn unlock<'a>(&'a self, held: Self::Held<'a>);

    /// This worker has been in once, and waits for the start gun.
    fn rest(&self) {}

    /// This worker will not come again.
    fn leave(&self) {}
}
