// Times of all clocks: a wait until a time ends when that clock has reached it, and no wait is shorter than it was to be.

#include "testing.hpp"

#include <cstdint>
#include <limits>
#include <mutex>
#include <shared_mutex>

using namespace std::chrono_literals;

// A third as fast as the clock that the library waits by, as in the tests of libstdc++.
struct slow_clock {
    using rep = std::chrono::steady_clock::rep;
    using period = std::chrono::steady_clock::period;
    using duration = std::chrono::steady_clock::duration;
    using time_point = std::chrono::time_point<slow_clock, duration>;
    static constexpr bool is_steady = true;

    static time_point now()
    {
        const auto real = std::chrono::steady_clock::now();
        return time_point{real.time_since_epoch() / 3};
    }
};

// One that is five milliseconds behind at its third and fourth look.
struct set_clock {
    using rep = std::int64_t;
    using period = std::milli;
    using duration = std::chrono::milliseconds;
    using time_point = std::chrono::time_point<set_clock>;
    static constexpr bool is_steady = false;
    inline static int looks = 0;

    static time_point now()
    {
        ++looks;
        const auto real = std::chrono::duration_cast<duration>(std::chrono::system_clock::now().time_since_epoch());
        return time_point{looks == 3 || looks == 4 ? real + 5ms : real + 10ms};
    }
};

// Fails, in another thread, to have what this one has, and not before the clock has reached the time.
template <class Clock, class Try> static void not_before(Try try_until)
{
    std::thread([&] {
        const auto time = Clock::now() + 20ms;
        EXPECT(!try_until(time));
        EXPECT(Clock::now() >= time);
        // What is past is tried once.
        EXPECT(!try_until(Clock::now() - 1h));
        EXPECT(!try_until(Clock::time_point::min()));
    }).join();
}

template <class Clock> static void every_class(const turnlock::file &file)
{
    const auto exclusive = [&](auto &lock) {
        std::lock_guard held(lock);
        not_before<Clock>([&](auto time) { return lock.try_lock_until(time); });
        not_before<Clock>([&](auto time) { return std::unique_lock(lock, time).owns_lock(); });
        turnlock::hold task(file);
        not_before<Clock>([&](auto time) { return turnlock::by(task, lock).try_lock_until(time); });
    };
    turnlock::mutex mutex(file, "mutex");
    exclusive(mutex);
    turnlock::recursive_mutex recursive(file, "recursive");
    exclusive(recursive);
    turnlock::turn_ring ring(file, "ring");
    exclusive(ring);
    turnlock::shared_mutex shared(file, "shared");
    exclusive(shared);
    {
        std::lock_guard writer(shared);
        not_before<Clock>([&](auto time) { return shared.try_lock_shared_until(time); });
        not_before<Clock>([&](auto time) { return std::shared_lock(shared, time).owns_lock(); });
        not_before<Clock>([&](auto time) { return shared.try_lock_upgradable_until(time); });
    }
    {
        std::shared_lock reader(shared);
        not_before<Clock>([&](auto time) {
            shared.lock_upgradable();
            const bool is_upgraded = shared.try_upgrade_until(time);
            shared.unlock_upgradable();
            return is_upgraded;
        });
    }
    turnlock::semaphore permits(file, "permits");
    permits.acquire();
    not_before<Clock>([&](auto time) { return permits.try_acquire_until(time); });
    permits.release();
    turnlock::event ready(file, "ready");
    not_before<Clock>([&](auto time) { return ready.wait_until(time); });
    turnlock::mutex data(file, "data");
    turnlock::condition changed(file, "changed");
    not_before<Clock>([&](auto time) {
        std::unique_lock lock(data);
        return changed.wait_until(lock, time, [] { return false; });
    });
    const auto part = [&](auto make) {
        auto held = make();
        std::lock_guard guard(held);
        not_before<Clock>([&](auto time) { return make().try_lock_until(time); });
        not_before<Clock>([&](auto time) { return make().try_lock_shared_until(time); });
    };
    turnlock::range_lock ranges(file, "ranges");
    part([&] { return ranges.range(0, 5); });
    turnlock::keyed_lock keys(file, "keys");
    part([&] { return keys.key("a"); });
    turnlock::group_lock groups(file, "groups");
    auto inside = groups.group(1);
    std::lock_guard member(inside);
    turnlock::hold task(file);
    not_before<Clock>([&](auto time) { return groups.group(task, 2).try_lock_until(time); });
    auto held = ranges.range(5, 9);
    std::lock_guard guard(held);
    not_before<Clock>([&](auto time) { return ranges.range(task, 5, 9).try_lock_until(time); });
    not_before<Clock>([&](auto time) { return ranges.range(task, 5, 9).try_lock_shared_until(time); });
}

TEST(a_wait_until_a_time_of_a_slow_clock_ends_when_that_has_reached_it)
{
    every_class<slow_clock>(turnlock::file("lock"));
}

TEST(a_wait_until_a_time_of_the_usual_clocks_ends_then)
{
    turnlock::file file("lock");
    every_class<std::chrono::steady_clock>(file);
    every_class<std::chrono::system_clock>(file);
}

TEST(a_clock_that_is_set_back_meanwhile_is_waited_for)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    std::lock_guard held(mutex);
    std::thread([&] {
        const auto time = set_clock::now() + 2ms;
        EXPECT(!mutex.try_lock_until(time));
        EXPECT(set_clock::now() >= time);
        EXPECT(set_clock::looks > 3);
    }).join();
}

// What is free, or becomes free, is had however slow the clock is, and what fails otherwise fails at once.
TEST(a_slow_clock_delays_nothing_else)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    const auto far = slow_clock::now() + 24h;
    EXPECT(mutex.try_lock_until(far));
    EXPECT_FAILURE(mutex.try_lock_until(far), turnlock::errc::deadlock);
    std::thread waiter([&] { EXPECT(std::unique_lock(mutex, far).owns_lock()); });
    while (mutex.waiters().empty())
        std::this_thread::yield();
    mutex.unlock();
    waiter.join();
    std::error_code code;
    EXPECT(!turnlock::mutex().try_lock_until(far, code) && code == turnlock::errc::invalid_argument);
}

TEST(times_of_any_unit_are_neither_shortened_nor_wrapped)
{
    using turnlock::detail::nanoseconds;
    constexpr auto longest = std::numeric_limits<std::uint64_t>::max();
    using thirds = std::chrono::duration<std::int64_t, std::ratio<1, 3>>;
    using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
    using eons = std::chrono::duration<std::int8_t, std::ratio<31'556'952'000'000'000>>;
    EXPECT(nanoseconds(1ns) == 1 && nanoseconds(584h) == 2'102'400'000'000'000);
    EXPECT(nanoseconds(std::chrono::nanoseconds::max()) == std::numeric_limits<std::int64_t>::max());
    // A part of a nanosecond is a whole one.
    EXPECT(nanoseconds(picoseconds(1)) == 1 && nanoseconds(picoseconds(1'001)) == 2 && nanoseconds(picoseconds(2'000)) == 2);
    EXPECT(nanoseconds(std::chrono::duration<double, std::nano>(0.5)) == 1);
    EXPECT(nanoseconds(std::chrono::duration<float>(0.5f)) == 500'000'000);
    EXPECT(nanoseconds(thirds(3)) == 1'000'000'000 && nanoseconds(thirds(1)) == 333'333'334);
    // Times a billion it has no room in 64 bits, and in nanoseconds it has.
    EXPECT(nanoseconds(thirds(40'000'000'000)) / 1'000'000'000 == 13'333'333'333);
    EXPECT(nanoseconds(eons(1)) == longest && nanoseconds(eons(-1)) == 0 && nanoseconds(std::chrono::hours::max()) == longest);
    using turnlock::detail::nanoseconds_until;
    using system = std::chrono::system_clock;
    EXPECT(nanoseconds_until(std::chrono::time_point<system, std::chrono::hours>::max()) == longest);
    EXPECT(nanoseconds_until(std::chrono::time_point<system, std::chrono::hours>::min()) == 0);
    EXPECT(nanoseconds_until(std::chrono::time_point<system, std::chrono::duration<double>>(std::chrono::seconds(1))) == 0);
    const auto in_thirds = std::chrono::time_point_cast<thirds>(system::now()) + thirds(6);
    const auto left = nanoseconds_until(in_thirds);
    // (Less, where the test stood for a while.)
    EXPECT(left <= 2'000'000'000);
}
