// turnlock::condition: holders of a lock wait until another participant notifies them.

#ifndef TURNLOCK_CONDITION_HPP
#define TURNLOCK_CONDITION_HPP

#include <turnlock/mutex.hpp>
#include <turnlock/opened.hpp>
#include <turnlock/shared_mutex.hpp>

#include <condition_variable>
#include <mutex>

namespace turnlock {

struct condition_options {
    bool must_exist = false;
};

namespace detail {

// The locks that a condition waits with.
template <class Lock> struct waits_at_conditions : std::false_type {
};
template <std::uint32_t kind_flags> struct waits_at_conditions<basic_mutex<kind_flags>> : std::true_type {
};
template <> struct waits_at_conditions<shared_mutex> : std::true_type {
};
template <> struct waits_at_conditions<exclusive_by<mutex_calls>> : std::true_type {
};
template <> struct waits_at_conditions<exclusive_by<rwlock_calls>> : std::true_type {
};

// The lock that something has which has one; nullptr if it has none now.
template <class Lock> Lock *lock_of(Lock &lock) noexcept { return &lock; }
template <class Lock> Lock *lock_of(guard<Lock> &held) noexcept { return held.operator->(); }
template <class Lock> Lock *lock_of(std::unique_lock<Lock> &held) noexcept
{
    return held.owns_lock() ? held.mutex() : nullptr;
}

// Tells it that the lock is not held any more. (A guard takes an unlock that fails.)
template <class Lock> void disown(Lock &) noexcept {}
template <class Lock> void disown(std::unique_lock<Lock> &held) noexcept { held.release(); }

template <class Predicate>
using if_predicate = std::enable_if_t<std::is_invocable_r_v<bool, Predicate &>, int>;

} // namespace detail

// A condition between processes, with the names of std::condition_variable_any. It waits with a turnlock::mutex, a
// recursive_mutex or a shared_mutex that is locked exclusively, or one of these by a hold: with the lock itself, with an
// std::unique_lock or with a turnlock::guard of it. It is used with one lock at a time.
//
// Waiters are notified in the order in which they came, and none without a notification. The notification of a waiter that
// dies before it has the lock goes to the next one. A waiter has the lock again afterwards, and asks it for `owner_died()`.
//
// A wait that fails has the lock again, too (errc::cancelled, interrupted, not_found, invalid_argument), unless it could not be
// taken: after errc::not_recoverable, damaged, replaced, system and permission it is not held, and an std::unique_lock has no
// mutex any more.
class condition : public detail::opened<turnlock_condition, turnlock_condition_close> {
public:
    // Not open: to be assigned to.
    condition() noexcept = default;

    // Opens the condition of this name (1 to 63 bytes of UTF-8), or creates it. Its lock has another name.
    condition(const file &in, detail::text name, const condition_options &options = {})
    {
        detail::check_whole(name, errc::bad_name);
        std::error_code code;
        *this = open(in, name, options, code);
        detail::check(code);
    }

    static condition
    open(const file &in, detail::text name, const condition_options &options, std::error_code &code) noexcept
    {
        condition opened;
        if (detail::is_whole(name, errc::bad_name, code))
            detail::succeeded(turnlock_condition_open(in.native_handle(), name.chars(),
                                                      options.must_exist ? TURNLOCK_CONDITION_MUST_EXIST : 0,
                                                      opened.handle_.place()),
                              code);
        return opened;
    }

    // Unlocks, waits until it is notified, and locks again.
    template <class Lock> void wait(Lock &lock, std::error_code &code) noexcept
    {
        detail::succeeded(wait_at(lock, TURNLOCK_WAIT_FOREVER, 0, nullptr), code);
    }

    template <class Lock> void wait(Lock &lock) { checked_wait(lock, TURNLOCK_WAIT_FOREVER, 0); }

    // Waits until `is_so`, which is asked with the lock held.
    template <class Lock, class Predicate, detail::if_predicate<Predicate> = 0> void wait(Lock &lock, Predicate is_so)
    {
        while (!is_so())
            wait(lock);
    }

    // Waits for a notification for so long; for the lock it waits without a limit.
    template <class Lock, class Rep, class Period>
    std::cv_status wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &time, std::error_code &code)
    {
        const auto status = wait_at(lock, TURNLOCK_WAIT_AT_MOST, detail::nanoseconds(time), nullptr);
        return as_cv_status(detail::came(status, errc::timed_out, code) || code);
    }

    template <class Lock, class Rep, class Period>
    std::cv_status wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &time)
    {
        return as_cv_status(checked_wait(lock, TURNLOCK_WAIT_AT_MOST, detail::nanoseconds(time)));
    }

    // Whether it is so, after so long at most.
    template <class Lock, class Rep, class Period, class Predicate, detail::if_predicate<Predicate> = 0>
    bool wait_for(Lock &lock, const std::chrono::duration<Rep, Period> &time, Predicate is_so)
    {
        const auto end = monotonic_after(detail::nanoseconds(time));
        while (!is_so())
            if (!checked_wait(lock, TURNLOCK_WAIT_UNTIL, end))
                return is_so();
        return true;
    }

    // Waits until the clock has reached this time. With a clock that is slower than the one that the library waits by (that of
    // std::chrono::steady_clock), or is set back, it may be std::cv_status::no_timeout without a notification: look at the
    // data again.
    template <class Lock, class Clock, class Duration>
    std::cv_status wait_until(Lock &lock, const std::chrono::time_point<Clock, Duration> &time, std::error_code &code)
    {
        const auto status = wait_at(lock, TURNLOCK_WAIT_AT_MOST, detail::nanoseconds_until(time), nullptr);
        return as_cv_status(detail::came(status, errc::timed_out, code) || code || detail::nanoseconds_until(time) > 0);
    }

    template <class Lock, class Clock, class Duration>
    std::cv_status wait_until(Lock &lock, const std::chrono::time_point<Clock, Duration> &time)
    {
        // One that went on waiting with the slow clock might miss a notification between its two waits.
        return as_cv_status(checked_wait(lock, TURNLOCK_WAIT_AT_MOST, detail::nanoseconds_until(time)) ||
                            detail::nanoseconds_until(time) > 0);
    }

    template <class Lock, class Clock, class Duration, class Predicate, detail::if_predicate<Predicate> = 0>
    bool wait_until(Lock &lock, const std::chrono::time_point<Clock, Duration> &time, Predicate is_so)
    {
        while (!is_so())
            if (wait_until(lock, time) == std::cv_status::timeout)
                return is_so();
        return true;
    }

    // Notifies the participant that has waited longest. How many were notified, 0 or 1. The lock need not be held.
    std::uint32_t notify_one(std::error_code &code) noexcept
    {
        std::uint32_t notified = 0;
        detail::succeeded(turnlock_condition_notify_one(native_handle(), &notified), code);
        return notified;
    }

    std::uint32_t notify_one()
    {
        std::error_code code;
        const auto notified = notify_one(code);
        detail::check(code);
        return notified;
    }

    // Notifies all that wait by now, and says how many those were.
    std::uint32_t notify_all(std::error_code &code) noexcept
    {
        std::uint32_t notified = 0;
        detail::succeeded(turnlock_condition_notify_all(native_handle(), &notified), code);
        return notified;
    }

    std::uint32_t notify_all()
    {
        std::error_code code;
        const auto notified = notify_all(code);
        detail::check(code);
        return notified;
    }

    // After errc::replaced: the condition of the same name in the file that is at the path now. Close this one.
    condition reopen() const
    {
        condition reopened;
        reopen_as(reopened);
        return reopened;
    }

private:
    static std::cv_status as_cv_status(bool is_in_time) noexcept
    {
        return is_in_time ? std::cv_status::no_timeout : std::cv_status::timeout;
    }

    static std::uint64_t monotonic_after(std::uint64_t nanoseconds)
    {
        const auto now = detail::nanoseconds(std::chrono::steady_clock::now().time_since_epoch());
        return nanoseconds > std::numeric_limits<std::uint64_t>::max() - now ? std::numeric_limits<std::uint64_t>::max()
                                                                             : now + nanoseconds;
    }

    // The status of a wait. Where it fails, `story` gets why, if there is one: what is asked of the lock afterwards may fail, too.
    template <class Lock>
    std::int32_t wait_at(Lock &held, std::uint32_t wait, std::uint64_t time, std::string *story)
    {
        auto *const lock = detail::lock_of(held);
        static_assert(detail::waits_at_conditions<std::remove_pointer_t<std::remove_const_t<decltype(lock)>>>::value,
                      "a condition waits with a turnlock::mutex, a recursive_mutex or a shared_mutex that is locked exclusively, "
                      "or one of these by a hold; or with an std::unique_lock or a turnlock::guard of it");
        if (!lock) {
            if (story)
                *story = "the std::unique_lock does not own its lock: lock it before the wait";
            return TURNLOCK_ERROR_NOT_OWNER;
        }
        const auto status = lock->wait_at(native_handle(), wait, time);
        if (status < 0 && status != TURNLOCK_ERROR_TIMED_OUT) {
            if (story)
                *story = turnlock_last_error_message();
            if (!lock->is_held_still())
                detail::disown(held);
        }
        return status;
    }

    // Whether it was notified before the time was over.
    template <class Lock> bool checked_wait(Lock &held, std::uint32_t wait, std::uint64_t time)
    {
        std::string story;
        std::error_code code;
        const bool is_notified = detail::came(wait_at(held, wait, time, &story), errc::timed_out, code);
        if (code)
            detail::fail(code, story.c_str());
        return is_notified;
    }
};

} // namespace turnlock

#endif
