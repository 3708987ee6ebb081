// turnlock::once: one participant does something, once; the others wait until it is done.

#ifndef TURNLOCK_ONCE_HPP
#define TURNLOCK_ONCE_HPP

#include <turnlock/opened.hpp>

#include <functional>

namespace turnlock {

struct once_options {
    // What is done stays done when the machine boots: for work on a disk, beside which the file lies. Of one that is created now.
    bool across_boots = false;
    bool must_exist = false;
};

// What `once::begin` found.
enum class once_turn {
    // It is done: there is nothing to do.
    done,
    // The caller does it now.
    mine,
    // The same, and the participant that was at it before died.
    mine_after_a_death,
};

// What is done once by one participant of all that have the lock file open. If that one dies or fails, the next one does it. It
// stays done until a `reset`, or until the machine boots.
class once : public detail::opened<turnlock_once, turnlock_once_close> {
public:
    // Not open: to be assigned to.
    once() noexcept = default;
    once(once &&) noexcept = default;

    once &operator=(once &&other) noexcept
    {
        leave();
        opened::operator=(std::move(other));
        return *this;
    }

    // What the calling thread is still at is given up: the next participant does it.
    ~once() { leave(); }

    // Opens the once of this name (1 to 63 bytes of UTF-8), or creates it.
    once(const file &in, detail::text name, const once_options &options = {})
    {
        detail::check_whole(name, errc::bad_name);
        std::error_code code;
        *this = open(in, name, options, code);
        detail::check(code);
    }

    static once open(const file &in, detail::text name, const once_options &options, std::error_code &code) noexcept
    {
        once opened;
        if (detail::is_whole(name, errc::bad_name, code))
            detail::succeeded(turnlock_once_open(in.native_handle(), name.chars(),
                                                 (options.must_exist ? TURNLOCK_ONCE_MUST_EXIST : 0) |
                                                     (options.across_boots ? TURNLOCK_ONCE_ACROSS_BOOTS : 0),
                                                 opened.handle_.place()),
                              code);
        return opened;
    }

    // Does `work` unless it is done, waiting while another participant is at it. Whether it was done here. What throws is not done,
    // and the next participant does it. `work` may take a bool: whether the one that was at it before died.
    template <class Work> bool call(Work &&work)
    {
        const auto turn = begin();
        if (turn == once_turn::done)
            return false;
        attempt now{this};
        if constexpr (std::is_invocable_v<Work, bool>)
            static_cast<void>(std::forward<Work>(work)(turn == once_turn::mine_after_a_death));
        else
            static_cast<void>(std::forward<Work>(work)());
        complete();
        now.at = nullptr;
        return true;
    }

    // Begins the work, waiting while another participant is at it. Unless it is done, the calling thread does it, and then says
    // `complete`, or `give_up`. errc::deadlock if it is at it already. The result is without a meaning if `code` says a failure.
    [[nodiscard]] once_turn begin(std::error_code &code) noexcept { return turn(TURNLOCK_WAIT_FOREVER, 0, code); }

    [[nodiscard]] once_turn begin()
    {
        std::error_code code;
        const auto found = begin(code);
        detail::check(code);
        return found;
    }

    // The same, waiting for so long at most; then it is errc::timed_out.
    template <class Rep, class Period>
    [[nodiscard]] once_turn begin_for(const std::chrono::duration<Rep, Period> &time, std::error_code &code)
    {
        return turn(TURNLOCK_WAIT_AT_MOST, detail::nanoseconds(time), code);
    }

    template <class Rep, class Period> [[nodiscard]] once_turn begin_for(const std::chrono::duration<Rep, Period> &time)
    {
        std::error_code code;
        const auto found = begin_for(time, code);
        detail::check(code);
        return found;
    }

    // Says that the work is done which the calling thread has begun.
    void complete(std::error_code &code) noexcept { detail::succeeded(turnlock_once_complete(native_handle()), code); }
    void complete() { detail::check_status(turnlock_once_complete(native_handle())); }

    // Says that it is not done: the next participant does it.
    void give_up(std::error_code &code) noexcept { detail::succeeded(turnlock_once_give_up(native_handle()), code); }
    void give_up() { detail::check_status(turnlock_once_give_up(native_handle())); }

    [[nodiscard]] bool is_done(std::error_code &code) const noexcept
    {
        std::uint32_t is = 0;
        detail::succeeded(turnlock_once_is_done(native_handle(), &is), code);
        return is != 0;
    }

    [[nodiscard]] bool is_done() const
    {
        std::error_code code;
        const bool is = is_done(code);
        detail::check(code);
        return is;
    }

    // Has it be done again. Waits while a participant is at it.
    void reset(std::error_code &code) noexcept { detail::succeeded(turnlock_once_reset(native_handle()), code); }
    void reset() { detail::check_status(turnlock_once_reset(native_handle())); }

    // After errc::replaced: the once of the same name in the file that is at the path now. Close this one.
    once reopen() const
    {
        once reopened;
        reopen_as(reopened);
        return reopened;
    }

private:
    // Gives the work up where an exception ends it, or it cannot be completed.
    struct attempt {
        once *at;

        explicit attempt(once *at_it) noexcept : at(at_it) {}
        attempt(const attempt &) = delete;
        attempt &operator=(const attempt &) = delete;
        ~attempt()
        {
            std::error_code ignored;
            if (at)
                at->give_up(ignored);
        }
    };

    void leave() noexcept
    {
        std::error_code ignored;
        if (handle_.reset() == TURNLOCK_ERROR_STILL_HELD) {
            give_up(ignored);
            static_cast<void>(handle_.reset());
        }
    }

    once_turn turn(std::uint32_t wait, std::uint64_t time, std::error_code &code) noexcept
    {
        const auto status = turnlock_once_begin(native_handle(), wait, time);
        detail::succeeded(status, code);
        return status == TURNLOCK_OWNER_DEAD ? once_turn::mine_after_a_death
               : status == TURNLOCK_OK       ? once_turn::mine
                                             : once_turn::done;
    }
};

// As std::call_once, between processes. Whether it was done here.
template <class Work, class... Arguments> bool call_once(once &flag, Work &&work, Arguments &&...arguments)
{
    return flag.call([&] { std::invoke(std::forward<Work>(work), std::forward<Arguments>(arguments)...); });
}

} // namespace turnlock

#endif
