// turnlock::range_lock and turnlock::keyed_lock: locks of which each holder has a part, a range of numbers or a key.

#ifndef TURNLOCK_PARTS_HPP
#define TURNLOCK_PARTS_HPP

#include <turnlock/shared_mutex.hpp>

#include <tuple>

namespace turnlock {

// `end` of a range: to the end, the last number included.
inline constexpr std::uint64_t range_end = TURNLOCK_RANGE_END;

// How to open, or create, a lock of parts. One that exists keeps what it was created with; to ask for another death policy is
// errc::kind.
struct parts_options {
    // What the death of one means that holds a part exclusively.
    death_policy on_death = death_policy::any;
    bool must_exist = false;
};

namespace detail {

struct rangelock_calls {
    using handle = turnlock_rangelock;
    using place = std::pair<std::uint64_t, std::uint64_t>;
    using options = turnlock_rangelock_options;
    static auto arguments(const place &range) noexcept { return range; }
    static constexpr std::uint32_t must_exist = TURNLOCK_RANGELOCK_MUST_EXIST;
    static constexpr death_flags on_death = {
        TURNLOCK_RANGELOCK_RELEASE_BY_DEFAULT, TURNLOCK_RANGELOCK_INFORM_ON_DEATH, TURNLOCK_RANGELOCK_RELEASE_ON_DEATH};
    static constexpr auto open = turnlock_rangelock_open;
    static constexpr auto close = turnlock_rangelock_close;
    static constexpr auto reopen = turnlock_rangelock_reopen;
    static constexpr auto reset = turnlock_rangelock_reset;
    static constexpr auto try_reset = turnlock_rangelock_try_reset;
    static constexpr auto reset_for = turnlock_rangelock_reset_for;
    static constexpr auto previous_owner = turnlock_rangelock_previous_owner;
    static constexpr auto holders = turnlock_rangelock_holders;
    static constexpr auto waiters = turnlock_rangelock_waiters;
    static constexpr auto lock = turnlock_rangelock_lock_exclusive;
    static constexpr auto try_lock = turnlock_rangelock_try_lock_exclusive;
    static constexpr auto lock_for = turnlock_rangelock_lock_exclusive_for;
    static constexpr auto lock_shared = turnlock_rangelock_lock_shared;
    static constexpr auto try_lock_shared = turnlock_rangelock_try_lock_shared;
    static constexpr auto lock_shared_for = turnlock_rangelock_lock_shared_for;
    static constexpr auto unlock = turnlock_rangelock_unlock;
    static constexpr auto mark_consistent = turnlock_rangelock_mark_consistent;
    static constexpr auto is_contended = turnlock_rangelock_is_contended;
    static constexpr auto lock_as = turnlock_rangelock_lock_exclusive_as;
    static constexpr auto try_lock_as = turnlock_rangelock_try_lock_exclusive_as;
    static constexpr auto lock_for_as = turnlock_rangelock_lock_exclusive_for_as;
    static constexpr auto lock_shared_as = turnlock_rangelock_lock_shared_as;
    static constexpr auto try_lock_shared_as = turnlock_rangelock_try_lock_shared_as;
    static constexpr auto lock_shared_for_as = turnlock_rangelock_lock_shared_for_as;
    static constexpr auto unlock_as = turnlock_rangelock_unlock_as;
    static constexpr auto mark_consistent_as = turnlock_rangelock_mark_consistent_as;
    static constexpr auto is_contended_as = turnlock_rangelock_is_contended_as;
};

struct keyedlock_calls {
    using handle = turnlock_keyedlock;
    using place = std::string;
    using options = turnlock_keyedlock_options;
    static auto arguments(const place &key) noexcept
    {
        return std::pair<const void *, std::size_t>(key.data(), key.size());
    }
    static constexpr std::uint32_t must_exist = TURNLOCK_KEYEDLOCK_MUST_EXIST;
    static constexpr death_flags on_death = {
        TURNLOCK_KEYEDLOCK_RELEASE_BY_DEFAULT, TURNLOCK_KEYEDLOCK_INFORM_ON_DEATH, TURNLOCK_KEYEDLOCK_RELEASE_ON_DEATH};
    static constexpr auto open = turnlock_keyedlock_open;
    static constexpr auto close = turnlock_keyedlock_close;
    static constexpr auto reopen = turnlock_keyedlock_reopen;
    static constexpr auto reset = turnlock_keyedlock_reset;
    static constexpr auto try_reset = turnlock_keyedlock_try_reset;
    static constexpr auto reset_for = turnlock_keyedlock_reset_for;
    static constexpr auto previous_owner = turnlock_keyedlock_previous_owner;
    static constexpr auto holders = turnlock_keyedlock_holders;
    static constexpr auto waiters = turnlock_keyedlock_waiters;
    static constexpr auto lock = turnlock_keyedlock_lock_exclusive;
    static constexpr auto try_lock = turnlock_keyedlock_try_lock_exclusive;
    static constexpr auto lock_for = turnlock_keyedlock_lock_exclusive_for;
    static constexpr auto lock_shared = turnlock_keyedlock_lock_shared;
    static constexpr auto try_lock_shared = turnlock_keyedlock_try_lock_shared;
    static constexpr auto lock_shared_for = turnlock_keyedlock_lock_shared_for;
    static constexpr auto unlock = turnlock_keyedlock_unlock;
    static constexpr auto mark_consistent = turnlock_keyedlock_mark_consistent;
    static constexpr auto is_contended = turnlock_keyedlock_is_contended;
    static constexpr auto lock_as = turnlock_keyedlock_lock_exclusive_as;
    static constexpr auto try_lock_as = turnlock_keyedlock_try_lock_exclusive_as;
    static constexpr auto lock_for_as = turnlock_keyedlock_lock_exclusive_for_as;
    static constexpr auto lock_shared_as = turnlock_keyedlock_lock_shared_as;
    static constexpr auto try_lock_shared_as = turnlock_keyedlock_try_lock_shared_as;
    static constexpr auto lock_shared_for_as = turnlock_keyedlock_lock_shared_for_as;
    static constexpr auto unlock_as = turnlock_keyedlock_unlock_as;
    static constexpr auto mark_consistent_as = turnlock_keyedlock_mark_consistent_as;
    static constexpr auto is_contended_as = turnlock_keyedlock_is_contended_as;
};

// A part of a lock, to be taken: Lockable and SharedTimedLockable, so that std::unique_lock and std::shared_lock have it.
// It belongs to the thread that takes it, or to the participant that it was made with, and must not outlive the lock.
template <class Calls> class part : public lockable<part<Calls>, false> {
    using base = lockable<part, false>;

public:
    part(const typename Calls::handle *lock, const turnlock_participant *who, typename Calls::place place)
        : lock_(lock), who_(who), place_(std::move(place))
    {
    }

    // Takes it beside others that read. The result is without a meaning if `code` says a failure.
    shared_acquisition lock_shared(std::error_code &code) noexcept
    {
        auto acquired = sized<turnlock_acquired>();
        succeeded(call(Calls::lock_shared, Calls::lock_shared_as, &acquired), code);
        return {acquired.fencing_token, acquired.previous_owner_died != 0};
    }

    shared_acquisition lock_shared()
    {
        std::error_code code;
        const auto acquired = lock_shared(code);
        check(code);
        return acquired;
    }

    [[nodiscard]] bool try_lock_shared()
    {
        return is_taken(call(Calls::try_lock_shared, Calls::try_lock_shared_as, nullptr), errc::would_block);
    }

    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time)
    {
        const auto status = call(Calls::lock_shared_for, Calls::lock_shared_for_as, nanoseconds(time), nullptr);
        return is_taken(status, errc::timed_out);
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        const auto status = wait_until(time, [&](std::uint64_t left) {
            return call(Calls::lock_shared_for, Calls::lock_shared_for_as, left, nullptr);
        });
        return is_taken(status, errc::timed_out);
    }

    void unlock_shared() { base::unlock(); }

    // The library has no such thing for parts: to unlock one without `mark_consistent` leaves it to be repaired by the next.
    void abandon() = delete;

private:
    friend base;

    template <class Own, class As, class... More>
    std::int32_t call(Own own, As as_participant, More... more) const noexcept
    {
        const auto [first, second] = Calls::arguments(place_);
        return who_ ? as_participant(lock_, who_, first, second, more...) : own(lock_, first, second, more...);
    }

    static bool is_taken(std::int32_t status, errc not_now)
    {
        std::error_code code;
        const bool is = succeeded(status, code);
        if (code != not_now)
            check(code);
        return is;
    }

    auto native_lock(turnlock_acquired *out) const noexcept { return call(Calls::lock, Calls::lock_as, out); }
    auto native_try_lock(turnlock_acquired *out) const noexcept
    {
        return call(Calls::try_lock, Calls::try_lock_as, out);
    }
    auto native_lock_for(std::uint64_t time, turnlock_acquired *out) const noexcept
    {
        return call(Calls::lock_for, Calls::lock_for_as, time, out);
    }
    // A participant holds one part at a time, and lets go of that one.
    auto native_unlock() const noexcept
    {
        const auto [first, second] = Calls::arguments(place_);
        return who_ ? Calls::unlock_as(lock_, who_) : Calls::unlock(lock_, first, second);
    }
    auto native_mark_consistent() const noexcept
    {
        const auto [first, second] = Calls::arguments(place_);
        return who_ ? Calls::mark_consistent_as(lock_, who_) : Calls::mark_consistent(lock_, first, second);
    }
    auto native_is_contended() const noexcept
    {
        return who_ ? Calls::is_contended_as(lock_, who_) : Calls::is_contended(lock_);
    }

    const typename Calls::handle *lock_;
    const turnlock_participant *who_;
    typename Calls::place place_;
};

// A lock of parts that is open.
template <class Calls> class parts {
public:
    using native_handle_type = typename Calls::handle *;

    // Marks all parts consistent that dead participants left, beside nobody: the data were looked after, or given up.
    void reset(std::error_code &code) noexcept { succeeded(Calls::reset(handle_.get()), code); }
    void reset()
    {
        std::error_code code;
        reset(code);
        check(code);
    }

    [[nodiscard]] bool try_reset() { return is_reset(Calls::try_reset(handle_.get()), errc::would_block); }

    template <class Rep, class Period>
    [[nodiscard]] bool try_reset_for(const std::chrono::duration<Rep, Period> &time)
    {
        return is_reset(Calls::reset_for(handle_.get(), nanoseconds(time)), errc::timed_out);
    }

    // Who died holding a part exclusively, last; none if nobody ever did.
    std::optional<previous_owner> last_dead_owner() const
    {
        auto owner = sized<previous_owner>();
        std::error_code code;
        succeeded(Calls::previous_owner(handle_.get(), &owner), code);
        if (code == errc::not_found)
            return std::nullopt;
        check(code);
        return owner;
    }

    // Who has a part, and who waits for one; `first` and `last` say which: of a key the halves of its hash.
    std::vector<participant_info> holders() const { return listed(native_handle(), Calls::holders); }
    std::vector<participant_info> waiters() const { return listed(native_handle(), Calls::waiters); }

    // Closes it before its time; errc::still_held while the calling thread has a part. An object that is destroyed then
    // leaves it with the thread.
    void close()
    {
        std::error_code code;
        succeeded(handle_.reset(), code);
        check(code);
    }

    native_handle_type native_handle() const noexcept { return handle_.get(); }

protected:
    parts() noexcept = default;

    void open(const file &in, text name, const parts_options &options, std::error_code &code) noexcept
    {
        if (!is_whole(name, errc::bad_name, code))
            return;
        auto native = sized<typename Calls::options>();
        native.flags = (options.must_exist ? Calls::must_exist : 0) | Calls::on_death.of(options.on_death);
        succeeded(Calls::open(in.native_handle(), name.chars(), &native, handle_.place()), code);
    }

    // After errc::replaced: the lock of the same name in the file that is at the path now.
    void reopen_as(parts &reopened) const
    {
        std::error_code code;
        succeeded(Calls::reopen(handle_.get(), reopened.handle_.place()), code);
        check(code);
    }

private:
    static bool is_reset(std::int32_t status, errc not_now)
    {
        std::error_code code;
        const bool is = succeeded(status, code);
        if (code != not_now)
            check(code);
        return is;
    }

    owned<typename Calls::handle, Calls::close> handle_;
};

} // namespace detail

// A lock of ranges of numbers: who wants a range waits for the earlier ones that overlap with it, unless both only read.
//
//     auto header = bytes.range(0, 512);
//     std::scoped_lock held(header);
class range_lock : public detail::parts<detail::rangelock_calls> {
public:
    using part = detail::part<detail::rangelock_calls>;

    // Not open: to be assigned to.
    range_lock() noexcept = default;

    // Opens the lock of this name (1 to 63 bytes of UTF-8), or creates it.
    range_lock(const file &in, detail::text name, const parts_options &options = {})
    {
        detail::check_whole(name, errc::bad_name);
        std::error_code code;
        parts::open(in, name, options, code);
        detail::check(code);
    }

    static range_lock
    open(const file &in, detail::text name, const parts_options &options, std::error_code &code) noexcept
    {
        range_lock opened;
        opened.parts::open(in, name, options, code);
        return opened;
    }

    // The range from `start` to before `end`, to be taken by a thread, or by a participant. An empty one is errc::empty_range
    // when it is taken.
    part range(std::uint64_t start, std::uint64_t end) const { return {native_handle(), nullptr, {start, end}}; }
    part range(const participant &who, std::uint64_t start, std::uint64_t end) const
    {
        return {native_handle(), who.native_handle(), {start, end}};
    }

    // After errc::replaced: the lock of the same name in the file that is at the path now. Close this one.
    range_lock reopen() const
    {
        range_lock reopened;
        reopen_as(reopened);
        return reopened;
    }
};

// A lock for each key, which is any bytes. Keys need not be created, and take no room while nobody wants them.
class keyed_lock : public detail::parts<detail::keyedlock_calls> {
public:
    using part = detail::part<detail::keyedlock_calls>;

    // Not open: to be assigned to.
    keyed_lock() noexcept = default;

    // Opens the lock of this name (1 to 63 bytes of UTF-8), or creates it.
    keyed_lock(const file &in, detail::text name, const parts_options &options = {})
    {
        detail::check_whole(name, errc::bad_name);
        std::error_code code;
        parts::open(in, name, options, code);
        detail::check(code);
    }

    static keyed_lock
    open(const file &in, detail::text name, const parts_options &options, std::error_code &code) noexcept
    {
        keyed_lock opened;
        opened.parts::open(in, name, options, code);
        return opened;
    }

    // The key, to be taken by a thread, or by a participant.
    part key(std::string_view key) const { return {native_handle(), nullptr, std::string(key)}; }
    part key(const participant &who, std::string_view key) const
    {
        return {native_handle(), who.native_handle(), std::string(key)};
    }
    part key(std::nullptr_t) const = delete;

    // After errc::replaced: the lock of the same name in the file that is at the path now. Close this one.
    keyed_lock reopen() const
    {
        keyed_lock reopened;
        reopen_as(reopened);
        return reopened;
    }
};

} // namespace turnlock

#endif
