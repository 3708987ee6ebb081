//! What a lock object is made with: read from a constructor's arguments, and given to pickle.

use crate::any::{Kind, Plan};
use crate::file::{FileOptions, absolute, death_policy, seconds};
use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyTuple},
};
use std::{path::PathBuf, time::Duration};
use turnlock::{DeathPolicy, RingAlgorithm};

/// The options of a constructor, each of which may be missing.
struct Options<'a, 'py>(Option<&'a Bound<'py, PyDict>>);

impl<'py> Options<'_, 'py> {
    /// The option called `name`; `None` if it is missing, or None.
    fn get<T>(&self, name: &str) -> PyResult<Option<T>>
    where
        T: for<'a> FromPyObject<'a, 'py, Error: Into<PyErr>>,
    {
        let Some(options) = self.0 else { return Ok(None) };
        let Some(value) = options.get_item(name)?.filter(|value| !value.is_none()) else { return Ok(None) };
        let wrong = |error: PyErr| {
            let message = format!("{name}: {}", error.value(options.py()));
            if error.is_instance_of::<PyTypeError>(options.py()) {
                PyTypeError::new_err(message)
            } else {
                // Such as a number that is negative, or larger than 32 bits.
                PyValueError::new_err(message)
            }
        };
        value.extract().map(Some).map_err(|error: <T as FromPyObject<'_, 'py>>::Error| wrong(error.into()))
    }

    fn flag(&self, name: &str) -> PyResult<bool> {
        Ok(self.get(name)?.unwrap_or(false))
    }
}

/// What a constructor's arguments say.
pub fn of(path: PathBuf, name: String, options: Option<&Bound<PyDict>>) -> PyResult<Plan> {
    let options = Options(options);
    let file = FileOptions {
        path: absolute(path)?,
        descriptor: options.get("descriptor")?,
        participants: options.get("participants")?,
        locks: options.get("locks")?,
        mode: options.get("mode")?,
        group: options.get("group")?,
        label: options.get("label")?,
        slot: options.get("slot")?,
        must_exist: options.flag("must_exist")?,
    };
    let kind = match options.get::<String>("kind")?.as_deref() {
        Some("ring") => Kind::Ring { algorithm: ring_algorithm(&options)?, member: options.flag("member")? },
        Some("rwlock") => Kind::RwLock { patience: patience(&options)? },
        Some("semaphore") => {
            let permits = options.get("value")?.unwrap_or(1);
            if permits == 0 {
                return Err(PyValueError::new_err("a semaphore has 1 permit or more: value is not 0"));
            }
            Kind::Semaphore { permits, patience: patience(&options)? }
        }
        Some("range") => Kind::Range,
        Some("keyed") => Kind::Keyed,
        Some("group") => Kind::Group,
        Some("condition") => Kind::Condition,
        Some("event") => Kind::Event,
        Some("barrier") => Kind::Barrier { parties: parties(&options)? },
        Some("once") => Kind::Once { across_boots: options.flag("across_boots")? },
        kind => {
            let patience = patience(&options)?;
            Kind::Mutex { patience, recursive: kind == Some("recursive") }
        }
    };
    let policy = options.get::<String>("death_policy")?;
    let death_policy = policy.map(|policy| death_policy(&policy)).transpose()?;
    Ok(Plan { file, name, kind, death_policy })
}

fn patience(options: &Options) -> PyResult<Option<Duration>> {
    let patience = options.get::<f64>("patience")?;
    patience.map(|patience| seconds("patience", patience)).transpose()
}

fn parties(options: &Options) -> PyResult<Option<u32>> {
    match options.get("parties")? {
        Some(0) => Err(PyValueError::new_err("a barrier has 1 party or more: parties is not 0")),
        parties => Ok(parties),
    }
}

fn ring_algorithm(options: &Options) -> PyResult<Option<RingAlgorithm>> {
    let step = options.get("step")?;
    let algorithm = match options.get::<String>("algorithm")?.as_deref() {
        None => None,
        Some("k-state") => Some(RingAlgorithm::KState),
        Some("raynal") => Some(RingAlgorithm::Raynal),
        Some("sum") => return Ok(Some(RingAlgorithm::Sum { step: step.unwrap_or(1) })),
        Some(other) => {
            return Err(PyValueError::new_err(format!(
                "algorithm is 'k-state', 'raynal' or 'sum', not {other:?}"
            )));
        }
    };
    match step {
        Some(_) => Err(PyValueError::new_err("step is for the algorithm 'sum' only")),
        None => Ok(algorithm),
    }
}

/// A death policy's name.
pub fn name_of(policy: DeathPolicy) -> &'static str {
    match policy {
        DeathPolicy::Inform => "inform",
        DeathPolicy::Release => "release",
        // One that a later version knows.
        _ => "unknown",
    }
}

/// The arguments for `__new__` that make such an object once more.
pub fn arguments<'py>(py: Python<'py>, plan: &Plan) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
    if plan.file.descriptor.is_some() {
        return Err(PyTypeError::new_err("what is in an anonymous file is not pickled by its path"));
    }
    let options = PyDict::new(py);
    let FileOptions { path, descriptor: _, participants, locks, mode, group, label, slot, must_exist } =
        &plan.file;
    for (name, value) in [("participants", participants), ("locks", locks), ("mode", mode), ("group", group)]
    {
        if let Some(value) = value {
            options.set_item(name, value)?;
        }
    }
    if let Some(label) = label {
        options.set_item("label", label)?;
    }
    if let Some(slot) = slot {
        options.set_item("slot", slot)?;
    }
    if *must_exist {
        options.set_item("must_exist", true)?;
    }
    if let Some(policy) = plan.death_policy {
        options.set_item("death_policy", name_of(policy))?;
    }
    if let Kind::Semaphore { permits, .. } = plan.kind {
        options.set_item("value", permits)?;
    }
    match plan.kind {
        Kind::Mutex { patience, .. } | Kind::RwLock { patience } | Kind::Semaphore { patience, .. } => {
            if let Some(patience) = patience {
                options.set_item("patience", patience.as_secs_f64())?;
            }
        }
        Kind::Range | Kind::Keyed | Kind::Group | Kind::Condition | Kind::Event => {}
        Kind::Barrier { parties } => {
            if let Some(parties) = parties {
                options.set_item("parties", parties)?;
            }
        }
        Kind::Once { across_boots } => {
            if across_boots {
                options.set_item("across_boots", true)?;
            }
        }
        Kind::Ring { algorithm, member } => {
            let name = match algorithm {
                None => None,
                Some(RingAlgorithm::KState) => Some("k-state"),
                Some(RingAlgorithm::Raynal) => Some("raynal"),
                Some(_) => Some("sum"),
            };
            if let Some(name) = name {
                options.set_item("algorithm", name)?;
            }
            if let Some(RingAlgorithm::Sum { step }) = algorithm {
                options.set_item("step", step)?;
            }
            if member {
                options.set_item("member", true)?;
            }
        }
    }
    Ok(((path.as_os_str(), &plan.name).into_pyobject(py)?, options))
}

/// What `repr` shows.
pub fn representation(object: &Bound<PyAny>, state: &str, plan: &Plan) -> PyResult<String> {
    let (class, address) = (object.get_type().fully_qualified_name()?, object.as_ptr());
    let (name, path) = (&plan.name, plan.file.path.display());
    Ok(format!("<{state} {class} object {name:?} in {path} at {address:p}>"))
}
