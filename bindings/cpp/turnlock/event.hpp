// turnlock::event: set or not; participants wait until it is set.

#ifndef TURNLOCK_EVENT_HPP
#define TURNLOCK_EVENT_HPP

#include <turnlock/opened.hpp>

namespace turnlock {

struct event_options {
    bool must_exist = false;
};

// An event between processes. It stays set until it is cleared, or the machine boots. No death disturbs it.
class event : public detail::opened<turnlock_event, turnlock_event_close> {
public:
    // Not open: to be assigned to.
    event() noexcept = default;

    // Opens the event of this name (1 to 63 bytes of UTF-8), or creates it; one that is created now is not set.
    event(const file &in, detail::text name, const event_options &options = {})
    {
        detail::check_whole(name, errc::bad_name);
        std::error_code code;
        *this = open(in, name, options, code);
        detail::check(code);
    }

    static event open(const file &in, detail::text name, const event_options &options, std::error_code &code) noexcept
    {
        event opened;
        if (detail::is_whole(name, errc::bad_name, code))
            detail::succeeded(turnlock_event_open(in.native_handle(), name.chars(),
                                                  options.must_exist ? TURNLOCK_EVENT_MUST_EXIST : 0,
                                                  opened.handle_.place()),
                              code);
        return opened;
    }

    // Sets it: all that wait for it go on.
    void set(std::error_code &code) noexcept { detail::succeeded(turnlock_event_set(native_handle()), code); }
    void set() { detail::check_status(turnlock_event_set(native_handle())); }

    // Clears it: who waits from now on waits until it is set again.
    void clear(std::error_code &code) noexcept { detail::succeeded(turnlock_event_clear(native_handle()), code); }
    void clear() { detail::check_status(turnlock_event_clear(native_handle())); }

    [[nodiscard]] bool is_set(std::error_code &code) const noexcept
    {
        std::uint32_t is = 0;
        detail::succeeded(turnlock_event_is_set(native_handle(), &is), code);
        return is != 0;
    }

    [[nodiscard]] bool is_set() const
    {
        std::error_code code;
        const bool is = is_set(code);
        detail::check(code);
        return is;
    }

    // Waits until it is set. A wait that began before it was set ends, also if it was cleared since.
    void wait(std::error_code &code) const noexcept
    {
        detail::succeeded(turnlock_event_wait(native_handle(), TURNLOCK_WAIT_FOREVER, 0), code);
    }

    void wait() const { detail::check_status(turnlock_event_wait(native_handle(), TURNLOCK_WAIT_FOREVER, 0)); }

    // Whether it was set within so long. A negative time is none, one beyond 584 years is that.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period> &time, std::error_code &code) const
    {
        return detail::came(for_nanoseconds(detail::nanoseconds(time)), errc::timed_out, code);
    }

    template <class Rep, class Period> [[nodiscard]] bool wait_for(const std::chrono::duration<Rep, Period> &time) const
    {
        return detail::came(for_nanoseconds(detail::nanoseconds(time)), errc::timed_out);
    }

    // Whether it was set before the clock reached this time.
    template <class Clock, class Duration>
    [[nodiscard]] bool
    wait_until(const std::chrono::time_point<Clock, Duration> &time, std::error_code &code) const
    {
        return detail::came(until(time), errc::timed_out, code);
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration> &time) const
    {
        return detail::came(until(time), errc::timed_out);
    }

    // After errc::replaced: the event of the same name in the file that is at the path now. Close this one.
    event reopen() const
    {
        event reopened;
        reopen_as(reopened);
        return reopened;
    }

private:
    std::int32_t for_nanoseconds(std::uint64_t time) const noexcept
    {
        return turnlock_event_wait(native_handle(), TURNLOCK_WAIT_AT_MOST, time);
    }

    template <class Clock, class Duration>
    std::int32_t until(const std::chrono::time_point<Clock, Duration> &time) const
    {
        return detail::wait_until(time, [&](std::uint64_t left) { return for_nanoseconds(left); });
    }
};

} // namespace turnlock

#endif
