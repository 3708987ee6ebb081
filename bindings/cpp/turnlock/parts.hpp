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
    using one = turnlock_range;
    static one of(const place &range) noexcept { return {range.first, range.second}; }
    static void put(turnlock_request &request, const one &range) noexcept
    {
        request.ranges = &range;
        request.range_count = 1;
    }
    static constexpr std::uint32_t must_exist = TURNLOCK_RANGELOCK_MUST_EXIST;
    static constexpr death_flags on_death = {
        TURNLOCK_RANGELOCK_RELEASE_BY_DEFAULT, TURNLOCK_RANGELOCK_INFORM_ON_DEATH, TURNLOCK_RANGELOCK_RELEASE_ON_DEATH};
    static constexpr auto open = turnlock_rangelock_open;
    static constexpr auto close = turnlock_rangelock_close;
    static constexpr auto lock = turnlock_rangelock_lock_exclusive;
    static constexpr auto try_lock = turnlock_rangelock_try_lock_exclusive;
    static constexpr auto lock_for = turnlock_rangelock_lock_exclusive_for;
    static constexpr auto lock_shared = turnlock_rangelock_lock_shared;
    static constexpr auto try_lock_shared = turnlock_rangelock_try_lock_shared;
    static constexpr auto lock_shared_for = turnlock_rangelock_lock_shared_for;
    static constexpr auto unlock = turnlock_rangelock_unlock;
    static constexpr auto mark_consistent = turnlock_rangelock_mark_consistent;
};

struct keyedlock_calls {
    using handle = turnlock_keyedlock;
    using place = std::string;
    using options = turnlock_keyedlock_options;
    static auto arguments(const place &key) noexcept
    {
        return std::pair<const void *, std::size_t>(key.data(), key.size());
    }
    using one = turnlock_key;
    static one of(const place &key) noexcept { return {key.data(), key.size()}; }
    static void put(turnlock_request &request, const one &key) noexcept
    {
        request.keys = &key;
        request.key_count = 1;
    }
    static constexpr std::uint32_t must_exist = TURNLOCK_KEYEDLOCK_MUST_EXIST;
    static constexpr death_flags on_death = {
        TURNLOCK_KEYEDLOCK_RELEASE_BY_DEFAULT, TURNLOCK_KEYEDLOCK_INFORM_ON_DEATH, TURNLOCK_KEYEDLOCK_RELEASE_ON_DEATH};
    static constexpr auto open = turnlock_keyedlock_open;
    static constexpr auto close = turnlock_keyedlock_close;
    static constexpr auto lock = turnlock_keyedlock_lock_exclusive;
    static constexpr auto try_lock = turnlock_keyedlock_try_lock_exclusive;
    static constexpr auto lock_for = turnlock_keyedlock_lock_exclusive_for;
    static constexpr auto lock_shared = turnlock_keyedlock_lock_shared;
    static constexpr auto try_lock_shared = turnlock_keyedlock_try_lock_shared;
    static constexpr auto lock_shared_for = turnlock_keyedlock_lock_shared_for;
    static constexpr auto unlock = turnlock_keyedlock_unlock;
    static constexpr auto mark_consistent = turnlock_keyedlock_mark_consistent;
};

// A part of a lock, to be taken: Lockable and SharedTimedLockable, so that std::unique_lock and std::shared_lock have it.
// It belongs to the thread that takes it, or to the hold that it was made with, and must not outlive the lock.
template <class Calls> class part : public lockable<part<Calls>, false> {
    using base = lockable<part, false>;

public:
    part(const typename Calls::handle *lock, typename Calls::place place)
        : lock_(lock), by_hold_(false), hold_(nullptr), place_(std::move(place))
    {
    }

    // A hold that is not open is errc::invalid_argument when the part is taken.
    part(const typename Calls::handle *lock, const turnlock_hold *by, typename Calls::place place)
        : lock_(lock), by_hold_(true), hold_(by), place_(std::move(place))
    {
    }

    // Takes it beside others that read. The result is without a meaning if `code` says a failure.
    shared_acquisition lock_shared(std::error_code &code) noexcept
    {
        auto acquired = sized<turnlock_acquired>();
        succeeded(forever(Calls::lock_shared, TURNLOCK_MODE_SHARED, &acquired), code);
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
        return is_taken(at_once(Calls::try_lock_shared, TURNLOCK_MODE_SHARED, nullptr), errc::would_block);
    }

    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period> &time)
    {
        const auto status = within(Calls::lock_shared_for, TURNLOCK_MODE_SHARED, nanoseconds(time), nullptr);
        return is_taken(status, errc::timed_out);
    }

    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration> &time)
    {
        const auto status = wait_until(time, [&](std::uint64_t left) {
            return within(Calls::lock_shared_for, TURNLOCK_MODE_SHARED, left, nullptr);
        });
        return is_taken(status, errc::timed_out);
    }

    void unlock_shared() { base::unlock(); }

    // The library has no such function for a thread's part (what a hold has, `turnlock_hold_abandon` abandons): to unlock one
    // without `mark_consistent` leaves it to be repaired by the next.
    void abandon() = delete;

private:
    friend base;

    // By the thread, with a function of its own kind, or by the hold.
    template <class Own> std::int32_t forever(Own own, std::uint32_t mode, turnlock_acquired *out) const noexcept
    {
        const auto [first, second] = Calls::arguments(place_);
        return by_hold_ ? acquire(mode, TURNLOCK_WAIT_FOREVER, 0, out) : own(lock_, first, second, out);
    }
    template <class Own> std::int32_t at_once(Own own, std::uint32_t mode, turnlock_acquired *out) const noexcept
    {
        const auto [first, second] = Calls::arguments(place_);
        return by_hold_ ? acquire(mode, TURNLOCK_WAIT_NEVER, 0, out) : own(lock_, first, second, out);
    }
    template <class Own>
    std::int32_t within(Own own, std::uint32_t mode, std::uint64_t time, turnlock_acquired *out) const noexcept
    {
        const auto [first, second] = Calls::arguments(place_);
        return by_hold_ ? acquire(mode, TURNLOCK_WAIT_AT_MOST, time, out) : own(lock_, first, second, time, out);
    }

    std::int32_t
    acquire(std::uint32_t mode, std::uint32_t wait, std::uint64_t time, turnlock_acquired *out) const noexcept
    {
        auto wanted = request(lock_, wait, time);
        const auto one = Calls::of(place_);
        wanted.mode = mode;
        Calls::put(wanted, one);
        return turnlock_hold_acquire(hold_, &wanted, out);
    }

    std::int32_t native_begin(std::uint32_t mode, std::uint32_t wait, std::uint64_t time) const noexcept
    {
        auto wanted = request(lock_, wait, time);
        const auto one = Calls::of(place_);
        wanted.mode = mode;
        Calls::put(wanted, one);
        return turnlock_hold_begin_acquire(hold_, &wanted);
    }
    const turnlock_hold *native_hold() const noexcept { return hold_; }

    static bool is_taken(std::int32_t status, errc not_now)
    {
        std::error_code code;
        const bool is = succeeded(status, code);
        // A try of one that has it already fails like that of any other.
        if (code != not_now && !(not_now == errc::would_block && code == errc::deadlock))
            check(code);
        return is;
    }

    auto native_lock(turnlock_acquired *out) const noexcept
    {
        return forever(Calls::lock, TURNLOCK_MODE_EXCLUSIVE, out);
    }
    auto native_try_lock(turnlock_acquired *out) const noexcept
    {
        return at_once(Calls::try_lock, TURNLOCK_MODE_EXCLUSIVE, out);
    }
    auto native_lock_for(std::uint64_t time, turnlock_acquired *out) const noexcept
    {
        return within(Calls::lock_for, TURNLOCK_MODE_EXCLUSIVE, time, out);
    }
    // A hold has one part at a time, and lets go of that one.
    auto native_unlock() const noexcept
    {
        const auto [first, second] = Calls::arguments(place_);
        return by_hold_ ? turnlock_hold_release(hold_) : Calls::unlock(lock_, first, second);
    }
    auto native_mark_consistent() const noexcept
    {
        const auto [first, second] = Calls::arguments(place_);
        return by_hold_ ? turnlock_hold_mark_consistent(hold_) : Calls::mark_consistent(lock_, first, second);
    }
    auto native_is_contended() const noexcept
    {
        return by_hold_ ? turnlock_hold_is_contended(hold_) : turnlock_lock_is_contended(any(lock_));
    }

    const typename Calls::handle *lock_;
    bool by_hold_;
    const turnlock_hold *hold_;
    typename Calls::place place_;
};

// A lock of parts that is open.
template <class Calls> class parts {
public:
    using native_handle_type = typename Calls::handle *;

    // Marks all parts consistent that dead participants left, while no part is held: the data were looked after, or
    // given up.
    void reset(std::error_code &code) noexcept { succeeded(turnlock_lock_reset(any(handle_.get())), code); }
    void reset()
    {
        std::error_code code;
        reset(code);
        check(code);
    }

    [[nodiscard]] bool try_reset() { return is_reset(turnlock_lock_try_reset(any(handle_.get())), errc::would_block); }

    template <class Rep, class Period>
    [[nodiscard]] bool try_reset_for(const std::chrono::duration<Rep, Period> &time)
    {
        return is_reset(turnlock_lock_reset_for(any(handle_.get()), nanoseconds(time)), errc::timed_out);
    }

    // The last participant that died holding a part exclusively; none if no holder ever did.
    std::optional<previous_owner> last_dead_owner() const
    {
        auto owner = sized<previous_owner>();
        std::error_code code;
        succeeded(turnlock_lock_previous_owner(any(handle_.get()), &owner), code);
        if (code == errc::not_found)
            return std::nullopt;
        check(code);
        return owner;
    }

    // The holders of parts, and the waiters. Which part: of a range `first` and `last`, which belongs to it; of a key `key_of`, and its
    // hash, whose halves are `first` and `last`; of a group lock the group is `first`.
    std::vector<participant_info> holders() const { return listed(native_handle(), turnlock_lock_holders); }
    std::vector<participant_info> waiters() const { return listed(native_handle(), turnlock_lock_waiters); }

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
        succeeded(turnlock_lock_reopen(any(handle_.get()), any_place(reopened.handle_.place())), code);
        check(code);
    }

private:
    static bool is_reset(std::int32_t status, errc not_now)
    {
        std::error_code code;
        const bool is = succeeded(status, code);
        // A try of one that has it already fails like that of any other.
        if (code != not_now && !(not_now == errc::would_block && code == errc::deadlock))
            check(code);
        return is;
    }

    owned<typename Calls::handle, Calls::close> handle_;
};

} // namespace detail

// A lock of ranges of numbers: a caller waits for the earlier ranges that overlap with its own, unless both only read.
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

    // The range from `start` to before `end`, to be taken by a thread, or by a hold. An empty one is errc::empty_range
    // when it is taken.
    part range(std::uint64_t start, std::uint64_t end) const { return {native_handle(), {start, end}}; }
    part range(const hold &by, std::uint64_t start, std::uint64_t end) const
    {
        return {native_handle(), by.native_handle(), {start, end}};
    }

    // After errc::replaced: the lock of the same name in the file that is at the path now. Close this one.
    range_lock reopen() const
    {
        range_lock reopened;
        reopen_as(reopened);
        return reopened;
    }
};

// A lock for each key, which is any bytes. Keys need not be created, and take no room while they are not wanted.
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

    // The key, to be taken by a thread, or by a hold.
    part key(std::string_view key) const { return {native_handle(), std::string(key)}; }
    part key(const hold &by, std::string_view key) const
    {
        return {native_handle(), by.native_handle(), std::string(key)};
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
