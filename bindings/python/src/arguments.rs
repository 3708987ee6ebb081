//! Arguments as `threading` takes them.

use crate::any::Limit;
use pyo3::{
    exceptions::{PyOverflowError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyInt},
};
use std::time::Duration;

/// `threading.TIMEOUT_MAX`, in seconds.
const TIMEOUT_MAX: f64 = 9_223_372_036.0;

/// Whether a call may wait: a bool, or an int as `threading` takes it.
pub struct Blocking(pub bool);

impl<'a, 'py> FromPyObject<'a, 'py> for Blocking {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyInt>() {
            return value.is_truthy().map(Self);
        }
        Err(PyTypeError::new_err(format!("blocking is True or False, not {}", value.get_type().name()?)))
    }
}

/// How long a call may wait: `timeout` seconds, -1 being for ever.
pub fn limit(blocking: bool, timeout: f64) -> PyResult<Limit> {
    if timeout == -1.0 {
        return Ok(if blocking { Limit::Forever } else { Limit::Never });
    }
    if !blocking {
        return Err(PyValueError::new_err("can't specify a timeout for a non-blocking call"));
    }
    if timeout.is_nan() || timeout < 0.0 {
        return Err(PyValueError::new_err(format!(
            "timeout is a number of seconds, 0 or more, or -1 for no limit, and not {timeout}"
        )));
    }
    if timeout > TIMEOUT_MAX {
        return Err(PyOverflowError::new_err(format!(
            "timeout value {timeout} is too large: it is at most threading.TIMEOUT_MAX, and -1 is no limit"
        )));
    }
    Ok(if timeout == 0.0 { Limit::Never } else { Limit::For(Duration::from_secs_f64(timeout)) })
}
