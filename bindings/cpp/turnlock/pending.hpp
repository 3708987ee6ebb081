// turnlock::pending and turnlock::pending_shared: acquisitions that are begun, and finished when they can be, for event loops.

#ifndef TURNLOCK_PENDING_HPP
#define TURNLOCK_PENDING_HPP

#include <turnlock/parts.hpp>

#include <mutex>
#include <shared_mutex>

#include <poll.h>

namespace turnlock {

namespace detail {

// An acquisition by a hold, in this mode, that was begun. `Owner` is what has the lock once it is finished.
template <class Lock, class Owner, std::uint32_t mode> class begun {
public:
    begun(begun &&other) noexcept : lock_(std::exchange(other.lock_, nullptr)) {}

    // What this one waits for is cancelled.
    begun &operator=(begun &&other) noexcept
    {
        std::error_code ignored;
        if (this != &other) {
            cancel(ignored);
            lock_ = std::exchange(other.lock_, nullptr);
        }
        return *this;
    }

    // Cancels it, unless it was finished.
    ~begun()
    {
        std::error_code ignored;
        cancel(ignored);
    }

    // Whether it is neither finished nor cancelled.
    explicit operator bool() const noexcept { return lock_ != nullptr; }

    // Readable (POLLIN, EPOLLIN) as long as it can be finished. It is the hold's, which closes it, and always the same: an event loop
    // may watch it between acquisitions too, and forgets it before the hold is closed.
    [[nodiscard]] int descriptor(std::error_code &code) const noexcept
    {
        std::int32_t descriptor = -1;
        succeeded(turnlock_hold_fd(by(), &descriptor), code);
        return descriptor;
    }

    [[nodiscard]] int descriptor() const
    {
        std::error_code code;
        const int found = descriptor(code);
        check(code);
        return found;
    }

    // Finishes it if that can be done now. While it waits still, what comes back owns nothing, `code` is without an error, and this is to
    // be called again. After an error (errc::timed_out, cancelled, not_recoverable and so on) nothing is held, and it is over.
    [[nodiscard]] Owner try_finish(std::error_code &code) noexcept
    {
        const auto status = lock_ ? lock_->finish_acquire() : turnlock_hold_finish_acquire(nullptr, nullptr);
        if (status == TURNLOCK_ERROR_WOULD_BLOCK) {
            code.clear();
            return {};
        }
        Lock *const lock = std::exchange(lock_, nullptr);
        return succeeded(status, code) ? Owner(*lock, std::adopt_lock) : Owner();
    }

    [[nodiscard]] Owner try_finish()
    {
        std::error_code code;
        auto held = try_finish(code);
        check(code);
        return held;
    }

    // Waits until it can be finished, and does so. Errors as `try_finish`; after errc::system, where no descriptor is to be had, it may go
    // on (`operator bool`).
    [[nodiscard]] Owner finish(std::error_code &code) noexcept
    {
        for (;;) {
            auto held = try_finish(code);
            if (held.owns_lock() || code)
                return held;
            pollfd ready{descriptor(code), POLLIN, 0};
            if (code)
                return {};
            // A signal ends it early, and it is asked again.
            static_cast<void>(poll(&ready, 1, -1));
        }
    }

    [[nodiscard]] Owner finish()
    {
        std::error_code code;
        auto held = finish(code);
        check(code);
        return held;
    }

    // Takes it back: it leaves the queue. What was acquired meanwhile is released, and a death that it would have been told of is told to
    // the next holder. Does nothing if it is over.
    void cancel(std::error_code &code) noexcept
    {
        code.clear();
        if (lock_)
            succeeded(turnlock_hold_cancel_acquire(by()), code);
        lock_ = nullptr;
    }

    void cancel()
    {
        std::error_code code;
        cancel(code);
        check(code);
    }

protected:
    begun() noexcept = default;

    void begin(Lock &lock, std::uint32_t wait, std::uint64_t time, std::error_code &code) noexcept
    {
        if (succeeded(lock.begin_acquire(mode, wait, time), code))
            lock_ = &lock;
    }

    void begin(Lock &lock, std::uint32_t wait, std::uint64_t time)
    {
        std::error_code code;
        begin(lock, wait, time, code);
        check(code);
    }

private:
    const turnlock_hold *by() const noexcept { return lock_ ? lock_->begun_by() : nullptr; }

    Lock *lock_ = nullptr;
};

} // namespace detail

// An acquisition that blocks no thread: it is begun, the program goes on, and finishes it when `descriptor()` is readable. `Lock` is a lock
// by a hold: what `turnlock::by` gives (of a semaphore, too), or a group, a range or a key that was made with one. Nothing but its hold,
// this object and what `finish` gives use it meanwhile (errc::hold_busy), and it outlives them. The destructor cancels.
//
//     auto mine = turnlock::by(task, accounts);
//     turnlock::pending waits(mine, 5s);
//     ... // the event loop: waits.descriptor() is readable
//     if (std::unique_lock held = waits.try_finish()) { ... }
template <class Lock>
class [[nodiscard]] pending : public detail::begun<Lock, std::unique_lock<Lock>, TURNLOCK_MODE_EXCLUSIVE> {
public:
    // None.
    pending() noexcept = default;

    // Begins it, without a limit.
    explicit pending(Lock &lock) { this->begin(lock, TURNLOCK_WAIT_FOREVER, 0); }

    // Begins it. After so long, which counts from here, finishing is errc::timed_out.
    template <class Rep, class Period> pending(Lock &lock, const std::chrono::duration<Rep, Period> &limit)
    {
        this->begin(lock, TURNLOCK_WAIT_AT_MOST, detail::nanoseconds(limit));
    }

    // Begins it, without a limit; none if `code` says a failure.
    pending(Lock &lock, std::error_code &code) noexcept
    {
        this->begin(lock, TURNLOCK_WAIT_FOREVER, 0, code);
    }

    template <class Rep, class Period>
    pending(Lock &lock, const std::chrono::duration<Rep, Period> &limit, std::error_code &code)
    {
        this->begin(lock, TURNLOCK_WAIT_AT_MOST, detail::nanoseconds(limit), code);
    }
};

// The same beside others that read: of a range or a key.
template <class Lock>
class [[nodiscard]] pending_shared : public detail::begun<Lock, std::shared_lock<Lock>, TURNLOCK_MODE_SHARED> {
public:
    // None.
    pending_shared() noexcept = default;

    // Begins it, without a limit.
    explicit pending_shared(Lock &lock) { this->begin(lock, TURNLOCK_WAIT_FOREVER, 0); }

    // Begins it. After so long, which counts from here, finishing is errc::timed_out.
    template <class Rep, class Period> pending_shared(Lock &lock, const std::chrono::duration<Rep, Period> &limit)
    {
        this->begin(lock, TURNLOCK_WAIT_AT_MOST, detail::nanoseconds(limit));
    }

    // Begins it, without a limit; none if `code` says a failure.
    pending_shared(Lock &lock, std::error_code &code) noexcept { this->begin(lock, TURNLOCK_WAIT_FOREVER, 0, code); }

    template <class Rep, class Period>
    pending_shared(Lock &lock, const std::chrono::duration<Rep, Period> &limit, std::error_code &code)
    {
        this->begin(lock, TURNLOCK_WAIT_AT_MOST, detail::nanoseconds(limit), code);
    }
};

} // namespace turnlock

#endif
