// turnlock::barrier: so many parties wait for one another.

#ifndef TURNLOCK_BARRIER_HPP
#define TURNLOCK_BARRIER_HPP

#include <turnlock/opened.hpp>

namespace turnlock {

// How to open, or create, a barrier. One that exists keeps its number of parties; to ask for another one is errc::kind.
struct barrier_options {
    // How many parties it has; 0 = as many as it has, and it must exist.
    std::uint32_t parties = 0;
    bool must_exist = false;
};

// A barrier between processes, to be used again and again. The death of a party (one that waits, or has waited here before
// and is still attached to the file) breaks it for all, and so does one whose time is over, or whose wait is cancelled: those
// that wait, and those that come until a `reset`, get errc::broken_barrier, and its story says who it was.
class barrier : public detail::opened<turnlock_barrier, turnlock_barrier_close> {
public:
    // Not open: to be assigned to.
    barrier() noexcept = default;

    // Opens the barrier of this name (1 to 63 bytes of UTF-8), or creates it.
    barrier(const file &in, detail::text name, const barrier_options &options = {})
    {
        detail::check_whole(name, errc::bad_name);
        std::error_code code;
        *this = open(in, name, options, code);
        detail::check(code);
    }

    // The same, of so many parties.
    barrier(const file &in, detail::text name, std::uint32_t parties) : barrier(in, name, of(parties)) {}

    static barrier
    open(const file &in, detail::text name, const barrier_options &options, std::error_code &code) noexcept
    {
        barrier opened;
        if (detail::is_whole(name, errc::bad_name, code))
            detail::succeeded(turnlock_barrier_open(in.native_handle(), name.chars(), options.parties,
                                                    options.must_exist ? TURNLOCK_BARRIER_MUST_EXIST : 0,
                                                    opened.handle_.place()),
                              code);
        return opened;
    }

    // Waits until all parties have come. Whether this one was the last: that is so for one of them.
    bool wait(std::error_code &code) noexcept { return meet(TURNLOCK_WAIT_FOREVER, 0, code); }

    bool wait()
    {
        std::error_code code;
        const bool is_last = wait(code);
        detail::check(code);
        return is_last;
    }

    // The same, as a std::barrier has it.
    void arrive_and_wait() { static_cast<void>(wait()); }

    // The same, for so long at most; then it is errc::timed_out, and the barrier is broken for the others.
    template <class Rep, class Period>
    bool wait_for(const std::chrono::duration<Rep, Period> &time, std::error_code &code)
    {
        return meet(TURNLOCK_WAIT_AT_MOST, detail::nanoseconds(time), code);
    }

    template <class Rep, class Period> bool wait_for(const std::chrono::duration<Rep, Period> &time)
    {
        std::error_code code;
        const bool is_last = wait_for(time, code);
        detail::check(code);
        return is_last;
    }

    // Breaks it: those that wait, and those that come until a reset, get errc::broken_barrier.
    void abort(std::error_code &code) noexcept { detail::succeeded(turnlock_barrier_abort(native_handle()), code); }
    void abort() { detail::check_status(turnlock_barrier_abort(native_handle())); }

    // Opens it anew, whether it is broken or not. Those that wait get errc::broken_barrier; the deaths so far are forgotten.
    void reset(std::error_code &code) noexcept { detail::succeeded(turnlock_barrier_reset(native_handle()), code); }
    void reset() { detail::check_status(turnlock_barrier_reset(native_handle())); }

    // How many parties it has.
    std::uint32_t parties() const { return look().parties; }

    // How many of them wait at this moment.
    std::uint32_t waiting() const { return look().waiting; }

    [[nodiscard]] bool is_broken() const { return look().is_broken; }

    // After errc::replaced: the barrier of the same name in the file that is at the path now. Close this one.
    barrier reopen() const
    {
        barrier reopened;
        reopen_as(reopened);
        return reopened;
    }

private:
    struct seen {
        std::uint32_t parties, waiting;
        bool is_broken;
    };

    // None are none here: only options that say nothing leave the number open.
    static barrier_options of(std::uint32_t parties)
    {
        if (parties == 0)
            detail::fail(errc::invalid_argument, "a barrier of 0 parties was asked for: it has at least one");
        barrier_options options;
        options.parties = parties;
        return options;
    }

    bool meet(std::uint32_t wait, std::uint64_t time, std::error_code &code) noexcept
    {
        std::uint32_t is_last = 0;
        detail::succeeded(turnlock_barrier_wait(native_handle(), wait, time, &is_last), code);
        return is_last != 0;
    }

    seen look() const
    {
        seen now{};
        std::error_code code;
        detail::succeeded(turnlock_barrier_query(native_handle(), &now.parties, &now.waiting), code);
        now.is_broken = code == errc::broken_barrier;
        if (!now.is_broken)
            detail::check(code);
        return now;
    }
};

} // namespace turnlock

#endif
