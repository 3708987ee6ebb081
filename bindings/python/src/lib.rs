//! The native half of the Python package `turnlock`: its classes without their documentation, which is in Python.
//!
//! | module | its job |
//! |---|---|
//! | `thread` | what belongs to a thread: its number, its participants, signals |
//! | `shared_file` | a lock file as all lock objects of this process share it, and its participants |
//! | `file` | a lock file as one lock object has it open |
//! | `any` | a lock of any kind, and its guard |
//! | `hold` | an acquisition |
//! | `plan`, `arguments` | what constructors and `acquire` are given |
//! | `error`, `facts` | errors and what is known of a lock, as Python's objects |
//! | `refusal` | who had a lock that was refused |
//! | `exclusive` | `Lock` and `TurnRing` |
//! | `recursive` | `RLock` |
//! | `claimed` | `RWLock`, `Semaphore`, `RangeLock`, `KeyedLock`, `GroupLock` |
//! | `coordination` | `Condition`, `Event`, `Barrier`, `Once` |
//! | `arena`, `semlock` | what `turnlock.multiprocessing` is made of |
//! | `wait` | waits that another thread may cancel, for asyncio |

mod any;
mod arena;
mod arguments;
mod claimed;
mod coordinated;
mod coordination;
mod detach;
mod error;
mod exclusive;
mod facts;
mod file;
mod hold;
mod plan;
mod recursive;
mod refusal;
mod semlock;
mod shared_file;
mod thread;
mod wait;
mod waited;

use pyo3::prelude::*;

/// That of the C library which it does the same as; `tests/test_package.py` compares it with the header's.
const ABI_VERSION: u32 = 4;

// With the GIL: what is kept between its calls is in order only as long as one thread has it, and a child may be forked
// in between. On a free-threaded interpreter the import switches it on.
#[pymodule(gil_used = true)]
fn _native(module: &Bound<PyModule>) -> PyResult<()> {
    thread::prepare(module.py())?;
    module.add("abi_version", ABI_VERSION)?;
    module.add("version", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(refusal::_refused_by, module)?)?;
    module.add_function(wrap_pyfunction!(detach::_detach, module)?)?;
    module.add_class::<exclusive::Exclusive>()?;
    module.add_class::<recursive::Recursive>()?;
    module.add_class::<claimed::Claimed>()?;
    module.add_class::<claimed::Hold>()?;
    module.add_class::<coordination::Coordination>()?;
    module.add_class::<arena::Arena>()?;
    module.add_class::<semlock::SemLock>()?;
    module.add_class::<wait::Wait>()
}
