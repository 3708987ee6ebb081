// Acquisitions that are begun, and finished when they can be.

#include "testing.hpp"

#include <mutex>
#include <shared_mutex>

#include <poll.h>

using namespace std::chrono_literals;
using turnlock::errc;

// Whether it can be finished within so long.
template <class Pending> static bool is_ready(const Pending &waits, std::chrono::milliseconds within = 0ms)
{
    pollfd ready{waits.descriptor(), POLLIN, 0};
    return poll(&ready, 1, static_cast<int>(within.count())) == 1;
}

// Waits until so many wait for it. (The alarm of the case is the limit.)
template <class Waited> static void until_waiting(const Waited &waited, std::size_t count)
{
    while (waited.waiters().size() != count)
        std::this_thread::sleep_for(1ms);
}

template <class Lock> static void begun_while_another_has_it(Lock mine, Lock theirs)
{
    theirs.lock();
    turnlock::pending waits(mine);
    EXPECT(waits && !is_ready(waits) && !waits.try_finish() && waits);
    const int descriptor = waits.descriptor();
    std::thread([&] { theirs.unlock(); }).join();
    EXPECT(is_ready(waits, 20s));
    std::unique_lock held = waits.try_finish();
    EXPECT(held.owns_lock() && !waits && mine.fencing_token() > 0 && !mine.owner_died());
    EXPECT(!theirs.try_lock());
    held.unlock();
    // What is free is finished at once, also where it is waited for.
    turnlock::pending again(mine, 20s);
    EXPECT(is_ready(again) && again.descriptor() == descriptor);
    EXPECT(again.finish().owns_lock() && !again);
    EXPECT(theirs.try_lock());
    theirs.unlock();
}

TEST(what_was_begun_is_finished_when_it_can_be)
{
    turnlock::file file("lock");
    turnlock::hold task(file), other(file);
    turnlock::mutex mutex(file, "mutex");
    begun_while_another_has_it(turnlock::by(task, mutex), turnlock::by(other, mutex));
    turnlock::shared_mutex shared(file, "shared");
    begun_while_another_has_it(turnlock::by(task, shared), turnlock::by(other, shared));
    turnlock::turn_ring ring(file, "ring");
    begun_while_another_has_it(turnlock::by(task, ring), turnlock::by(other, ring));
    turnlock::range_lock ranges(file, "ranges");
    begun_while_another_has_it(ranges.range(task, 0, 10), ranges.range(other, 9, turnlock::range_end));
    turnlock::keyed_lock keys(file, "keys");
    begun_while_another_has_it(keys.key(task, "ada"), keys.key(other, "ada"));
    turnlock::group_lock groups(file, "groups");
    begun_while_another_has_it(groups.group(task, 1), groups.group(other, 2));
    turnlock::semaphore jobs(file, "jobs", 3);
    begun_while_another_has_it(turnlock::by(task, jobs, 2), turnlock::by(other, jobs, 2));
}

TEST(readers_are_begun_beside_each_other)
{
    turnlock::file file("lock");
    turnlock::range_lock lock(file, "ranges");
    turnlock::hold first(file), second(file), third(file);
    auto one = lock.range(first, 0, 10), two = lock.range(second, 5, 15), writer = lock.range(third, 5, 6);
    turnlock::pending_shared begun(one), beside(two, 20s);
    std::shared_lock reads = begun.try_finish(), also = beside.try_finish();
    EXPECT(reads.owns_lock() && also.owns_lock());
    turnlock::pending writes(writer);
    EXPECT(!writes.try_finish());
    reads.unlock();
    also.unlock();
    EXPECT(writes.finish().owns_lock());
}

TEST(what_was_begun_is_over_after_its_limit)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    turnlock::hold task(file);
    auto mine = turnlock::by(task, mutex);
    std::unique_lock held(mutex);
    turnlock::pending waits(mine, 1ms);
    EXPECT(is_ready(waits, 20s));
    EXPECT_FAILURE(waits.try_finish(), errc::timed_out);
    EXPECT(!waits && mutex.waiters().empty());
    EXPECT_FAILURE(waits.try_finish(), errc::invalid_argument);
    turnlock::pending again(mine, 1ms);
    std::error_code code;
    EXPECT(!again.finish(code).owns_lock() && code == errc::timed_out && !again);
    held.unlock();
    mine.lock();
    mine.unlock();
}

TEST(what_is_not_finished_is_cancelled)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    turnlock::hold task(file), other(file);
    auto mine = turnlock::by(task, mutex), theirs = turnlock::by(other, mutex);
    std::unique_lock held(mutex);
    {
        turnlock::pending waits(mine);
        // Its hold waits, and does nothing else.
        EXPECT_FAILURE(mine.lock(), errc::hold_busy);
        EXPECT_FAILURE(turnlock::pending(mine), errc::hold_busy);
        until_waiting(mutex, 1);
        turnlock::pending<decltype(mine)> moved(std::move(waits));
        EXPECT(moved && !waits && mutex.waiters().size() == 1);
        moved.cancel();
        EXPECT(!moved && mutex.waiters().empty());
        moved.cancel();
        moved = turnlock::pending(mine);
        until_waiting(mutex, 1);
        // The older one is cancelled.
        moved = turnlock::pending(theirs);
        until_waiting(mutex, 1);
        EXPECT(!turnlock::pending(mine).try_finish());
    }
    EXPECT(mutex.waiters().empty());
    turnlock::pending waits(mine);
    task.cancel();
    EXPECT(is_ready(waits, 20s));
    EXPECT_FAILURE(waits.try_finish(), errc::cancelled);
    held.unlock();
    // What was acquired meanwhile is released.
    {
        turnlock::pending acquired(mine);
        EXPECT(is_ready(acquired));
    }
    EXPECT(mutex.try_lock());
    mutex.unlock();
}

TEST(a_death_is_told_to_what_was_begun)
{
    turnlock::file file("lock");
    turnlock::mutex_options options;
    options.on_death = turnlock::death_policy::inform;
    turnlock::mutex mutex(file, "mutex", options);
    turnlock::hold task(file);
    auto mine = turnlock::by(task, mutex);
    const auto child = testing::start([] {
        turnlock::file own("lock");
        turnlock::mutex again(own, "mutex");
        again.lock();
        for (;;)
            pause();
    });
    while (!mutex.holder())
        std::this_thread::sleep_for(1ms);
    turnlock::pending waits(mine);
    EXPECT(!waits.try_finish());
    testing::kill_child(child);
    std::unique_lock held = waits.finish();
    EXPECT(held.owns_lock() && mine.owner_died() && mine.dead_owner_pid() == static_cast<std::uint32_t>(child));
    mine.mark_consistent();
    held.unlock();
    // One that is taken back leaves the notice to the next.
    testing::killed_inside([&] { mutex.lock(); });
    turnlock::pending(mine).cancel();
    mutex.lock();
    EXPECT(mutex.owner_died());
    mutex.mark_consistent();
    mutex.unlock();
}

TEST(what_cannot_be_begun)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    turnlock::hold task(file), closed;
    auto unopened = turnlock::by(closed, mutex);
    EXPECT_FAILURE(turnlock::pending(unopened), errc::invalid_argument);
    turnlock::group_lock groups(file, "groups");
    auto of_thread = groups.group(1);
    EXPECT_FAILURE(turnlock::pending(of_thread), errc::invalid_argument);
    turnlock::semaphore jobs(file, "jobs", 3);
    auto too_many = turnlock::by(task, jobs, 4), none_of_them = turnlock::by(task, jobs, 0);
    EXPECT_FAILURE(turnlock::pending(too_many), errc::permits);
    EXPECT_FAILURE(turnlock::pending(none_of_them), errc::permits);
    turnlock::range_lock ranges(file, "ranges");
    auto empty = ranges.range(task, 5, 5);
    std::error_code code;
    EXPECT(!turnlock::pending(empty, code) && code == errc::empty_range);
    EXPECT(!turnlock::pending_shared(empty, 1s, code) && code == errc::empty_range);
    turnlock::pending<decltype(empty)> none;
    EXPECT(!none && none.descriptor(code) < 0 && code == errc::invalid_argument);
    EXPECT_FAILURE(none.finish(), errc::invalid_argument);
    none.cancel();
}
