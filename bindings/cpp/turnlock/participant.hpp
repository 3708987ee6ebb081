// turnlock::participant: a participant that is not a thread, or a thread's own, to cancel its waits.

#ifndef TURNLOCK_PARTICIPANT_HPP
#define TURNLOCK_PARTICIPANT_HPP

#include <turnlock/file.hpp>

namespace turnlock {

struct participant_options {
    // What it calls itself; empty = the file's label.
    std::string label = {};
    // Programs that this process starts from now on keep the slot alive.
    bool inherited = false;
    // Keep the slot by an open descriptor (TURNLOCK_PARTICIPANT_BY_DESCRIPTOR).
    bool by_descriptor = false;
};

// A slot of its own in a lock file, for work that moves between threads (tasks, coroutines). `turnlock::as` takes locks
// for it. It takes one lock at a time.
class participant {
public:
    using native_handle_type = turnlock_participant *;

    // Not open: to be assigned to.
    participant() noexcept = default;

    explicit participant(const file &in, const participant_options &options = {})
    {
        detail::check_whole(options.label, errc::invalid_argument);
        std::error_code code;
        *this = open(in, options, code);
        detail::check(code);
    }

    static participant open(const file &in, const participant_options &options, std::error_code &code)
    {
        participant opened;
        if (!detail::is_whole(options.label, errc::invalid_argument, code))
            return opened;
        auto native = detail::sized<turnlock_participant_options>();
        native.label = options.label.empty() ? nullptr : options.label.c_str();
        native.flags = (options.inherited ? TURNLOCK_PARTICIPANT_INHERITED : 0) |
                       (options.by_descriptor ? TURNLOCK_PARTICIPANT_BY_DESCRIPTOR : 0);
        detail::succeeded(
            turnlock_participant_open(in.native_handle(), &native, opened.handle_.place()), code);
        return opened;
    }

    // The calling thread's own, for another thread to cancel; for nothing else.
    static participant current(const file &in, std::error_code &code) noexcept
    {
        participant found;
        detail::succeeded(turnlock_participant_current(in.native_handle(), found.handle_.place()), code);
        return found;
    }

    static participant current(const file &in)
    {
        std::error_code code;
        auto found = current(in, code);
        detail::check(code);
        return found;
    }

    // Ends its present wait, or else the next call that would have to wait, with errc::cancelled. From any thread.
    void cancel()
    {
        std::error_code code;
        detail::succeeded(turnlock_participant_cancel(handle_.get()), code);
        detail::check(code);
    }

    // Takes back a cancel that no wait has taken yet.
    void clear_cancel()
    {
        std::error_code code;
        detail::succeeded(turnlock_participant_clear_cancel(handle_.get()), code);
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
    detail::owned<turnlock_participant, turnlock_participant_close> handle_;
};

} // namespace turnlock

#endif
