// Statuses of turnlock as std::error_code, and what happens when a call without a place for one fails.

#ifndef TURNLOCK_ERROR_HPP
#define TURNLOCK_ERROR_HPP

#include <turnlock.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>

#if defined(__cpp_exceptions)
#define TURNLOCK_HAS_EXCEPTIONS 1
#else
#define TURNLOCK_HAS_EXCEPTIONS 0
#endif

namespace turnlock {

// The failures of turnlock.h under their names there.
enum class errc : int {
    invalid_argument = TURNLOCK_ERROR_INVALID_ARGUMENT,
    would_block = TURNLOCK_ERROR_WOULD_BLOCK,
    timed_out = TURNLOCK_ERROR_TIMED_OUT,
    cancelled = TURNLOCK_ERROR_CANCELLED,
    deadlock = TURNLOCK_ERROR_DEADLOCK,
    not_owner = TURNLOCK_ERROR_NOT_OWNER,
    not_recoverable = TURNLOCK_ERROR_NOT_RECOVERABLE,
    closed = TURNLOCK_ERROR_CLOSED,
    participants_full = TURNLOCK_ERROR_PARTICIPANTS_FULL,
    locks_full = TURNLOCK_ERROR_LOCKS_FULL,
    bad_name = TURNLOCK_ERROR_BAD_NAME,
    not_a_lock_file = TURNLOCK_ERROR_NOT_A_LOCK_FILE,
    version = TURNLOCK_ERROR_VERSION,
    damaged = TURNLOCK_ERROR_DAMAGED,
    replaced = TURNLOCK_ERROR_REPLACED,
    permission = TURNLOCK_ERROR_PERMISSION,
    not_found = TURNLOCK_ERROR_NOT_FOUND,
    filesystem = TURNLOCK_ERROR_FILESYSTEM,
    no_space = TURNLOCK_ERROR_NO_SPACE,
    system = TURNLOCK_ERROR_SYSTEM,
    kind = TURNLOCK_ERROR_KIND,
    hold_busy = TURNLOCK_ERROR_HOLD_BUSY,
    internal = TURNLOCK_ERROR_INTERNAL,
    still_held = TURNLOCK_ERROR_STILL_HELD,
    not_inconsistent = TURNLOCK_ERROR_NOT_INCONSISTENT,
    file_too_small = TURNLOCK_ERROR_FILE_TOO_SMALL,
    unsupported = TURNLOCK_ERROR_UNSUPPORTED,
    interrupted = TURNLOCK_ERROR_INTERRUPTED,
    no_memory = TURNLOCK_ERROR_NO_MEMORY,
    in_use = TURNLOCK_ERROR_IN_USE,
    recursion_limit = TURNLOCK_ERROR_RECURSION_LIMIT,
    not_upgradable = TURNLOCK_ERROR_NOT_UPGRADABLE,
    not_exclusive = TURNLOCK_ERROR_NOT_EXCLUSIVE,
    permits = TURNLOCK_ERROR_PERMITS,
    too_many_released = TURNLOCK_ERROR_TOO_MANY_RELEASED,
    empty_range = TURNLOCK_ERROR_EMPTY_RANGE,
    broken_barrier = TURNLOCK_ERROR_BROKEN_BARRIER,
    circular_wait = TURNLOCK_ERROR_CIRCULAR_WAIT,
    lease_ended = TURNLOCK_ERROR_LEASE_ENDED,
};

namespace detail {

class turnlock_category final : public std::error_category {
public:
    const char *name() const noexcept override { return "turnlock"; }

    std::string message(int status) const override { return turnlock_status_text(status); }

    // The failures that <system_error> has a word for compare equal to it.
    std::error_condition default_error_condition(int status) const noexcept override
    {
        switch (static_cast<errc>(status)) {
        case errc::invalid_argument:
        case errc::bad_name: return std::errc::invalid_argument;
        case errc::would_block: return std::errc::resource_unavailable_try_again;
        case errc::timed_out: return std::errc::timed_out;
        case errc::cancelled: return std::errc::operation_canceled;
        case errc::deadlock:
        case errc::circular_wait: return std::errc::resource_deadlock_would_occur;
        case errc::not_owner: return std::errc::operation_not_permitted;
        case errc::not_recoverable: return std::errc::state_not_recoverable;
        case errc::permission: return std::errc::permission_denied;
        case errc::not_found: return std::errc::no_such_file_or_directory;
        case errc::no_space: return std::errc::no_space_on_device;
        case errc::no_memory: return std::errc::not_enough_memory;
        case errc::interrupted: return std::errc::interrupted;
        case errc::unsupported: return std::errc::not_supported;
        default: return {status, *this};
        }
    }
};

} // namespace detail

// The category of the codes below.
inline const std::error_category &category() noexcept
{
    static const detail::turnlock_category only;
    return only;
}

inline std::error_code make_error_code(errc code) noexcept
{
    return {static_cast<int>(code), category()};
}

// What a failure calls that has no std::error_code to go to, in a program without exceptions. The story says which path,
// what was expected, what to do. If it returns, the program is aborted.
using failure_handler = void (*)(std::error_code code, const char *story);

namespace detail {

inline void say_failure(std::error_code code, const char *story)
{
    std::fprintf(stderr, "turnlock: %s (status %d)\n", story, code.value());
}

inline std::atomic<failure_handler> present_failure_handler{say_failure};

[[noreturn]] inline void fail(std::error_code code, const char *story)
{
#if TURNLOCK_HAS_EXCEPTIONS
    throw std::system_error(code, story);
#else
    present_failure_handler.load()(code, story);
    std::abort();
#endif
}

// Sets `code` to what a status means: a negative one is a failure, any other none. Returns whether it was none.
inline bool succeeded(std::int32_t status, std::error_code &code) noexcept
{
    if (status < 0)
        code.assign(status, category());
    else
        code.clear();
    return status >= 0;
}

// For the forms without an std::error_code. The library has the story of this thread's last failure.
inline void check(const std::error_code &code)
{
    if (code)
        fail(code, turnlock_last_error_message());
}

} // namespace detail

// Sets the function above and returns the one before; nullptr is the one that prints the story. Without effect where
// there are exceptions: there an std::system_error of this category is thrown.
inline failure_handler set_failure_handler(failure_handler handler) noexcept
{
    return detail::present_failure_handler.exchange(handler ? handler : detail::say_failure);
}

} // namespace turnlock

template <> struct std::is_error_code_enum<turnlock::errc> : std::true_type {
};

#endif
