// turnlock::turn_ring: a lock whose turn goes round.

#ifndef TURNLOCK_TURN_RING_HPP
#define TURNLOCK_TURN_RING_HPP

#include <turnlock/lock.hpp>

namespace turnlock {

enum class ring_algorithm : std::uint32_t {
    any = 0,
    k_state = TURNLOCK_ALGORITHM_K_STATE,
    raynal = TURNLOCK_ALGORITHM_RAYNAL,
    sum = TURNLOCK_ALGORITHM_SUM,
};

// How to open, or create, a turn ring. A ring that exists keeps what it was created with; to ask for another one is
// errc::kind.
struct ring_options {
    // Which it must be. `any`: whichever it is, and Raynal's if it is created now.
    ring_algorithm algorithm = ring_algorithm::any;
    // Of the sum ring: from one slot to the next in order of turns; 0 = 1.
    std::uint32_t step = 0;
    // A thread that takes a turn through this object stays in the ring, and the ring waits for it, until `leave`.
    bool member = false;
    // What a holder's death means.
    death_policy on_death = death_policy::any;
    bool must_exist = false;
};

namespace detail {

struct ring_calls {
    using handle = turnlock_ring;
    static constexpr bool is_each_new = true;
    static constexpr death_flags on_death = {
        TURNLOCK_RING_RELEASE_BY_DEFAULT, TURNLOCK_RING_INFORM_ON_DEATH, TURNLOCK_RING_RELEASE_ON_DEATH};
    static constexpr auto close = turnlock_ring_close;
    static constexpr auto lock = turnlock_ring_lock;
    static constexpr auto try_lock = turnlock_ring_try_lock;
    static constexpr auto lock_for = turnlock_ring_lock_for;
    static constexpr auto unlock = turnlock_ring_unlock;
    static constexpr auto abandon = turnlock_ring_abandon;
    static constexpr auto mark_consistent = turnlock_ring_mark_consistent;
};

} // namespace detail

// A lock whose turn goes round: a holder gets it again only after every other participant that wants it. TimedLockable.
class turn_ring : public detail::exclusive<detail::ring_calls> {
public:
    // Not open: to be assigned to.
    turn_ring() noexcept = default;

    // Opens the ring of this name (1 to 63 bytes of UTF-8), or creates it.
    turn_ring(const file &in, detail::text name, const ring_options &options = {})
    {
        detail::check_whole(name, errc::bad_name);
        std::error_code code;
        *this = open(in, name, options, code);
        detail::check(code);
    }

    static turn_ring
    open(const file &in, detail::text name, const ring_options &options, std::error_code &code) noexcept
    {
        turn_ring opened;
        if (!detail::is_whole(name, errc::bad_name, code))
            return opened;
        auto native = detail::sized<turnlock_ring_options>();
        native.algorithm = static_cast<std::uint32_t>(options.algorithm);
        native.step = options.step;
        native.flags = (options.member ? TURNLOCK_RING_MEMBER : 0) |
                       detail::ring_calls::on_death.of(options.on_death) |
                       (options.must_exist ? TURNLOCK_RING_MUST_EXIST : 0);
        detail::succeeded(
            turnlock_ring_open(in.native_handle(), name.chars(), &native, opened.handle_.place()), code);
        return opened;
    }

    // The calling thread, if it is a member of the ring, leaves it.
    void leave()
    {
        std::error_code code;
        detail::succeeded(turnlock_ring_leave(native_handle()), code);
        detail::check(code);
    }

    // The same for a hold.
    void leave(const hold &by)
    {
        std::error_code code;
        detail::succeeded(turnlock_hold_leave_ring(by.native_handle(), native_handle()), code);
        detail::check(code);
    }

    // After errc::replaced: the ring of the same name in the file that is at the path now. Close this one.
    turn_ring reopen() const
    {
        turn_ring reopened;
        std::error_code code;
        detail::succeeded(
            turnlock_lock_reopen(detail::any(native_handle()), detail::any_place(reopened.handle_.place())), code);
        detail::check(code);
        return reopened;
    }
};

} // namespace turnlock

#endif
