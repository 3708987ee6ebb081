//! Patience and death policy: a lock keeps those that it was created with. What is asked for by name and differs is an
//! error, and what is not asked for is whatever the lock has.

use crate::c_handles::{Owned, last_message, open_file, opened, sized};
use std::{ffi::CStr, sync::Barrier, time::Duration};
use support::Place;
use turnlock::{DEFAULT_PATIENCE, DeathPolicy, Error, LockFile, RingAlgorithm, capi::*, status::*};

const SHORT: Duration = Duration::from_micros(5);

/// What a lock has that was opened: its patience, where the kind has some, and its death policy.
type Has = (Option<Duration>, Option<DeathPolicy>);

/// Opens a lock of some kind: by name, with what is asked for, and with what it gets else.
type Open = fn(&LockFile, &str, Has, Option<DeathPolicy>) -> turnlock::Result<Has>;

macro_rules! kinds {
    ($($options:ident: $($with:ident)*;)*) => {
        [$((stringify!($options), |file, name, (patience, death_policy), default| {
            // A kind may have only one of the two.
            let _ = (patience, death_policy, default);
            let (mut has, mut options): (Has, _) = ((None, None), file.$options());
            $(kinds!(@ask $with options patience death_policy default);)*
            let lock = options.open(name)?;
            $(kinds!(@has $with has lock);)*
            Ok(has)
        })),*]
    };
    (@ask patience $options:ident $patience:ident $death_policy:ident $default:ident) => {
        if let Some(patience) = $patience {
            $options.patience(patience);
        }
    };
    (@ask death_policy $options:ident $patience:ident $death_policy:ident $default:ident) => {
        if let Some(policy) = $default {
            $options.default_death_policy(policy);
        }
        if let Some(policy) = $death_policy {
            $options.death_policy(policy);
        }
    };
    (@has $with:ident $has:ident $lock:ident) => {
        kinds!(@put $with $has $lock)
    };
    (@put patience $has:ident $lock:ident) => { $has.0 = Some($lock.patience()) };
    (@put death_policy $has:ident $lock:ident) => { $has.1 = Some($lock.death_policy()) };
}

const KINDS: [(&str, Open); 7] = kinds! {
    mutex_options: patience death_policy;
    ring_options: death_policy;
    rwlock_options: patience death_policy;
    semaphore_options: patience;
    range_lock_options: death_policy;
    keyed_lock_options: death_policy;
    group_lock_options: death_policy;
};

/// A file with room for the locks of a case.
fn file_with_room(place: &Place) -> LockFile {
    LockFile::options().participants(16).locks(64).open(place.lock_file()).unwrap()
}

fn is_refused<T: std::fmt::Debug>(told: turnlock::Result<T>, words: &[&str]) {
    let error = told.unwrap_err();
    assert!(matches!(error, Error::Kind { .. }), "{error:?}");
    for word in words.iter().chain(&["was created with", "use another name"]) {
        assert!(error.to_string().contains(word), "{word:?} is not in {error}");
    }
}

pub fn a_setting_that_is_asked_for_is_the_locks_or_an_error() {
    use DeathPolicy::{Inform, Release};
    let place = Place::new();
    let file = file_with_room(&place);
    for (kind, open) in KINDS {
        let usual = open(&file, kind, (None, None), None).unwrap();
        assert_eq!(usual.0.unwrap_or(DEFAULT_PATIENCE), DEFAULT_PATIENCE, "{kind}");
        assert_eq!(usual.1.unwrap_or(Inform), Inform, "{kind}");
        if usual.0.is_some() {
            let name = format!("{kind} with patience");
            for (created, others) in
                [(Duration::ZERO, [SHORT, DEFAULT_PATIENCE]), (SHORT, [Duration::ZERO, DEFAULT_PATIENCE])]
            {
                let name = format!("{name} {created:?}");
                let has = open(&file, &name, (Some(created), None), None).unwrap();
                assert_eq!(has.0, Some(created), "{name}");
                // What it has, and nothing, may be asked for.
                assert_eq!(open(&file, &name, (Some(created), None), None).unwrap(), has);
                assert_eq!(open(&file, &name, (None, None), None).unwrap(), has);
                for other in others {
                    is_refused(open(&file, &name, (Some(other), None), None), &[&name, "patience"]);
                }
            }
            is_refused(
                open(&file, kind, (Some(Duration::ZERO), None), None),
                &["patience 1ms", "strict order"],
            );
        }
        if usual.1.is_some() {
            for (created, other) in [(Inform, Release), (Release, Inform)] {
                let name = format!("{kind} {created:?}");
                let has = open(&file, &name, (None, Some(created)), None).unwrap();
                assert_eq!(has.1, Some(created), "{name}");
                assert_eq!(open(&file, &name, (None, Some(created)), None).unwrap(), has);
                assert_eq!(open(&file, &name, (None, None), None).unwrap(), has);
                is_refused(
                    open(&file, &name, (None, Some(other)), None),
                    &["the death policy", "inform", "release"],
                );
            }
        }
    }
}

/// As two languages are that share a lock, where one has another default.
pub fn a_default_is_for_a_lock_that_is_created_now() {
    use DeathPolicy::{Inform, Release};
    let place = Place::new();
    let file = file_with_room(&place);
    for (kind, open) in KINDS {
        for (first, second) in [(Inform, Release), (Release, Inform)] {
            let name = format!("{kind} {first:?}");
            let has = open(&file, &name, (None, None), Some(first)).unwrap();
            assert_eq!(has.1.unwrap_or(first), first, "{name}");
            assert_eq!(open(&file, &name, (None, None), Some(second)).unwrap(), has, "{name}");
            if has.1.is_some() {
                // What is asked for is not what it has, whatever the default is.
                is_refused(open(&file, &name, (None, Some(second)), Some(first)), &["death policy"]);
                // Asked for, it goes before the default.
                let name = format!("{kind} {first:?} by default");
                let has = open(&file, &name, (None, Some(second)), Some(first)).unwrap();
                assert_eq!(has.1, Some(second), "{name}");
            }
        }
    }
}

/// One of them creates it; the others get what they have asked for, or the error.
pub fn a_lock_keeps_its_settings_where_many_create_it_at_once() {
    let place = Place::new();
    let file = file_with_room(&place);
    for round in 0..16 {
        let name = format!("round {round}");
        let start = Barrier::new(4);
        let told = std::thread::scope(|threads| {
            let open = |patience: Duration| {
                let (file, name, start) = (&file, &name, &start);
                threads.spawn(move || {
                    start.wait();
                    file.mutex_options().patience(patience).open(name).map(|mutex| mutex.patience())
                })
            };
            let patiences = [Duration::ZERO, SHORT, Duration::ZERO, SHORT];
            let opened = patiences.map(open);
            std::iter::zip(patiences, opened.map(|opened| support::join(opened))).collect::<Vec<_>>()
        });
        let created = file.mutex(&name).unwrap().patience();
        for (patience, opened) in told {
            match opened {
                Ok(has) => assert_eq!((has, patience), (created, created)),
                refused if patience != created => is_refused(refused, &["patience"]),
                refused => panic!("{refused:?}"),
            }
        }
    }
    // A ring's algorithm is a matter of its kind.
    let ring = file.ring_options().algorithm(RingAlgorithm::KState).open("round 0");
    assert!(matches!(ring, Err(Error::Kind { .. })));
}

/// Opens a lock through the C ABI: by name, with flags and patience, which the kinds without one ignore.
type OpenInC = fn(&Owned<turnlock_file>, &CStr, u32, u64) -> i32;

macro_rules! in_c {
    ($($noun:literal $options:ident $open:ident $close:ident $($patience:ident)?;)*) => {
        [$(($noun, |file, name, flags, patience| {
            let _ = patience;
            let options = $options { flags, $($patience: patience,)? ..sized() };
            // SAFETY: a file handle, a C string, options of the right size, and a place for the handle.
            let lock = opened($close, |lock| unsafe { $open(file.handle, name.as_ptr(), &options, lock) });
            lock.map_or_else(|status| status, |_| TURNLOCK_OK)
        })),*]
    };
}

const IN_C: [(&str, OpenInC); 7] = in_c! {
    "mutex" turnlock_mutex_options turnlock_mutex_open turnlock_mutex_close patience_ns;
    "rwlock" turnlock_rwlock_options turnlock_rwlock_open turnlock_rwlock_close patience_ns;
    "semaphore" turnlock_semaphore_options turnlock_semaphore_open turnlock_semaphore_close patience_ns;
    "ring" turnlock_ring_options turnlock_ring_open turnlock_ring_close;
    "rangelock" turnlock_rangelock_options turnlock_rangelock_open turnlock_rangelock_close;
    "keyedlock" turnlock_keyedlock_options turnlock_keyedlock_open turnlock_keyedlock_close;
    "grouplock" turnlock_grouplock_options turnlock_grouplock_open turnlock_grouplock_close;
};
/// Those of each noun have the same numbers.
const STRICT: u32 = TURNLOCK_MUTEX_STRICT;
const RELEASE: u32 = TURNLOCK_MUTEX_RELEASE_ON_DEATH;
const INFORM: u32 = TURNLOCK_MUTEX_INFORM_ON_DEATH;
const BY_DEFAULT: u32 = TURNLOCK_MUTEX_RELEASE_BY_DEFAULT;

pub fn a_setting_that_is_asked_for_in_c_is_the_locks_or_an_error() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 16, 64).unwrap();
    let usual = DEFAULT_PATIENCE.as_nanos() as u64;
    // What it is created with, what may be asked for of it then, what may not.
    let with_patience: [(&CStr, _, &[_], &[_]); 4] = [
        (c"5 us", (0, 5_000), &[(0, 5_000), (0, 0)], &[(STRICT, 0), (STRICT, 5_000), (0, 6_000), (0, usual)]),
        (c"strict", (STRICT, 5_000), &[(STRICT, 0), (STRICT, 7), (0, 0)], &[(0, 5_000), (0, usual)]),
        (c"usual", (0, 0), &[(0, usual), (0, 0)], &[(STRICT, 0), (0, usual + 1)]),
        (c"usual too", (0, usual), &[(0, usual), (0, 0)], &[(STRICT, 0), (0, 1)]),
    ];
    let with_policy: [(&CStr, _, &[_], &[_]); 5] = [
        (c"usual", 0, &[0, INFORM, BY_DEFAULT, BY_DEFAULT | INFORM], &[RELEASE, BY_DEFAULT | RELEASE]),
        (c"informs", INFORM, &[0, INFORM, BY_DEFAULT], &[RELEASE]),
        (c"informs, asked for", INFORM | BY_DEFAULT, &[0, INFORM, BY_DEFAULT], &[RELEASE]),
        (
            c"releases",
            RELEASE,
            &[0, RELEASE, BY_DEFAULT, BY_DEFAULT | RELEASE],
            &[INFORM, BY_DEFAULT | INFORM],
        ),
        (c"releases by default", BY_DEFAULT, &[0, RELEASE, BY_DEFAULT], &[INFORM]),
    ];
    for (noun, open) in IN_C {
        let open = |name: &CStr, flags, patience| {
            let name = [noun.as_bytes(), b" ", name.to_bytes_with_nul()].concat();
            open(&file, CStr::from_bytes_with_nul(&name).unwrap(), flags, patience)
        };
        let is_refused = |told: i32, what: &str| {
            assert_eq!(told, TURNLOCK_ERROR_KIND, "{noun}");
            assert!(last_message().contains(&format!("was created with the {what} ")), "{}", last_message());
        };
        if ["mutex", "rwlock", "semaphore"].contains(&noun) {
            for (name, (flags, patience), fitting, others) in with_patience {
                assert_eq!(open(name, flags, patience), TURNLOCK_OK, "{noun} {name:?}");
                for (flags, patience) in fitting {
                    assert_eq!(open(name, *flags, *patience), TURNLOCK_OK, "{noun} {name:?} {patience}");
                }
                for (flags, patience) in others {
                    is_refused(open(name, *flags, *patience), "patience");
                }
            }
        }
        if noun != "semaphore" {
            for (name, flags, fitting, others) in with_policy {
                assert_eq!(open(name, flags, 0), TURNLOCK_OK, "{noun} {name:?}");
                for flags in fitting {
                    assert_eq!(open(name, *flags, 0), TURNLOCK_OK, "{noun} {name:?} {flags}");
                }
                for flags in others {
                    is_refused(open(name, *flags, 0), "death policy");
                }
            }
        }
    }
    // As it is created, as long as none is asked for.
    let locks = turnlock::inspect::snapshot(place.lock_file()).unwrap().locks;
    let of = |name: &str| locks.iter().find(|lock| lock.name == name).unwrap();
    for (name, seconds) in [("mutex 5 us", 5e-6), ("mutex strict", 0.0), ("mutex usual too", 1e-3)] {
        assert_eq!(of(name).patience_seconds, Some(seconds), "{name}");
    }
    for noun in IN_C.map(|(noun, _)| noun).into_iter().filter(|noun| *noun != "semaphore") {
        let policies = ["usual", "informs", "informs, asked for", "releases", "releases by default"]
            .map(|name| of(&format!("{noun} {name}")).death_policy);
        assert_eq!(policies, ["inform", "inform", "inform", "release", "release"].map(Some), "{noun}");
    }
}

pub fn both_death_policies_at_once_are_an_invalid_argument() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 8).unwrap();
    for (noun, open) in IN_C {
        assert_eq!(open(&file, c"a", INFORM | RELEASE, 0), TURNLOCK_ERROR_INVALID_ARGUMENT, "{noun}");
        assert_eq!(open(&file, c"a", 1 << 30, 0), TURNLOCK_ERROR_INVALID_ARGUMENT, "{noun}");
    }
    assert!(turnlock::inspect::snapshot(place.lock_file()).unwrap().locks.is_empty());
}

macro_rules! tells_its_policy {
    ($file:ident: $($options:ident $open:ident $close:ident)*) => { $(
        for (name, flags, expected) in [
            (c"informs", INFORM, TURNLOCK_DEATH_POLICY_INFORM),
            (c"releases", RELEASE, TURNLOCK_DEATH_POLICY_RELEASE),
            (c"informs", BY_DEFAULT, TURNLOCK_DEATH_POLICY_INFORM),
        ] {
            let name = [stringify!($open).as_bytes(), b" ", name.to_bytes_with_nul()].concat();
            let (name, options) = (CStr::from_bytes_with_nul(&name).unwrap(), $options { flags, ..sized() });
            // SAFETY: a file handle, a C string, options of the right size, and a place for the handle.
            let lock = opened($close, |lock| unsafe { $open($file.handle, name.as_ptr(), &options, lock) });
            let (lock, mut policy) = (lock.unwrap(), u32::MAX);
            // SAFETY: an open handle, or NULL; a place for the policy, or NULL.
            unsafe {
                assert_eq!(turnlock_lock_death_policy(lock.handle.cast(), &mut policy), TURNLOCK_OK);
                assert_eq!(turnlock_lock_death_policy(lock.handle.cast(), std::ptr::null_mut()), TURNLOCK_ERROR_INVALID_ARGUMENT);
                assert_eq!(turnlock_lock_death_policy(std::ptr::null(), &mut policy), TURNLOCK_ERROR_INVALID_ARGUMENT);
            }
            assert_eq!(policy, expected, "{name:?} {flags}");
        }
    )* };
}

pub fn what_a_lock_was_created_with_is_told_in_c() {
    let place = Place::new();
    let file = open_file(&place.lock_file(), 8, 16).unwrap();
    tells_its_policy! { file:
        turnlock_mutex_options turnlock_mutex_open turnlock_mutex_close
        turnlock_rwlock_options turnlock_rwlock_open turnlock_rwlock_close
        turnlock_ring_options turnlock_ring_open turnlock_ring_close
        turnlock_rangelock_options turnlock_rangelock_open turnlock_rangelock_close
        turnlock_keyedlock_options turnlock_keyedlock_open turnlock_keyedlock_close
        turnlock_grouplock_options turnlock_grouplock_open turnlock_grouplock_close
    }
    for (name, flags, patience_ns, expected) in [
        (c"strict", STRICT, 5_000, 0),
        (c"patient", 0, 5_000, 5_000),
        (c"patient", 0, 0, 5_000),
        (c"usual", 0, 0, 1_000_000),
    ] {
        let options = turnlock_mutex_options { flags, patience_ns, ..sized() };
        // SAFETY: a file handle, a C string, options of the right size, and a place for the handle.
        let mutex = opened(turnlock_mutex_close, |mutex| unsafe {
            turnlock_mutex_open(file.handle, name.as_ptr(), &options, mutex)
        });
        let (mutex, mut told) = (mutex.unwrap(), u64::MAX);
        // SAFETY: an open handle; a place for the patience, or NULL.
        unsafe {
            assert_eq!(
                turnlock_lock_patience(mutex.handle.cast(), std::ptr::null_mut()),
                TURNLOCK_ERROR_INVALID_ARGUMENT
            );
            assert_eq!(turnlock_lock_patience(mutex.handle.cast(), &mut told), TURNLOCK_OK);
        }
        assert_eq!(told, expected, "{name:?}");
    }
}
