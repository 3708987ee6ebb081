//! Errors of turnlock as Python's.

use crate::any::OpenLock;
use crate::thread;
use pyo3::{prelude::*, sync::PyOnceLock};
use turnlock::Error;

/// The exception for `error`: `turnlock._errors` says which class that is.
#[cold]
pub fn raise(py: Python, error: Error) -> PyErr {
    static OF: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if matches!(error, Error::Interrupted)
        && let Some(raised) = thread::take_raised()
    {
        return raised;
    }
    let errno = match &error {
        Error::System { source, .. } => source.raw_os_error(),
        _ => None,
    };
    let of = OF.get_or_try_init(py, || Ok(py.import("turnlock._errors")?.getattr("of")?.unbind()));
    let made = of.and_then(|of| of.bind(py).call1((error.code(), error.to_string(), errno)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// Warns of an unlock after a holder's death if it has closed the lock for everyone.
#[cold]
pub fn warn_if_closed(py: Python, lock: &OpenLock) -> PyResult<()> {
    if !lock.lock.is_closed_for_everyone() {
        return Ok(());
    }
    let (name, path) = (&lock.plan.name, lock.plan.file.path.as_os_str());
    py.import("turnlock._errors")?.getattr("warn_of_closed")?.call1((name, path)).map(drop)
}

/// The result of a call, with turnlock's error as Python's.
pub trait OrRaise<T> {
    /// Makes it so.
    fn or_raise(self, py: Python) -> PyResult<T>;
}

impl<T> OrRaise<T> for turnlock::Result<T> {
    #[inline]
    fn or_raise(self, py: Python) -> PyResult<T> {
        self.map_err(|error| raise(py, error))
    }
}
