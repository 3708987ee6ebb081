// What the classes of turnlock share: handles that close themselves, texts and times as the C ABI wants them.

#ifndef TURNLOCK_SUPPORT_HPP
#define TURNLOCK_SUPPORT_HPP

#include <turnlock/error.hpp>

#include <chrono>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace turnlock {

// Structs of turnlock.h, with its names for the members.
using previous_owner = turnlock_previous_owner;
using participant_info = turnlock_participant_info;

// What the key begins with that a participant has of a keyed lock, or wants: at most 47 bytes. Without
// TURNLOCK_INFO_WHOLE_KEY in its flags the key is longer, or, if there are no bytes, empty or not known.
inline std::string key_of(const participant_info &info)
{
    return {reinterpret_cast<const char *>(info.key), info.key_size};
}

namespace detail {

// A struct of the ABI: all 0, but for its size.
template <class Struct> Struct sized() noexcept
{
    Struct made{};
    made.size = sizeof made;
    return made;
}

// A text for the C ABI: of a C string that may be NULL, or of a std::string, which may have a NUL in it.
class text {
public:
    text(const char *chars) noexcept : chars_(chars) {}
    text(const std::string &string) noexcept
        : chars_(string.c_str()), whole_(string.find('\0') == std::string::npos)
    {
    }
    text(std::nullptr_t) = delete;

    const char *chars() const noexcept { return chars_; }
    // False for a text that would end too early.
    bool whole() const noexcept { return whole_; }

private:
    const char *chars_;
    bool whole_ = true;
};

// Whether `given` can be passed on; else `code` says `failure`.
inline bool is_whole(const text &given, errc failure, std::error_code &code) noexcept
{
    if (!given.whole())
        code = failure;
    return given.whole();
}

inline void check_whole(const text &given, errc failure)
{
    if (!given.whole())
        fail(failure, "a text has a NUL in it; the C ABI would read only what is before it: leave it out");
}

// A duration of any unit in nanoseconds: nothing overflows on the way, as in a cast to another unit.
template <class Rep, class Period>
constexpr long double in_nanoseconds(const std::chrono::duration<Rep, Period> &duration)
{
    constexpr std::intmax_t common = std::gcd(std::nano::den, Period::den);
    constexpr auto factor = static_cast<long double>(std::nano::den / common) * static_cast<long double>(Period::num);
    return static_cast<long double>(duration.count()) * factor / static_cast<long double>(Period::den / common);
}

// A duration as the C ABI has it: what is negative, or not a number, is 0; what is too long is the longest; a part of a
// nanosecond is a whole one, so that no wait is shorter than it was to be.
template <class Rep, class Period>
constexpr std::uint64_t nanoseconds(const std::chrono::duration<Rep, Period> &duration)
{
    if (!(duration > std::chrono::duration<Rep, Period>::zero()))
        return 0;
    const auto exactly = in_nanoseconds(duration);
    if (exactly >= static_cast<long double>(std::numeric_limits<std::uint64_t>::max()))
        return std::numeric_limits<std::uint64_t>::max();
    const auto whole = static_cast<std::uint64_t>(exactly);
    return static_cast<long double>(whole) < exactly ? whole + 1 : whole;
}

// How long it is until a time of some clock; 0 if the clock has reached it.
template <class Clock, class Duration>
std::uint64_t nanoseconds_until(const std::chrono::time_point<Clock, Duration> &time)
{
    const auto now = Clock::now();
    const auto about = in_nanoseconds(time.time_since_epoch()) - in_nanoseconds(now.time_since_epoch());
    constexpr auto hour = in_nanoseconds(std::chrono::hours(1));
    // What is near is told exactly; for what is far the unit that both have in common may have no room.
    if (about < hour && about > -hour)
        return time > now ? nanoseconds(time - now) : 0;
    return nanoseconds(std::chrono::duration<long double, std::nano>(about));
}

// Has `wait` wait for so many nanoseconds until its status says something else than that they passed, or the clock has
// reached the time: it may be slower than the one that waits, or be set back meanwhile.
template <class Clock, class Duration, class Wait>
std::int32_t wait_until(const std::chrono::time_point<Clock, Duration> &time, Wait wait)
{
    auto left = nanoseconds_until(time);
    for (;;) {
        const std::int32_t status = wait(left);
        if (status != TURNLOCK_ERROR_TIMED_OUT || (left = nanoseconds_until(time)) == 0)
            return status;
    }
}

// Owns a handle; `close` is its close function of the C ABI.
template <class Handle, std::int32_t (*close)(Handle *)> class owned {
public:
    owned() noexcept = default;
    owned(owned &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    owned(const owned &) = delete;
    owned &operator=(const owned &) = delete;
    // Calls the library only for a handle: one of another ABI has none.
    ~owned()
    {
        if (handle_)
            static_cast<void>(close(handle_));
    }

    owned &operator=(owned &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }

    Handle *get() const noexcept { return handle_; }
    // Where an open function puts the handle.
    Handle **place() noexcept { return &handle_; }

    // Closes it now, if there is one. The handle stays where that is refused.
    std::int32_t reset() noexcept
    {
        if (!handle_)
            return TURNLOCK_OK;
        const auto status = close(handle_);
        if (status >= 0)
            handle_ = nullptr;
        return status;
    }

private:
    Handle *handle_ = nullptr;
};

} // namespace detail
} // namespace turnlock

#endif
