// turnlock::mutex and turnlock::recursive_mutex.

#ifndef TURNLOCK_MUTEX_HPP
#define TURNLOCK_MUTEX_HPP

#include <turnlock/lock.hpp>

namespace turnlock {

// How to open, or create, a mutex. A mutex that exists keeps what it was created with; to ask for another
// patience or death policy is errc::kind.
struct mutex_options {
    // How long a waiter lets others pass before it is queued for good. 0 = what the lock has, and 1 millisecond if
    // it is created now.
    std::chrono::nanoseconds patience = std::chrono::nanoseconds::zero();
    // No patience: strictly first come first served.
    bool strict = false;
    // What a holder's death means.
    death_policy on_death = death_policy::any;
    bool must_exist = false;
};

namespace detail {

struct mutex_calls {
    using handle = turnlock_mutex;
    static constexpr bool is_each_new = true;
    static constexpr death_flags on_death = {
        TURNLOCK_MUTEX_RELEASE_BY_DEFAULT, TURNLOCK_MUTEX_INFORM_ON_DEATH, TURNLOCK_MUTEX_RELEASE_ON_DEATH};
    static constexpr auto close = turnlock_mutex_close;
    static constexpr auto lock = turnlock_mutex_lock;
    static constexpr auto try_lock = turnlock_mutex_try_lock;
    static constexpr auto lock_for = turnlock_mutex_lock_for;
    static constexpr auto unlock = turnlock_mutex_unlock;
    static constexpr auto abandon = turnlock_mutex_abandon;
    static constexpr auto mark_consistent = turnlock_mutex_mark_consistent;
};

template <std::uint32_t kind_flags> class basic_mutex : public exclusive<mutex_calls> {
public:
    // Not open: to be assigned to.
    basic_mutex() noexcept = default;

    // Opens the mutex of this name (1 to 63 bytes of UTF-8), or creates it.
    basic_mutex(const file &in, text name, const mutex_options &options = {})
    {
        check_whole(name, errc::bad_name);
        std::error_code code;
        *this = open(in, name, options, code);
        check(code);
    }

    static basic_mutex open(const file &in, text name, const mutex_options &options, std::error_code &code) noexcept
    {
        basic_mutex opened;
        if (!is_whole(name, errc::bad_name, code))
            return opened;
        auto native = sized<turnlock_mutex_options>();
        native.patience_ns = nanoseconds(options.patience);
        native.flags = kind_flags | (options.strict ? TURNLOCK_MUTEX_STRICT : 0) |
                       mutex_calls::on_death.of(options.on_death) |
                       (options.must_exist ? TURNLOCK_MUTEX_MUST_EXIST : 0);
        succeeded(turnlock_mutex_open(in.native_handle(), name.chars(), &native, opened.handle_.place()), code);
        return opened;
    }

    // How long waiters let others pass here, as its creator said; 0 is strictly first come first served.
    std::chrono::nanoseconds patience() const
    {
        std::uint64_t patience = 0;
        std::error_code code;
        succeeded(turnlock_lock_patience(any(this->native_handle()), &patience), code);
        check(code);
        return std::chrono::nanoseconds(patience);
    }

    // Whether this host has the mutex still, for its holder, also one by a hold: not, once the lease of a linked mutex has ended, from when on
    // another host may have it. What goes out to others needs the fencing token besides.
    [[nodiscard]] bool still_owner() const
    {
        const auto status = turnlock_lock_still_owner(any(this->native_handle()));
        if (status == TURNLOCK_ERROR_LEASE_ENDED)
            return false;
        std::error_code code;
        succeeded(status, code);
        check(code);
        return true;
    }

    // After errc::replaced: the mutex of the same name in the file that is at the path now. Close this one.
    basic_mutex reopen() const
    {
        basic_mutex reopened;
        std::error_code code;
        succeeded(turnlock_lock_reopen(any(this->native_handle()), any_place(reopened.handle_.place())), code);
        check(code);
        return reopened;
    }
};

} // namespace detail

// One at a time, across processes. It belongs to the thread that took it, or to the hold that acquired it (`turnlock::by`).
using mutex = detail::basic_mutex<0>;

// The same, and its thread may take it again, up to 65,535 times. A hold takes it once.
using recursive_mutex = detail::basic_mutex<TURNLOCK_MUTEX_RECURSIVE>;

} // namespace turnlock

#endif
