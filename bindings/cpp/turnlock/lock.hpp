// What the exclusive kinds of lock have in common: the operations, of threads and by holds.

#ifndef TURNLOCK_LOCK_HPP
#define TURNLOCK_LOCK_HPP

#include <turnlock/hold.hpp>

#include <exception>

namespace turnlock {

class condition;

namespace detail {
template <class Lock, class Owner, std::uint32_t mode> class begun;
}

// What a holder's death means, for the next one.
enum class death_policy : std::uint32_t {
    // What the lock has; release if it is created now.
    any,
    // It is told (`owner_died()`), and marks the data consistent before it unlocks; else the lock is closed for everyone. All
    // who take such a lock have to know it: an std::lock_guard does not ask.
    inform,
    // It is told, and has nothing to mark consistent.
    release,
};

namespace detail {

// The flags of a kind of lock for a death policy.
struct death_flags {
    std::uint32_t any, inform, release;

    constexpr std::uint32_t of(death_policy policy) const noexcept
    {
        return policy == death_policy::inform ? inform : policy == death_policy::release ? release : any;
    }
};

// Lock and unlock as the standard library's named requirements have them (BasicLockable, Lockable, TimedLockable), and
// what a holder can know and do. `Derived` says which function of the C ABI each one is:
//
//     native_lock(acquired), native_try_lock(acquired), native_lock_for(nanoseconds, acquired), native_unlock(),
//     native_abandon(), native_mark_consistent(), native_is_contended()
//
// Every failing function has a form with an std::error_code, which never throws. A dead owner is not a failure: the lock
// is held then, and `owner_died()` says so. `is_each_new`: each acquisition has a fencing token of its own, but for those of
// a recursive lock that is taken again.
template <class Derived, bool is_each_new = true> class lockable {
public:
    // Waits as long as it takes.
    void lock(std::error_code &code) noexcept
    {
        auto acquired = sized<turnlock_acquired>();
        if (succeeded(self().native_lock(&acquired), code))
            keep(acquired);
    }

    void lock()
    {
        std::error_code code;
        lock(code);
        check(code);
    }

    // Whether it was taken at once; if not, `code` is without an error where another holder has it, and errc::deadlock where the
    // caller has it already.
    [[nodiscard]] bool try_lock(std::error_code &code) noexcept
    {
        auto acquired = sized<turnlock_acquired>();
        return taken(self().native_try_lock(&acquired), acquired, errc::would_block, code);
    }

    // Whether it was taken at once. Its holder gets `false`, as from the standard library's mutexes.
    [[nodiscard]] bool try_lock()
    {
        std::error_code code;
        const bool is_taken = try_lock(code);
        if (code != errc::deadlock)
            check(code);
        return is_taken;
    }

    // Whether it was taken within so long. A negative time is none, one beyond 584 years is that.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period> &time, std::error_code &code)
    {
        auto acquired = sized<turnlock_acquired>();
        return taken(self().native_lock_for(nanoseconds(time), &acquired), acquired, errc::timed_out, code);
    }

    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period> &time)
    {
        std::error_code code;
        const bool is_taken = try_lock_for(time, code);
        check(code);
        return is_taken;
    }

    // Whether it was taken before the clock reached this time. A clock that is slow, or is set back, is waited for; one that is
    // set forward ends no wait that has begun.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time, std::error_code &code)
    {
        auto acquired = sized<turnlock_acquired>();
        const auto status =
            wait_until(time, [&](std::uint64_t left) { return self().native_lock_for(left, &acquired); });
        return taken(status, acquired, errc::timed_out, code);
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        std::error_code code;
        const bool is_taken = try_lock_until(time, code);
        check(code);
        return is_taken;
    }

    // Unlocks. errc::damaged and errc::replaced say that something was seen to have happened to the file, and errc::lease_ended that
    // another host may have had the lock (`still_owner`): it is unlocked all the same.
    void unlock(std::error_code &code) noexcept { succeeded(self().native_unlock(), code); }

    // Unlocks. The holder gets no exception, as the named requirements want it; what happened to the file is
    // what the next lock fails with, and a lease that has ended is what `still_owner` tells before.
    void unlock()
    {
        std::error_code code;
        unlock(code);
        if (code != errc::damaged && code != errc::replaced && code != errc::lease_ended)
            check(code);
    }

    // Unlocks as a dying owner does, since the data were left half-done: the next holder is told.
    void abandon(std::error_code &code) noexcept { succeeded(self().native_abandon(), code); }
    void abandon()
    {
        std::error_code code;
        abandon(code);
        check(code);
    }

    // Says, after `owner_died()`, that the data are well again.
    void mark_consistent(std::error_code &code) noexcept { succeeded(self().native_mark_consistent(), code); }
    void mark_consistent()
    {
        std::error_code code;
        mark_consistent(code);
        check(code);
    }

    // Whether another participant waits behind the holder, which calls this.
    [[nodiscard]] bool is_contended() const
    {
        const auto status = static_cast<const Derived &>(*this).native_is_contended();
        std::error_code code;
        succeeded(status, code);
        check(code);
        return status == TURNLOCK_CONTENDED;
    }

    // Of the acquisition that was made through this object last. Only its holder may ask: the lock itself
    // keeps these from being read while they are written.
    [[nodiscard]] std::uint64_t fencing_token() const noexcept { return acquired_.fencing_token; }
    // Whether the holder before died inside. Repair the data and `mark_consistent` before you unlock.
    [[nodiscard]] bool owner_died() const noexcept { return acquired_.previous_owner_died != 0; }
    // With it: that holder's process, and its fencing token.
    [[nodiscard]] std::uint32_t dead_owner_pid() const noexcept { return acquired_.previous_owner_pid; }
    [[nodiscard]] std::uint64_t dead_owner_fencing_token() const noexcept
    {
        return acquired_.previous_owner_fencing_token;
    }

protected:
    lockable() noexcept = default;
    lockable(lockable &&) noexcept = default;
    lockable &operator=(lockable &&) noexcept = default;
    ~lockable() = default;

    // A recursive lock that is taken again has the same fencing token, and what came with the first time stands.
    void keep(const turnlock_acquired &acquired) noexcept
    {
        if (!is_each_new || acquired.fencing_token != acquired_.fencing_token)
            acquired_ = acquired;
    }

    bool taken(std::int32_t status, const turnlock_acquired &acquired, errc not_now, std::error_code &code) noexcept
    {
        const bool is_taken = status >= 0;
        if (status == static_cast<int>(not_now))
            code.clear();
        else if (succeeded(status, code))
            keep(acquired);
        return is_taken;
    }

private:
    friend class turnlock::condition;
    template <class, class, std::uint32_t> friend class begun;

    Derived &self() noexcept { return static_cast<Derived &>(*this); }

    // Of a lock by a hold: begins to acquire it in this mode; by which hold; and what came of it.
    std::int32_t begin_acquire(std::uint32_t mode, std::uint32_t wait, std::uint64_t time) noexcept
    {
        return self().native_begin(mode, wait, time);
    }
    const turnlock_hold *begun_by() noexcept { return self().native_hold(); }
    std::int32_t finish_acquire() noexcept
    {
        auto acquired = sized<turnlock_acquired>();
        const auto status = turnlock_hold_finish_acquire(begun_by(), &acquired);
        if (status >= 0)
            keep(acquired);
        return status;
    }

    // Waits at a condition, and keeps what came with the lock if it was taken again, also where the wait failed.
    std::int32_t wait_at(const turnlock_condition *condition, std::uint32_t wait, std::uint64_t time) noexcept
    {
        auto acquired = sized<turnlock_acquired>();
        const auto status = self().native_wait(condition, wait, time, &acquired);
        if (acquired.fencing_token != 0)
            keep(acquired);
        return status;
    }

    // Whether it is held after a wait that failed. What cannot be told to be held is unlocked, as far as it is.
    bool is_held_still() noexcept
    {
        if (self().native_is_contended() >= 0)
            return true;
        static_cast<void>(self().native_unlock());
        return false;
    }

    turnlock_acquired acquired_ = sized<turnlock_acquired>();
};

// All the participants that a function of the C ABI lists: the waiters, say.
template <class Handle, class Function>
std::vector<participant_info> listed(const Handle *handle, Function list)
{
    std::vector<participant_info> found(8);
    for (;;) {
        std::size_t count = 0;
        std::error_code code;
        found[0] = sized<participant_info>();
        succeeded(list(any(handle), found.size(), found.data(), &count), code);
        check(code);
        const bool all = count <= found.size();
        found.resize(count);
        if (all)
            return found;
    }
}

// A lock of an exclusive kind that is open. `Calls` names the functions of its kind.
template <class Calls> class exclusive : public lockable<exclusive<Calls>, Calls::is_each_new> {
    using base = lockable<exclusive<Calls>, Calls::is_each_new>;

public:
    using native_handle_type = typename Calls::handle *;

    exclusive() noexcept = default;
    exclusive(exclusive &&) noexcept = default;

    exclusive &operator=(exclusive &&other) noexcept
    {
        give_up();
        base::operator=(std::move(other));
        handle_ = std::move(other.handle_);
        return *this;
    }

    // A lock that the calling thread still has is abandoned: the next holder is told.
    ~exclusive() { give_up(); }

    // Opens a lock that is not recoverable again, in its turn, after the data were repaired or given up.
    void reset(std::error_code &code) noexcept { succeeded(turnlock_lock_reset(any(handle_.get())), code); }
    void reset()
    {
        std::error_code code;
        reset(code);
        check(code);
    }

    [[nodiscard]] bool try_reset()
    {
        std::error_code code;
        succeeded(turnlock_lock_try_reset(any(handle_.get())), code);
        if (code == errc::would_block)
            return false;
        check(code);
        return true;
    }

    template <class Rep, class Period>
    [[nodiscard]] bool try_reset_for(const std::chrono::duration<Rep, Period> &time)
    {
        std::error_code code;
        succeeded(turnlock_lock_reset_for(any(handle_.get()), nanoseconds(time)), code);
        if (code == errc::timed_out)
            return false;
        check(code);
        return true;
    }

    // The last participant that died holding the lock; none if no holder ever did.
    std::optional<previous_owner> last_dead_owner() const
    {
        auto owner = sized<previous_owner>();
        std::error_code code;
        succeeded(turnlock_lock_previous_owner(any(handle_.get()), &owner), code);
        if (code == errc::not_found)
            return std::nullopt;
        check(code);
        return owner;
    }

    // The holder, dead or alive. A look at one moment.
    std::optional<participant_info> holder() const
    {
        auto found = listed(handle_.get(), turnlock_lock_holders);
        if (found.empty())
            return std::nullopt;
        return found.front();
    }

    // The waiters, first the one that is next. A look at one moment.
    std::vector<participant_info> waiters() const
    {
        return listed(handle_.get(), turnlock_lock_waiters);
    }

    // Closes it before its time; errc::still_held while the calling thread has it.
    void close(std::error_code &code) noexcept { succeeded(handle_.reset(), code); }
    void close()
    {
        std::error_code code;
        close(code);
        check(code);
    }

    native_handle_type native_handle() const noexcept { return handle_.get(); }

protected:
    owned<typename Calls::handle, Calls::close> handle_;

private:
    friend base;

    void give_up() noexcept
    {
        while (handle_.reset() == TURNLOCK_ERROR_STILL_HELD && Calls::abandon(handle_.get()) >= 0) {
        }
    }

    auto native_lock(turnlock_acquired *out) const noexcept { return Calls::lock(handle_.get(), out); }
    auto native_try_lock(turnlock_acquired *out) const noexcept { return Calls::try_lock(handle_.get(), out); }
    auto native_lock_for(std::uint64_t time, turnlock_acquired *out) const noexcept
    {
        return Calls::lock_for(handle_.get(), time, out);
    }
    auto native_unlock() const noexcept { return Calls::unlock(handle_.get()); }
    auto native_abandon() const noexcept { return Calls::abandon(handle_.get()); }
    auto native_mark_consistent() const noexcept { return Calls::mark_consistent(handle_.get()); }
    auto native_is_contended() const noexcept { return turnlock_lock_is_contended(any(handle_.get())); }
    auto native_wait(const turnlock_condition *at, std::uint32_t wait, std::uint64_t time, turnlock_acquired *out) const noexcept
    {
        return turnlock_condition_wait(at, any(handle_.get()), wait, time, out);
    }
};

// A lock of an exclusive kind, acquired by a hold: `turnlock::by`.
template <class Calls> class exclusive_by : public lockable<exclusive_by<Calls>, Calls::is_each_new> {
public:
    exclusive_by(const hold &by, const exclusive<Calls> &lock) noexcept
        : hold_(by.native_handle()), lock_(lock.native_handle())
    {
    }

private:
    friend lockable<exclusive_by, Calls::is_each_new>;

    auto acquire(std::uint32_t wait, std::uint64_t time, turnlock_acquired *out) const noexcept
    {
        const auto wanted = request(lock_, wait, time);
        return turnlock_hold_acquire(hold_, &wanted, out);
    }

    auto native_begin(std::uint32_t mode, std::uint32_t wait, std::uint64_t time) const noexcept
    {
        auto wanted = request(lock_, wait, time);
        wanted.mode = mode;
        return turnlock_hold_begin_acquire(hold_, &wanted);
    }
    const turnlock_hold *native_hold() const noexcept { return hold_; }

    auto native_lock(turnlock_acquired *out) const noexcept { return acquire(TURNLOCK_WAIT_FOREVER, 0, out); }
    auto native_try_lock(turnlock_acquired *out) const noexcept { return acquire(TURNLOCK_WAIT_NEVER, 0, out); }
    auto native_lock_for(std::uint64_t time, turnlock_acquired *out) const noexcept
    {
        return acquire(TURNLOCK_WAIT_AT_MOST, time, out);
    }
    auto native_unlock() const noexcept { return turnlock_hold_release(hold_); }
    auto native_abandon() const noexcept { return turnlock_hold_abandon(hold_); }
    auto native_mark_consistent() const noexcept { return turnlock_hold_mark_consistent(hold_); }
    auto native_is_contended() const noexcept { return turnlock_hold_is_contended(hold_); }
    auto native_wait(const turnlock_condition *at, std::uint32_t wait, std::uint64_t time, turnlock_acquired *out) const noexcept
    {
        return turnlock_hold_wait(hold_, at, wait, time, out);
    }

    const turnlock_hold *hold_;
    const typename Calls::handle *lock_;
};

} // namespace detail

// A lock as a hold acquires it: Lockable like the lock itself, but what is locked belongs to the hold, and may
// be unlocked from any thread. Both must live as long as it does.
template <class Calls>
detail::exclusive_by<Calls> by(const hold &by, const detail::exclusive<Calls> &lock) noexcept
{
    return {by, lock};
}

// Has a lock as long as it lives. Where an exception ends the block the lock is abandoned, since the data may be
// half-done, and the next holder is told; std::lock_guard unlocks there.
template <class Lock> class [[nodiscard]] guard {
public:
    explicit guard(Lock &lock) : lock_(lock) { lock_.lock(); }
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;

    // Does nothing if the lock was unlocked or abandoned by hand.
    ~guard()
    {
        std::error_code ignored;
        if (is_unwinding())
            lock_.abandon(ignored);
        else
            lock_.unlock(ignored);
    }

    Lock *operator->() const noexcept { return &lock_; }

private:
    Lock &lock_;
#if TURNLOCK_HAS_EXCEPTIONS
    int exceptions_ = std::uncaught_exceptions();
    bool is_unwinding() const noexcept { return std::uncaught_exceptions() > exceptions_; }
#else
    bool is_unwinding() const noexcept { return false; }
#endif
};

} // namespace turnlock

#endif
