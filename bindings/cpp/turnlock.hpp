// turnlock for C++17: RAII types over turnlock.h, header-only. Link with -lturnlock.
//
//     turnlock::file file("app.lock");
//     turnlock::mutex accounts(file, "accounts");
//     std::scoped_lock guard(accounts);
//     if (accounts.owner_died()) { /* repair the data */ accounts.mark_consistent(); }
//
// The locks satisfy BasicLockable, Lockable and TimedLockable, so that std::scoped_lock, std::unique_lock and
// std::condition_variable_any work with them. A holder that died is not an exception: the lock is held, and
// `owner_died()` says so. What participants wait for beside locks is a turnlock::condition, an event, a barrier or a once. An event
// loop waits for a lock by a turnlock::pending.
//
// Failures are std::system_error of turnlock::category(), or an std::error_code where one is given; with -fno-exceptions
// turnlock::set_failure_handler says what happens to those without one.

#ifndef TURNLOCK_HPP
#define TURNLOCK_HPP

#include <turnlock/barrier.hpp>
#include <turnlock/condition.hpp>
#include <turnlock/event.hpp>
#include <turnlock/file.hpp>
#include <turnlock/group_lock.hpp>
#include <turnlock/hold.hpp>
#include <turnlock/mutex.hpp>
#include <turnlock/once.hpp>
#include <turnlock/parts.hpp>
#include <turnlock/pending.hpp>
#include <turnlock/semaphore.hpp>
#include <turnlock/shared_mutex.hpp>
#include <turnlock/turn_ring.hpp>

#endif
