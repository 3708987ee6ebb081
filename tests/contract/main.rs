//! The contract: what a lock promises, written once and kept by every lock, whichever its kind and algorithm, and
//! whichever way in is taken to it. A new lock or a new way in is an adapter ([`way::Way`]) and a line at the end.

mod c;
mod c_abi;
mod c_begun;
mod c_claims;
mod c_condition;
mod c_coordination;
mod c_coordination_refused;
mod c_file;
mod c_functions;
mod c_groups;
mod c_handles;
mod c_holds;
mod c_linked;
mod c_mail;
mod c_marks;
mod c_query;
mod c_transferred;
mod claims;
mod every;
mod fair;
mod groups;
mod owner_dead;
mod participants;
mod query;
mod recursive;
mod release;
mod ring;
mod rust;
mod settings;
mod stage;
mod threads;
mod way;

support::watched_for_seconds!(support::watchdog::USUAL);

/// Tests that each run one case, for one way in or for none.
macro_rules! cases {
    ($module:ident, $way:ty: $($case:ident)*) => { $(
        #[test]
        fn $case() {
            crate::$module::$case::<$way>();
        }
    )* };
    ($module:ident: $($case:ident)*) => { $(
        #[test]
        fn $case() {
            crate::$module::$case();
        }
    )* };
}

/// Groups of cases, by what a lock or a way in must be for them to mean something.
macro_rules! group {
    (every, $way:ty) => {
        group! { in_line, $way }
        cases! { every, $way:
            a_wait_that_timed_out_leaves_nothing_in_the_queue
        }
        cases! { owner_dead, $way:
            a_waiter_that_is_in_the_queue_already_is_told
        }
        cases! { query, $way:
            the_holder_and_the_waiters_can_be_asked_for
            a_holder_is_told_of_a_waiter_behind_it
        }
    };
    // Also where those of one process have one place in the queue of the file, and the others' own line behind it.
    (in_line, $way:ty) => {
        cases! { every, $way:
            a_plain_counter_loses_nothing
            fencing_tokens_strictly_increase
            a_try_at_a_held_lock_would_block
            a_try_at_a_lock_that_never_rests_comes_back
            a_time_limit_ends_the_wait_and_not_earlier
            another_thread_can_cancel_a_wait
            a_cancel_at_any_moment_ends_one_wait
            a_cancel_requested_before_the_wait_is_not_lost_and_spares_a_free_lock
            named_locks_are_independent
            names_have_1_to_63_bytes
            a_full_directory_is_an_error_and_the_named_locks_stay
            threads_that_name_the_same_locks_at_once_agree
        }
        cases! { owner_dead, $way:
            the_next_holder_is_told_who_died
            marked_consistent_the_lock_is_well_again
            nothing_is_to_be_marked_where_no_holder_died
            a_reset_waits_its_turn
            a_second_death_before_the_repair_is_told_of_again
        }
        cases! { release, $way:
            the_next_holder_is_told_and_need_not_repair
            a_death_that_needs_no_repair_may_be_marked_all_the_same
            a_holder_that_was_told_and_dies_is_the_next_one_s_news
        }
    };
    // Not a range lock, nor a keyed lock: what one part's holder does not say concerns none of the others.
    (closes, $way:ty) => {
        cases! { owner_dead, $way:
            unlocked_without_a_word_it_is_closed_for_everyone_until_a_reset
        }
    };
    (fair, $way:ty) => {
        cases! { fair, $way:
            the_first_waiter_is_served_first
            a_holder_that_comes_back_at_once_is_behind_the_waiters
            a_newcomer_waits_for_one_section_of_each_before_it
        }
    };
    (threads, $way:ty) => {
        cases! { threads, $way:
            two_handles_of_one_file_share_the_threads_slot
            locks_of_one_name_in_two_files_are_two_locks
            more_files_in_turn_than_a_thread_has_caches
            a_file_that_is_opened_where_a_closed_one_was
        }
        cases! { owner_dead, $way:
            a_thread_that_ends_inside_is_told_of
        }
    };
    (once, $way:ty) => {
        cases! { every, $way:
            taking_it_twice_is_a_deadlock_and_changes_nothing
        }
    };
    (again, $way:ty) => {
        cases! { recursive, $way:
            a_holder_takes_it_again_and_it_is_free_after_the_last_unlock
            taken_again_it_stays_biased_and_is_shown_as_recursive
            a_dead_ones_times_are_one_death
        }
    };
    (participants, $way:ty) => {
        cases! { participants, $way:
            taken_in_one_thread_it_is_given_back_in_another
            a_second_thread_in_the_midst_of_the_first_ones_turns
            a_thread_and_its_participants_are_each_their_own
        }
    };
    (with_guards_of_several, $way:ty) => {
        cases! { participants, $way:
            two_threads_at_once_are_one_too_many
            each_participant_has_a_slot_until_it_is_closed
        }
    };
    (guards, $way:ty) => {
        cases! { owner_dead, $way:
            a_guard_dropped_by_a_panic_is_told_of
            a_guard_taken_and_dropped_while_a_panic_unwinds_is_not_told_of
        }
    };
    (shared, $way:ty) => {
        cases! { c_abi, $way:
            an_unlock_beside_a_repair_in_vain_is_done_or_the_hold_busy
        }
    };
    (without_guards, $way:ty) => {
        cases! { c_abi, $way:
            only_the_holder_can_give_it_back_or_heal_it
        }
    };
}

macro_rules! contract {
    ($($name:ident = $way:ty: $($group:ident)*;)*) => { $(
        mod $name {
            $(group! { $group, $way })*
        }
    )* };
}

contract! {
    bakery_by_threads = crate::rust::BakeryByThreads: every closes once fair threads guards;
    bakery_strict = crate::rust::BakeryByThreads<crate::rust::Strict>: every closes once fair;
    recursive_by_threads = crate::rust::BakeryByThreads<crate::rust::Recursive>: every closes again fair guards;
    bakery_with_full_fences = crate::rust::BakeryByThreads<crate::rust::Fenced>: every closes once fair threads guards;
    bakery_by_descriptor = crate::rust::BakeryByThreads<crate::rust::ByDescriptor>: every closes once fair threads guards;
    bakery_by_participants = crate::rust::BakeryByParticipants: every closes once fair participants with_guards_of_several guards;
    lamport_queue_by_threads = crate::rust::BakeryByThreads<crate::rust::LamportQueue>: every closes once fair threads guards;
    mesh_by_threads = crate::rust::BakeryByThreads<crate::rust::RicartAgrawala>: every closes once threads guards;
    mesh_by_participants = crate::rust::BakeryByParticipants<crate::rust::RicartAgrawala>: every closes once participants with_guards_of_several guards;
    token_ring_by_threads = crate::rust::BakeryByThreads<crate::rust::TokenRing>: every closes once threads guards;
    token_ring_by_participants = crate::rust::BakeryByParticipants<crate::rust::TokenRing>: every closes once participants with_guards_of_several guards;
    message_bakery_by_threads = crate::rust::BakeryByThreads<crate::rust::MessageBakery>: every closes once fair threads guards;
    k_state_ring_by_threads = crate::ring::ByThreads<crate::ring::KState>: every closes once threads guards;
    raynals_ring_by_threads = crate::ring::ByThreads<crate::ring::Raynal>: every closes once threads guards;
    sum_ring_by_threads = crate::ring::ByThreads<crate::ring::Sum>: every closes once threads guards;
    raynals_ring_by_participants = crate::ring::ByParticipants<crate::ring::Raynal>: every closes once participants with_guards_of_several guards;
    bakery_by_descriptor_in_c = crate::c_file::BakeryByDescriptor: every closes once fair threads without_guards;
    bakery_by_threads_in_c = crate::c::BakeryByThreads: every closes once fair threads without_guards;
    bakery_by_holds_in_c = crate::c::BakeryByHolds: every closes once fair participants without_guards shared;
    bakery_by_begun_holds_in_c = crate::c::BakeryByBegun: in_line once participants without_guards shared;
    rwlock_by_begun_holds_in_c = crate::c::RwLockByBegun: in_line once participants without_guards shared;
    raynals_ring_by_begun_holds_in_c = crate::c::RingByBegun: every closes once participants without_guards shared;
    lamport_queue_by_holds_in_c = crate::c_mail::ByHolds<crate::rust::LamportQueue>: every closes once fair participants without_guards shared;
    token_ring_by_holds_in_c = crate::c_mail::ByHolds<crate::rust::TokenRing>: every closes once participants without_guards shared;
    mesh_by_holds_in_c = crate::c_mail::ByHolds<crate::rust::RicartAgrawala>: every closes once participants without_guards shared;
    message_bakery_by_holds_in_c = crate::c_mail::ByHolds<crate::rust::MessageBakery>: every closes once fair participants without_guards shared;
    raynals_ring_by_threads_in_c = crate::c::RingByThreads: every closes once threads without_guards;
    raynals_ring_by_holds_in_c = crate::c::RingByHolds: every closes once participants without_guards shared;
    rwlock_by_threads = crate::claims::ByThreads<turnlock::RwLock>: every closes once fair threads guards;
    rwlock_by_participants = crate::claims::ByParticipants<turnlock::RwLock>: every closes once fair participants with_guards_of_several guards;
    whole_range_by_threads = crate::claims::ByThreads<turnlock::RangeLock>: every once fair threads guards;
    whole_range_by_participants = crate::claims::ByParticipants<turnlock::RangeLock>: every once fair participants with_guards_of_several guards;
    one_key_by_threads = crate::claims::ByThreads<turnlock::KeyedLock>: every once fair threads guards;
    one_key_by_participants = crate::claims::ByParticipants<turnlock::KeyedLock>: every once fair participants with_guards_of_several guards;
    groups_by_threads = crate::claims::ByThreads<turnlock::GroupLock>: every once fair threads guards;
    groups_by_participants = crate::claims::ByParticipants<turnlock::GroupLock>: every once fair participants with_guards_of_several guards;
    rwlock_by_threads_in_c = crate::c::RwLockByThreads: every closes once fair threads without_guards;
    rwlock_by_holds_in_c = crate::c::RwLockByHolds: every closes once fair participants without_guards shared;
}

mod only_in_c {
    cases! { c_file:
        a_descriptor_that_is_none_is_an_invalid_argument
    }
    cases! { c_marks:
        a_handle_of_one_kind_does_not_pass_for_one_of_another
    }
    cases! { c_abi:
        a_mutex_handle_is_not_closed_while_its_thread_holds_it
        a_hold_is_not_closed_while_it_holds
        the_hold_of_a_thread_can_be_closed_after_the_thread_ended
        every_call_with_a_closed_handle_says_so
        null_is_an_invalid_argument
        a_name_that_is_not_utf_8_is_a_bad_name
        options_of_another_version_are_taken_or_refused_but_never_misread
        structs_to_be_filled_in_are_of_any_version_and_checked_before_the_lock_is_taken
        a_wait_is_ended_by_what_it_asks_between_its_sleeps
        a_handle_is_opened_again_in_the_file_that_the_path_names
        a_mutex_that_must_exist_is_not_created
        the_last_message_is_the_calling_threads_own
        a_hold_and_a_mutex_of_two_files_do_not_go_together
        a_label_stands_in_the_owner_dead_notice
        a_cancelled_hold_may_be_closed_from_another_thread
    }
    cases! { settings:
        a_setting_that_is_asked_for_in_c_is_the_locks_or_an_error
        both_death_policies_at_once_are_an_invalid_argument
        what_a_lock_was_created_with_is_told_in_c
    }
    cases! { c_claims:
        a_mode_that_is_not_held_is_not_changed_and_what_is_held_stays
        permits_that_are_none_or_too_many_are_neither_taken_nor_given_back
        ranges_of_nothing_and_parts_that_are_not_held_are_refused
        handles_of_claims_that_are_null_or_closed_say_so
    }
    cases! { c_groups:
        members_of_a_group_are_inside_together_and_no_others
        a_dead_member_is_told_to_each_group_until_it_is_marked
        holds_enter_a_group_by_their_request
        a_request_without_a_group_is_of_group_0
        handles_of_group_locks_that_are_null_or_closed_say_so
    }
    cases! { c_condition:
        a_thread_waits_with_a_mutex_and_has_it_again
        a_thread_waits_with_a_rwlock_that_it_has_exclusively
        a_hold_waits_with_what_it_has
        a_recursive_mutex_is_unlocked_whole_and_had_as_often_again
        what_a_condition_cannot_wait_with_is_refused_and_stays_as_it_was
        a_lock_of_another_file_is_refused_and_stays_held
        a_wait_that_timed_out_has_the_lock_and_says_what_came_with_it
        a_waiter_is_told_of_a_dead_holder
        a_wait_by_a_hold_is_cancelled_with_the_lock_held
    }
    cases! { c_coordination:
        the_hold_of_a_thread_ends_each_of_its_waits
        an_event_is_waited_for_as_long_as_is_said
        a_barrier_lets_all_go_or_says_at_whom_it_broke
        a_once_is_done_by_one_and_then_it_is_done
    }
    cases! { c_coordination_refused:
        every_function_of_coordination_checks_its_handle
        a_place_or_another_handle_that_is_missing_is_named
        what_is_opened_is_of_its_kind_and_there_if_it_must_be
        a_handler_sets_and_notifies_and_does_not_wait_where_its_thread_does
    }
    cases! { c_linked:
        a_program_enters_while_it_is_home_and_is_told_that_its_lease_has_ended
        what_is_not_linked_says_so
        a_program_reads_and_writes_while_a_rwlock_is_home
        a_program_takes_the_permits_that_this_host_has_of_a_semaphore
    }
    cases! { c_holds:
        several_ranges_are_one_acquisition
        several_keys_are_one_acquisition
        two_threads_that_take_the_same_parts_in_another_order_do_not_wait_for_each_other
        parts_that_cannot_all_be_had_are_not_held
        a_wait_for_several_parts_is_cancelled
        a_hold_has_one_acquisition_at_a_time
        while_one_thread_waits_by_it_a_hold_is_busy
        what_a_hold_does_is_recorded
        while_it_waits_for_an_upgrade_a_hold_is_busy
        what_is_held_is_upgraded_and_downgraded_by_any_thread
        what_is_not_held_has_no_owner_whatever_was_held_before
        permits_are_given_back_in_portions
        the_dead_ones_parts_are_marked_consistent_together
        a_deadline_ends_the_wait
        a_request_that_makes_no_sense_says_what_was_expected a_request_of_an_older_header_is_understood
        a_handle_of_no_lock_is_refused
        slots_come_from_the_pool_and_go_back
        a_cancel_of_a_closed_hold_does_not_end_a_wait_for_several_parts
        a_request_for_very_many_parts_is_granted_or_refused
        a_refused_request_for_several_parts_leaves_the_slots_to_others
        what_is_not_known_in_the_options_is_named
        a_slot_of_its_own_is_given_up
        the_hold_of_a_thread_only_cancels
        a_member_of_a_ring_leaves_it
        a_lock_is_held_on_when_its_handle_and_file_are_closed
        what_every_lock_has_is_there_for_every_kind
    }
    cases! { c_begun:
        what_is_free_is_finished_at_once
        each_kind_is_waited_for_by_a_descriptor
        several_ranges_or_keys_are_waited_for_by_a_descriptor
        those_of_one_process_are_served_in_the_order_in_which_they_began
        until_it_is_finished_the_hold_is_busy
        what_is_taken_back_is_not_held_and_leaves_the_queue
        a_wait_that_was_begun_ends_by_its_limit_or_a_cancel
        a_death_that_was_not_seen_is_told_to_the_next
        what_cannot_be_begun_is_refused_at_once
        what_was_begun_and_released_is_not_finished
        handles_may_be_closed_while_it_waits
    }
    cases! { c_transferred:
        what_was_transferred_is_released_by_the_descriptor
        closing_is_an_ordinary_end_only_where_both_said_so
        what_cannot_be_transferred_stays_as_it_was
    }
    cases! { recursive:
        through_the_c_abi_it_is_taken_again_and_the_limit_is_an_error
    }
    cases! { c_query:
        an_array_of_waiters_is_filled_as_far_as_it_goes
        a_free_lock_has_no_holder
        what_is_held_of_ranges_and_keys_is_shown
        only_the_holder_is_told_whether_a_waiter_is_there
        a_hold_is_opened_with_options
        the_path_of_a_file_is_given_as_far_as_there_is_room
    }
}

mod only_in_rust {
    use std::time::Duration;
    use support::{NoHang, Place, elsewhere, join, until, until_some};
    use turnlock::{
        Error, LockFile,
        inspect::{self, ClaimMode, Waiter, WaiterState},
    };

    cases! { settings:
        a_setting_that_is_asked_for_is_the_locks_or_an_error
        a_default_is_for_a_lock_that_is_created_now
        a_lock_keeps_its_settings_where_many_create_it_at_once
    }
    cases! { recursive:
        one_that_exists_and_is_not_recursive_is_refused
        a_panic_within_it_is_told_of_when_all_guards_are_gone
    }

    #[test]
    fn a_name_with_a_nul_in_it_is_a_bad_name() {
        let place = Place::new();
        let file = LockFile::open(place.lock_file()).unwrap();
        for name in ["\0", "a\0", "\0a", "a\0b"] {
            assert!(matches!(file.mutex(name), Err(Error::BadName { .. })), "{name:?}");
        }
    }

    /// A waiter whose patience lasts backs off: at a holder with a number in the queue, and at one with a bias.
    #[test]
    fn a_waiter_that_lets_others_pass_is_seen_backed_off() {
        let _no_hang = NoHang::for_seconds(60);
        for times in [1, 64] {
            let place = Place::new();
            let file = LockFile::open(place.lock_file()).unwrap();
            let mutex = file.mutex_options().patience(Duration::from_secs(3600)).open("a").unwrap();
            for _ in 1..times {
                drop(mutex.lock().unwrap());
            }
            let guard = mutex.lock().unwrap();
            let canceller = std::sync::Mutex::new(None);
            std::thread::scope(|threads| {
                let waiter = threads.spawn(|| {
                    *canceller.lock().unwrap() = Some(file.current_participant().unwrap());
                    mutex.lock().map(drop)
                });
                let seen = || inspect::snapshot(place.lock_file()).unwrap().locks.remove(0);
                let (claim, waited) = until_some("it backs off", || {
                    let backed_off = |waiter: &Waiter| waiter.state == WaiterState::BackedOff;
                    let waiter = seen().queue.into_iter().find(backed_off)?;
                    Some((waiter.claim?, waiter.for_seconds?))
                });
                assert_eq!(claim.mode, ClaimMode::Exclusive);
                until("it has waited longer", || {
                    mutex
                        .status()
                        .unwrap()
                        .queue
                        .first()
                        .is_some_and(|waiter| waiter.for_seconds > Some(waited))
                });
                canceller.lock().unwrap().take().unwrap().cancel();
                assert!(matches!(join(waiter), Err(Error::Cancelled)));
                assert!(seen().queue.is_empty() && mutex.status().unwrap().queue.is_empty());
            });
            drop(guard);
        }
    }

    #[test]
    fn a_participant_dropped_while_it_holds_is_told_of() {
        let place = Place::new();
        let file = LockFile::options().label("left early").open(place.lock_file()).unwrap();
        let mutex = file.mutex("a").unwrap();
        let participant = file.participant_options().label("a task").open().unwrap();
        std::mem::forget(mutex.lock_as(&participant).unwrap());
        assert!(matches!(mutex.try_lock(), Err(Error::WouldBlock(_))));
        drop(participant);
        let mut guard = mutex.try_lock().unwrap();
        assert!(guard.acquired().previous_owner_died);
        assert_eq!(guard.previous_owner().unwrap().label, "a task");
        guard.mark_consistent().unwrap();
    }

    #[test]
    fn a_mutex_outlives_its_file_handle_and_the_last_of_all_gives_the_slot_back() {
        let place = Place::new();
        let slots = || turnlock::inspect::snapshot(place.lock_file()).unwrap().participants.len();
        let file = LockFile::open(place.lock_file()).unwrap();
        let mutex = file.mutex("a").unwrap();
        drop(file);
        mutex.try_lock().unwrap().unlock().unwrap();
        let again = mutex.clone();
        drop(mutex);
        again.try_lock().unwrap().unlock().unwrap();
        assert_eq!(slots(), 1);
        elsewhere(|| {
            again.try_lock().unwrap().unlock().unwrap();
            assert_eq!(slots(), 2);
        });
        drop(again);
        assert_eq!(slots(), 0);
    }

    #[test]
    fn a_mutex_that_must_exist_is_not_created() {
        let place = Place::new();
        let file = LockFile::open(place.lock_file()).unwrap();
        match file.existing_mutex("a") {
            Err(error @ Error::NotFound { .. }) => assert!(error.to_string().contains("\"a\""), "{error}"),
            other => panic!("{:?}", other.map(drop)),
        }
        let mutex = file.mutex("a").unwrap();
        let guard = mutex.lock().unwrap();
        let same = file.existing_mutex("a").unwrap();
        assert!(matches!(same.try_lock(), Err(Error::Deadlock)));
        drop(guard);
    }
}
