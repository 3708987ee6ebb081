// turnlock::shared_mutex: several that read, or one that writes, and one that reads and may become the one that writes.

#ifndef TURNLOCK_SHARED_MUTEX_HPP
#define TURNLOCK_SHARED_MUTEX_HPP

#include <turnlock/lock.hpp>

namespace turnlock {

// How to open, or create, a shared mutex. One that exists keeps what it was created with; to ask for another
// patience or death policy is errc::kind.
struct shared_mutex_options {
    // How long a waiter lets others pass before it is queued for good. 0 = what the lock has, and 1 millisecond if
    // it is created now.
    std::chrono::nanoseconds patience = std::chrono::nanoseconds::zero();
    // No patience: strictly first come first served.
    bool strict = false;
    // What a writer's death means.
    death_policy on_death = death_policy::any;
    bool must_exist = false;
};

// What came with a shared acquisition.
struct shared_acquisition {
    // That of the last writer: two readers with the same one read the same.
    std::uint64_t fencing_token = 0;
    // A writer died inside, and what it left is not marked consistent yet.
    bool owner_died = false;
};

// What a hold can be made by `downgrade`.
enum class lock_mode : std::uint32_t {
    shared = TURNLOCK_MODE_SHARED,
    upgradable = TURNLOCK_MODE_UPGRADABLE,
};

namespace detail {

struct rwlock_calls {
    using handle = turnlock_rwlock;
    static constexpr bool is_each_new = false;
    static constexpr death_flags on_death = {
        TURNLOCK_RWLOCK_RELEASE_BY_DEFAULT, TURNLOCK_RWLOCK_INFORM_ON_DEATH, TURNLOCK_RWLOCK_RELEASE_ON_DEATH};
    static constexpr auto close = turnlock_rwlock_close;
    static constexpr auto lock = turnlock_rwlock_lock_exclusive;
    static constexpr auto try_lock = turnlock_rwlock_try_lock_exclusive;
    static constexpr auto lock_for = turnlock_rwlock_lock_exclusive_for;
    static constexpr auto unlock = turnlock_rwlock_unlock;
    static constexpr auto abandon = turnlock_rwlock_abandon;
    static constexpr auto mark_consistent = turnlock_rwlock_mark_consistent;
};

} // namespace detail

// SharedTimedLockable. What `lock()` and its like take is exclusive; `turnlock::by` takes that by a hold.
class shared_mutex : public detail::exclusive<detail::rwlock_calls> {
public:
    // Not open: to be assigned to.
    shared_mutex() noexcept = default;

    // Opens the lock of this name (1 to 63 bytes of UTF-8), or creates it.
    shared_mutex(const file &in, detail::text name, const shared_mutex_options &options = {})
    {
        detail::check_whole(name, errc::bad_name);
        std::error_code code;
        *this = open(in, name, options, code);
        detail::check(code);
    }

    static shared_mutex
    open(const file &in, detail::text name, const shared_mutex_options &options, std::error_code &code) noexcept
    {
        shared_mutex opened;
        if (!detail::is_whole(name, errc::bad_name, code))
            return opened;
        auto native = detail::sized<turnlock_rwlock_options>();
        native.patience_ns = detail::nanoseconds(options.patience);
        native.flags = (options.strict ? TURNLOCK_RWLOCK_STRICT : 0) |
                       detail::rwlock_calls::on_death.of(options.on_death) |
                       (options.must_exist ? TURNLOCK_RWLOCK_MUST_EXIST : 0);
        detail::succeeded(
            turnlock_rwlock_open(in.native_handle(), name.chars(), &native, opened.handle_.place()), code);
        return opened;
    }

    // Takes it beside others that read. The result is without a meaning if `code` says a failure.
    shared_acquisition lock_shared(std::error_code &code) noexcept
    {
        return shared(code, [&](turnlock_acquired *out) { return turnlock_rwlock_lock_shared(native_handle(), out); });
    }

    shared_acquisition lock_shared()
    {
        std::error_code code;
        const auto acquired = lock_shared(code);
        detail::check(code);
        return acquired;
    }

    [[nodiscard]] bool try_lock_shared()
    {
        return is_taken(turnlock_rwlock_try_lock_shared(native_handle(), nullptr), errc::would_block);
    }

    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time)
    {
        return is_taken(turnlock_rwlock_lock_shared_for(native_handle(), detail::nanoseconds(time), nullptr),
                        errc::timed_out);
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        const auto status = detail::wait_until(time, [&](std::uint64_t left) {
            return turnlock_rwlock_lock_shared_for(native_handle(), left, nullptr);
        });
        return is_taken(status, errc::timed_out);
    }

    void unlock_shared() { unlock(); }

    // Takes it beside those that read, with the right to `upgrade`, which one at a time has.
    void lock_upgradable()
    {
        auto acquired = detail::sized<turnlock_acquired>();
        std::error_code code;
        if (detail::succeeded(turnlock_rwlock_lock_upgradable(native_handle(), &acquired), code))
            keep(acquired);
        detail::check(code);
    }

    [[nodiscard]] bool try_lock_upgradable()
    {
        auto acquired = detail::sized<turnlock_acquired>();
        return is_kept(turnlock_rwlock_try_lock_upgradable(native_handle(), &acquired), acquired, errc::would_block);
    }

    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_upgradable_for(const std::chrono::duration<Rep, Period> &time)
    {
        auto acquired = detail::sized<turnlock_acquired>();
        const auto status =
            turnlock_rwlock_lock_upgradable_for(native_handle(), detail::nanoseconds(time), &acquired);
        return is_kept(status, acquired, errc::timed_out);
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_upgradable_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        auto acquired = detail::sized<turnlock_acquired>();
        const auto status = detail::wait_until(time, [&](std::uint64_t left) {
            return turnlock_rwlock_lock_upgradable_for(native_handle(), left, &acquired);
        });
        return is_kept(status, acquired, errc::timed_out);
    }

    void unlock_upgradable() { unlock(); }

    // Makes an upgradable hold exclusive; no other holder writes in between. Where it fails the lock is held upgradable
    // as before.
    void upgrade()
    {
        auto acquired = detail::sized<turnlock_acquired>();
        std::error_code code;
        if (detail::succeeded(turnlock_rwlock_upgrade(native_handle(), &acquired), code))
            keep(acquired);
        detail::check(code);
    }

    [[nodiscard]] bool try_upgrade()
    {
        auto acquired = detail::sized<turnlock_acquired>();
        return is_kept(turnlock_rwlock_try_upgrade(native_handle(), &acquired), acquired, errc::would_block);
    }

    template <class Rep, class Period>
    [[nodiscard]] bool try_upgrade_for(const std::chrono::duration<Rep, Period> &time)
    {
        auto acquired = detail::sized<turnlock_acquired>();
        const auto status = turnlock_rwlock_upgrade_for(native_handle(), detail::nanoseconds(time), &acquired);
        return is_kept(status, acquired, errc::timed_out);
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool try_upgrade_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        auto acquired = detail::sized<turnlock_acquired>();
        const auto status = detail::wait_until(time, [&](std::uint64_t left) {
            return turnlock_rwlock_upgrade_for(native_handle(), left, &acquired);
        });
        return is_kept(status, acquired, errc::timed_out);
    }

    // Makes the hold less than it is: exclusive to upgradable or shared, upgradable to shared. No other holder writes
    // in between.
    void downgrade(lock_mode mode)
    {
        std::error_code code;
        detail::succeeded(turnlock_rwlock_downgrade(native_handle(), static_cast<std::uint32_t>(mode)), code);
        detail::check(code);
    }

    // The holders, dead or alive; `mode` says as what.
    std::vector<participant_info> holders() const { return detail::listed(native_handle(), turnlock_lock_holders); }
    // There may be several.
    void holder() const = delete;

    // After errc::replaced: the lock of the same name in the file that is at the path now. Close this one.
    shared_mutex reopen() const
    {
        shared_mutex reopened;
        std::error_code code;
        detail::succeeded(
            turnlock_lock_reopen(detail::any(native_handle()), detail::any_place(reopened.handle_.place())), code);
        detail::check(code);
        return reopened;
    }

private:
    template <class Take> static shared_acquisition shared(std::error_code &code, Take take) noexcept
    {
        auto acquired = detail::sized<turnlock_acquired>();
        detail::succeeded(take(&acquired), code);
        return {acquired.fencing_token, acquired.previous_owner_died != 0};
    }

    static bool is_taken(std::int32_t status, errc not_now)
    {
        std::error_code code;
        const bool is = detail::succeeded(status, code);
        // A try of one that has it already fails like that of any other.
        if (code != not_now && !(not_now == errc::would_block && code == errc::deadlock))
            detail::check(code);
        return is;
    }

    bool is_kept(std::int32_t status, const turnlock_acquired &acquired, errc not_now)
    {
        const bool is = is_taken(status, not_now);
        if (is)
            keep(acquired);
        return is;
    }
};

} // namespace turnlock

#endif
