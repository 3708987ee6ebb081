// turnlock::semaphore: a number of permits.

#ifndef TURNLOCK_SEMAPHORE_HPP
#define TURNLOCK_SEMAPHORE_HPP

#include <turnlock/lock.hpp>

namespace turnlock {

// How to open, or create, a semaphore. One that exists keeps what it was created with; to ask for another patience is
// errc::kind.
struct semaphore_options {
    // How many permits it has, if it is created now.
    std::uint32_t permits = 1;
    // How long a waiter lets others pass before it is queued for good. 0 = what the semaphore has, and 1
    // millisecond if it is created now.
    std::chrono::nanoseconds patience = std::chrono::nanoseconds::zero();
    // No patience: strictly first come first served.
    bool strict = false;
    bool must_exist = false;
};

// Permits, of which each thread takes some for a while, first come first served. Those of a process that dies come back.
// Unlike those of a std::counting_semaphore they belong to the thread that took them, which gives them back. The forms with a
// hold take them by it; it has one lock at a time, and any thread gives them back.
class semaphore {
public:
    using native_handle_type = turnlock_semaphore *;

    // Not open: to be assigned to.
    semaphore() noexcept = default;

    // Opens the semaphore of this name (1 to 63 bytes of UTF-8), or creates it.
    semaphore(const file &in, detail::text name, const semaphore_options &options = {})
    {
        detail::check_whole(name, errc::bad_name);
        std::error_code code;
        *this = open(in, name, options, code);
        detail::check(code);
    }

    // The same, of so many permits if it is created now.
    semaphore(const file &in, detail::text name, std::uint32_t permits)
        : semaphore(in, name, semaphore_options{permits, std::chrono::nanoseconds::zero(), false, false})
    {
    }

    static semaphore
    open(const file &in, detail::text name, const semaphore_options &options, std::error_code &code) noexcept
    {
        semaphore opened;
        if (!detail::is_whole(name, errc::bad_name, code))
            return opened;
        if (options.permits == 0) {
            code = errc::permits;
            return opened;
        }
        auto native = detail::sized<turnlock_semaphore_options>();
        native.permits = options.permits;
        native.patience_ns = detail::nanoseconds(options.patience);
        native.flags = (options.strict ? TURNLOCK_SEMAPHORE_STRICT : 0) |
                       (options.must_exist ? TURNLOCK_SEMAPHORE_MUST_EXIST : 0);
        detail::succeeded(
            turnlock_semaphore_open(in.native_handle(), name.chars(), &native, opened.handle_.place()), code);
        return opened;
    }

    // Takes so many, all at once, waiting as long as it takes; no later caller goes before.
    void acquire(std::uint32_t permits, std::error_code &code) noexcept
    {
        detail::succeeded(turnlock_semaphore_acquire(native_handle(), permits, nullptr), code);
    }

    void acquire(std::uint32_t permits = 1)
    {
        std::error_code code;
        acquire(permits, code);
        detail::check(code);
    }

    void acquire(const hold &by, std::uint32_t permits = 1)
    {
        std::error_code code;
        detail::succeeded(acquire_by(by, permits, TURNLOCK_WAIT_FOREVER), code);
        detail::check(code);
    }

    [[nodiscard]] bool try_acquire(std::uint32_t permits = 1)
    {
        return is_taken(turnlock_semaphore_try_acquire(native_handle(), permits, nullptr), errc::would_block);
    }

    [[nodiscard]] bool try_acquire(const hold &by, std::uint32_t permits = 1)
    {
        return is_taken(acquire_by(by, permits, TURNLOCK_WAIT_NEVER), errc::would_block);
    }

    template <class Rep, class Period>
    [[nodiscard]] bool try_acquire_for(const std::chrono::duration<Rep, Period> &time, std::uint32_t permits = 1)
    {
        const auto status =
            turnlock_semaphore_acquire_for(native_handle(), permits, detail::nanoseconds(time), nullptr);
        return is_taken(status, errc::timed_out);
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool
    try_acquire_until(const std::chrono::time_point<Clock, Duration> &time, std::uint32_t permits = 1)
    {
        const auto status = detail::wait_until(time, [&](std::uint64_t left) {
            return turnlock_semaphore_acquire_for(native_handle(), permits, left, nullptr);
        });
        return is_taken(status, errc::timed_out);
    }

    // Gives so many back that the calling thread has.
    void release(std::uint32_t permits, std::error_code &code) noexcept
    {
        detail::succeeded(turnlock_semaphore_release(native_handle(), permits), code);
    }

    void release(std::uint32_t permits = 1)
    {
        std::error_code code;
        release(permits, code);
        detail::check(code);
    }

    void release(const hold &by, std::uint32_t permits = 1)
    {
        std::error_code code;
        detail::succeeded(turnlock_hold_release_permits(by.native_handle(), permits), code);
        detail::check(code);
    }

    // How many permits there are, taken or not.
    std::uint32_t permits() const
    {
        std::uint32_t permits = 0;
        std::error_code code;
        detail::succeeded(turnlock_semaphore_permits(native_handle(), &permits), code);
        detail::check(code);
        return permits;
    }

    // Makes it have so many, for all processes and at once. Those that are taken stay taken.
    void resize(std::uint32_t permits)
    {
        std::error_code code;
        detail::succeeded(turnlock_semaphore_resize(native_handle(), permits), code);
        detail::check(code);
    }

    // The holders of permits, and the waiters: `permits` says how many.
    std::vector<participant_info> holders() const { return detail::listed(native_handle(), turnlock_lock_holders); }
    std::vector<participant_info> waiters() const { return detail::listed(native_handle(), turnlock_lock_waiters); }

    // Whether another participant waits, while the calling thread has permits.
    [[nodiscard]] bool is_contended() const
    {
        const auto status = turnlock_lock_is_contended(detail::any(native_handle()));
        std::error_code code;
        detail::succeeded(status, code);
        detail::check(code);
        return status == TURNLOCK_CONTENDED;
    }

    // After errc::replaced: the semaphore of the same name in the file that is at the path now. Close this one.
    semaphore reopen() const
    {
        semaphore reopened;
        std::error_code code;
        detail::succeeded(
            turnlock_lock_reopen(detail::any(native_handle()), detail::any_place(reopened.handle_.place())), code);
        detail::check(code);
        return reopened;
    }

    // Closes it before its time; errc::still_held while the calling thread has permits. An object that is destroyed then
    // leaves them with the thread.
    void close()
    {
        std::error_code code;
        detail::succeeded(handle_.reset(), code);
        detail::check(code);
    }

    native_handle_type native_handle() const noexcept { return handle_.get(); }

private:
    // None are not one, as in a request of the C ABI.
    std::int32_t acquire_by(const hold &by, std::uint32_t permits, std::uint32_t wait) const noexcept
    {
        auto wanted = detail::request(native_handle(), wait);
        wanted.permits = permits;
        return permits == 0 ? TURNLOCK_ERROR_PERMITS : turnlock_hold_acquire(by.native_handle(), &wanted, nullptr);
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

    detail::owned<turnlock_semaphore, turnlock_semaphore_close> handle_;
};

namespace detail {

// So many permits of a semaphore, acquired by a hold: `turnlock::by`.
class permits_by : public lockable<permits_by> {
public:
    permits_by(const hold &by, const semaphore &of, std::uint32_t permits) noexcept
        : hold_(by.native_handle()), semaphore_(of.native_handle()), permits_(permits)
    {
    }

    // No holder is told of a death, and there is nothing to mark.
    void mark_consistent() = delete;

private:
    friend lockable<permits_by>;

    // Has `call` do what the request says. None are not one, as in a request of the C ABI.
    template <class Call> std::int32_t requested(std::uint32_t wait, std::uint64_t time, Call call) const noexcept
    {
        auto wanted = request(semaphore_, wait, time);
        wanted.permits = permits_;
        return permits_ == 0 ? TURNLOCK_ERROR_PERMITS : call(&wanted);
    }

    auto acquire(std::uint32_t wait, std::uint64_t time, turnlock_acquired *out) const noexcept
    {
        return requested(wait, time, [&](const auto *wanted) { return turnlock_hold_acquire(hold_, wanted, out); });
    }

    auto native_lock(turnlock_acquired *out) const noexcept { return acquire(TURNLOCK_WAIT_FOREVER, 0, out); }
    auto native_try_lock(turnlock_acquired *out) const noexcept { return acquire(TURNLOCK_WAIT_NEVER, 0, out); }
    auto native_lock_for(std::uint64_t time, turnlock_acquired *out) const noexcept
    {
        return acquire(TURNLOCK_WAIT_AT_MOST, time, out);
    }
    auto native_begin(std::uint32_t, std::uint32_t wait, std::uint64_t time) const noexcept
    {
        return requested(wait, time, [&](const auto *wanted) { return turnlock_hold_begin_acquire(hold_, wanted); });
    }
    const turnlock_hold *native_hold() const noexcept { return hold_; }
    auto native_unlock() const noexcept { return turnlock_hold_release(hold_); }
    // They come back, as those of the dead do.
    auto native_abandon() const noexcept { return turnlock_hold_release(hold_); }
    auto native_is_contended() const noexcept { return turnlock_hold_is_contended(hold_); }

    const turnlock_hold *hold_;
    const turnlock_semaphore *semaphore_;
    std::uint32_t permits_;
};

} // namespace detail

// So many permits as a hold acquires them: Lockable, and any thread may unlock, which gives all of them back. The hold and the semaphore
// must live as long as it does.
inline detail::permits_by by(const hold &by, const semaphore &of, std::uint32_t permits = 1) noexcept
{
    return {by, of, permits};
}

} // namespace turnlock

#endif
