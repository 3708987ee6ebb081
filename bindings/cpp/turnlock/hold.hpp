// turnlock::hold: what any thread may release; or a thread's own, to cancel its waits.

#ifndef TURNLOCK_HOLD_HPP
#define TURNLOCK_HOLD_HPP

#include <turnlock/file.hpp>

namespace turnlock {

namespace detail {

// Any lock of the C ABI as one of any kind.
template <class Handle> const turnlock_lock *any(const Handle *lock) noexcept
{
    return reinterpret_cast<const turnlock_lock *>(lock);
}

// The place for a handle, likewise: the library puts one of the same kind there.
template <class Handle> turnlock_lock **any_place(Handle **place) noexcept
{
    return reinterpret_cast<turnlock_lock **>(place);
}

// A request for all of a lock, exclusively, that waits so long; `time` is in nanoseconds.
template <class Handle>
turnlock_request request(const Handle *lock, std::uint32_t wait = TURNLOCK_WAIT_FOREVER, std::uint64_t time = 0) noexcept
{
    auto made = sized<turnlock_request>();
    made.lock = any(lock);
    made.wait = wait;
    made.time_ns = time;
    return made;
}

} // namespace detail

struct hold_options {
    // What it calls itself; empty = the file's label.
    std::string label = {};
    // Programs that this process starts from now on keep the slot alive.
    bool inherit_to_children = false;
    // Keep the slot by an open descriptor (TURNLOCK_HOLD_BY_DESCRIPTOR).
    bool by_descriptor = false;
    // The slot that it takes, from 0: its place on a ring. Negative: a free one.
    int slot = -1;
};

// What a lock is acquired by for work that moves between threads (tasks, coroutines): `turnlock::by`. Any thread may release what
// it has. It has one lock at a time.
class hold {
public:
    using native_handle_type = turnlock_hold *;

    // Not open: to be assigned to.
    hold() noexcept = default;

    explicit hold(const file &in, const hold_options &options = {})
    {
        detail::check_whole(options.label, errc::invalid_argument);
        std::error_code code;
        *this = open(in, options, code);
        detail::check(code);
    }

    static hold open(const file &in, const hold_options &options, std::error_code &code)
    {
        hold opened;
        if (!detail::is_whole(options.label, errc::invalid_argument, code))
            return opened;
        auto native = detail::sized<turnlock_hold_options>();
        native.label = options.label.empty() ? nullptr : options.label.c_str();
        native.flags = (options.inherit_to_children ? TURNLOCK_HOLD_INHERIT_TO_CHILDREN : 0) |
                       (options.by_descriptor ? TURNLOCK_HOLD_BY_DESCRIPTOR : 0) |
                       (options.slot >= 0 ? TURNLOCK_HOLD_AT_SLOT : 0);
        native.slot = options.slot >= 0 ? static_cast<std::uint32_t>(options.slot) : 0;
        detail::succeeded(
            turnlock_hold_open(in.native_handle(), &native, opened.handle_.place()), code);
        return opened;
    }

    // The calling thread's own, for another thread to cancel; for nothing else.
    static hold of_thread(const file &in, std::error_code &code) noexcept
    {
        hold found;
        detail::succeeded(turnlock_hold_of_thread(in.native_handle(), found.handle_.place()), code);
        return found;
    }

    static hold of_thread(const file &in)
    {
        std::error_code code;
        auto found = of_thread(in, code);
        detail::check(code);
        return found;
    }

    // Ends its present wait, or else the next call that would have to wait, with errc::cancelled. From any thread.
    void cancel()
    {
        std::error_code code;
        detail::succeeded(turnlock_hold_cancel(handle_.get()), code);
        detail::check(code);
    }

    // Takes back a cancel that no wait has taken yet.
    void clear_cancel()
    {
        std::error_code code;
        detail::succeeded(turnlock_hold_clear_cancel(handle_.get()), code);
        detail::check(code);
    }

    // Closes it before its time; errc::still_held while it holds a lock.
    void close(std::error_code &code) noexcept { detail::succeeded(handle_.reset(), code); }
    void close()
    {
        std::error_code code;
        close(code);
        detail::check(code);
    }

    native_handle_type native_handle() const noexcept { return handle_.get(); }

private:
    detail::owned<turnlock_hold, turnlock_hold_close> handle_;
};

} // namespace turnlock

#endif
