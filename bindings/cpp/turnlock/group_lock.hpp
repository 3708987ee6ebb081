// turnlock::group_lock: any number of participants of one group, and none of another.

#ifndef TURNLOCK_GROUP_LOCK_HPP
#define TURNLOCK_GROUP_LOCK_HPP

#include <turnlock/parts.hpp>

namespace turnlock {

namespace detail {

struct grouplock_calls {
    using handle = turnlock_grouplock;
    using options = turnlock_grouplock_options;
    static constexpr std::uint32_t must_exist = TURNLOCK_GROUPLOCK_MUST_EXIST;
    static constexpr death_flags on_death = {
        TURNLOCK_GROUPLOCK_RELEASE_BY_DEFAULT, TURNLOCK_GROUPLOCK_INFORM_ON_DEATH, TURNLOCK_GROUPLOCK_RELEASE_ON_DEATH};
    static constexpr auto open = turnlock_grouplock_open;
    static constexpr auto close = turnlock_grouplock_close;
};

// A group of a lock, to be entered: TimedLockable. It belongs to the thread that enters, or to the hold that it was made with, and
// must not outlive the lock.
// A thread, or a hold, is inside once, and any object of its group leaves for it. `unlock`, `abandon` and `mark_consistent` of another
// group are errc::not_owner.
class group : public lockable<group> {
    using base = lockable<group>;

public:
    group(const turnlock_grouplock *lock, std::uint64_t number) noexcept
        : lock_(lock), by_hold_(false), hold_(nullptr), number_(number)
    {
    }

    // A hold that is not open is errc::invalid_argument when the group is entered.
    group(const turnlock_grouplock *lock, const turnlock_hold *by, std::uint64_t number) noexcept
        : lock_(lock), by_hold_(true), hold_(by), number_(number)
    {
    }

    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

    // As those of every lock.
    void unlock(std::error_code &code) noexcept
    {
        if (can_be_inside(code))
            base::unlock(code);
    }
    void unlock()
    {
        check_inside();
        base::unlock();
    }
    void abandon(std::error_code &code) noexcept
    {
        if (can_be_inside(code))
            base::abandon(code);
    }
    void abandon()
    {
        check_inside();
        base::abandon();
    }
    void mark_consistent(std::error_code &code) noexcept
    {
        if (can_be_inside(code))
            base::mark_consistent(code);
    }
    void mark_consistent()
    {
        check_inside();
        base::mark_consistent();
    }

private:
    friend lockable<group>;

    // False where the caller is not inside as a member of this group: the library does not ask for the group, and it would leave
    // another. All that are inside are of one group, so a look at one of them tells; what entered by this object needs none.
    bool can_be_inside(std::error_code &code) const noexcept
    {
        if (is_inside_)
            return true;
        auto member = sized<participant_info>();
        std::size_t count = 0;
        const bool is_known = turnlock_lock_holders(any(lock_), 1, &member, &count) >= 0 && count > 0;
        const bool is_other = is_known && member.life != TURNLOCK_LIFE_DEAD && member.first != number_;
        if (is_other)
            code = errc::not_owner;
        return !is_other;
    }

    void check_inside() const
    {
        std::error_code code;
        if (!can_be_inside(code))
            fail(code, "another group is inside: leave as a member of the group that was entered");
    }

    // Keeps whether the caller is inside by this object, where a call succeeded.
    std::int32_t now_inside(bool is_inside, std::int32_t status) noexcept
    {
        if (status >= 0)
            is_inside_ = is_inside;
        return status;
    }

    std::int32_t acquire(std::uint32_t wait, std::uint64_t time, turnlock_acquired *out) const noexcept
    {
        auto wanted = request(lock_, wait, time);
        wanted.group = number_;
        return turnlock_hold_acquire(hold_, &wanted, out);
    }

    std::int32_t native_begin(std::uint32_t mode, std::uint32_t wait, std::uint64_t time) const noexcept
    {
        auto wanted = request(lock_, wait, time);
        wanted.mode = mode;
        wanted.group = number_;
        return turnlock_hold_begin_acquire(hold_, &wanted);
    }
    const turnlock_hold *native_hold() const noexcept { return hold_; }

    std::int32_t native_lock(turnlock_acquired *out) noexcept
    {
        return now_inside(
            true, by_hold_ ? acquire(TURNLOCK_WAIT_FOREVER, 0, out) : turnlock_grouplock_lock(lock_, number_, out));
    }
    std::int32_t native_try_lock(turnlock_acquired *out) noexcept
    {
        return now_inside(
            true, by_hold_ ? acquire(TURNLOCK_WAIT_NEVER, 0, out) : turnlock_grouplock_try_lock(lock_, number_, out));
    }
    std::int32_t native_lock_for(std::uint64_t time, turnlock_acquired *out) noexcept
    {
        return now_inside(true, by_hold_ ? acquire(TURNLOCK_WAIT_AT_MOST, time, out)
                                         : turnlock_grouplock_lock_for(lock_, number_, time, out));
    }
    std::int32_t native_unlock() noexcept
    {
        return now_inside(false, by_hold_ ? turnlock_hold_release(hold_) : turnlock_grouplock_unlock(lock_));
    }
    std::int32_t native_abandon() noexcept
    {
        return now_inside(false, by_hold_ ? turnlock_hold_abandon(hold_) : turnlock_grouplock_abandon(lock_));
    }
    std::int32_t native_mark_consistent() const noexcept
    {
        return by_hold_ ? turnlock_hold_mark_consistent(hold_) : turnlock_grouplock_mark_consistent(lock_);
    }
    std::int32_t native_is_contended() const noexcept
    {
        return by_hold_ ? turnlock_hold_is_contended(hold_) : turnlock_lock_is_contended(any(lock_));
    }

    const turnlock_grouplock *lock_;
    bool by_hold_;
    const turnlock_hold *hold_;
    std::uint64_t number_;
    bool is_inside_ = false;
};

} // namespace detail

// A lock of groups: any number of one group are inside at once, and none of another, first come first served. A death inside is told
// (`owner_died()`) to each that enters afterwards, whichever its group, until one of these marks it consistent.
//
//     auto second = formats.group(2);
//     std::scoped_lock inside(second);
class group_lock : public detail::parts<detail::grouplock_calls> {
public:
    using group_type = detail::group;

    // Not open: to be assigned to.
    group_lock() noexcept = default;

    // Opens the lock of this name (1 to 63 bytes of UTF-8), or creates it.
    group_lock(const file &in, detail::text name, const parts_options &options = {})
    {
        detail::check_whole(name, errc::bad_name);
        std::error_code code;
        parts::open(in, name, options, code);
        detail::check(code);
    }

    static group_lock
    open(const file &in, detail::text name, const parts_options &options, std::error_code &code) noexcept
    {
        group_lock opened;
        opened.parts::open(in, name, options, code);
        return opened;
    }

    // A group, any number, to be entered by a thread, or by a hold. A thread is inside once, whichever the group: to enter again is
    // errc::deadlock.
    group_type group(std::uint64_t number) const noexcept { return {native_handle(), number}; }
    group_type group(const hold &by, std::uint64_t number) const noexcept
    {
        return {native_handle(), by.native_handle(), number};
    }

    // After errc::replaced: the lock of the same name in the file that is at the path now. Close this one.
    group_lock reopen() const
    {
        group_lock reopened;
        reopen_as(reopened);
        return reopened;
    }
};

} // namespace turnlock

#endif
