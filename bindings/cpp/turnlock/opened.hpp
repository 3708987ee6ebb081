// What conditions, events, barriers and onces have in common: a handle that is open, and who waits.

#ifndef TURNLOCK_OPENED_HPP
#define TURNLOCK_OPENED_HPP

#include <turnlock/lock.hpp>

namespace turnlock::detail {

// For the forms without an std::error_code.
inline void check_status(std::int32_t status)
{
    std::error_code code;
    succeeded(status, code);
    check(code);
}

// Whether what was waited for came before the time was over; any other failure is one.
inline bool came(std::int32_t status, errc not_now, std::error_code &code) noexcept
{
    const bool has_come = succeeded(status, code);
    if (status == static_cast<int>(not_now))
        code.clear();
    return has_come;
}

inline bool came(std::int32_t status, errc not_now)
{
    std::error_code code;
    const bool has_come = came(status, not_now, code);
    check(code);
    return has_come;
}

template <class Handle, std::int32_t (*close_handle)(Handle *)> class opened {
public:
    using native_handle_type = Handle *;

    // The participants that wait, the one that has waited longest first. A look at one moment.
    std::vector<participant_info> waiters() const { return listed(handle_.get(), turnlock_lock_waiters); }

    // Closes it before its time.
    void close(std::error_code &code) noexcept { succeeded(handle_.reset(), code); }
    void close() { check_status(handle_.reset()); }

    native_handle_type native_handle() const noexcept { return handle_.get(); }

protected:
    opened() noexcept = default;
    opened(opened &&) noexcept = default;
    opened &operator=(opened &&) noexcept = default;
    ~opened() = default;

    // After errc::replaced: what has the same name in the file that is at the path now, into `reopened`.
    void reopen_as(opened &reopened) const
    {
        check_status(turnlock_lock_reopen(any(handle_.get()), any_place(reopened.handle_.place())));
    }

    owned<Handle, close_handle> handle_;
};

} // namespace turnlock::detail

#endif
