// Holds: locks that move between threads, and waits that others end.

#include "testing.hpp"

#include <mutex>

TEST(a_holds_lock_is_unlocked_by_another_thread)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    turnlock::hold_options options;
    options.label = "task 1";
    turnlock::hold task(file, options), other(file);
    auto mine = turnlock::by(task, mutex);
    auto theirs = turnlock::by(other, mutex);
    std::unique_lock held(mine);
    EXPECT(mine.fencing_token() != 0 && !mine.owner_died() && !mine.is_contended());
    EXPECT(std::string(mutex.holder()->label) == "task 1");
    EXPECT(!theirs.try_lock() && !theirs.try_lock_for(std::chrono::milliseconds(1)));
    EXPECT_FAILURE(mine.lock(), turnlock::errc::deadlock);
    EXPECT_FAILURE(theirs.unlock(), turnlock::errc::not_owner);
    EXPECT_FAILURE(task.close(), turnlock::errc::still_held);
    std::thread([&] { held.unlock(); }).join();
    theirs.lock();
    theirs.abandon();
    mine.lock();
    EXPECT(mine.owner_died());
    mine.mark_consistent();
    mine.unlock();
    task.close();
    EXPECT_FAILURE(mine.lock(), turnlock::errc::closed);
}

TEST(a_hold_has_its_turn_in_a_ring)
{
    turnlock::file file("lock");
    turnlock::ring_options options;
    options.member = true;
    turnlock::turn_ring ring(file, "ring", options);
    turnlock::hold task(file);
    auto turn = turnlock::by(task, ring);
    turn.lock();
    turn.unlock();
    ring.leave(task);
    ring.lock();
    ring.unlock();
}

TEST(a_hold_takes_the_slot_that_is_chosen)
{
    turnlock::file file("lock");
    turnlock::ring_options options;
    options.member = true;
    turnlock::turn_ring ring(file, "ring", options);
    turnlock::hold_options at_three;
    at_three.slot = 3;
    turnlock::hold task(file, at_three);
    auto turn = turnlock::by(task, ring);
    turn.lock();
    EXPECT(ring.holder()->slot == 3);
    turn.unlock();
    EXPECT_FAILURE(turnlock::hold(file, at_three), turnlock::errc::in_use);
    at_three.slot = 100000;
    EXPECT_FAILURE(turnlock::hold(file, at_three), turnlock::errc::invalid_argument);
}

TEST(a_hold_has_permits_as_a_lock)
{
    turnlock::file file("lock");
    turnlock::semaphore jobs(file, "jobs", 3);
    turnlock::hold task(file), other(file);
    auto two = turnlock::by(task, jobs, 2), one = turnlock::by(other, jobs);
    {
        std::scoped_lock held(two, one);
        EXPECT(jobs.holders().size() == 2 && !jobs.try_acquire() && !two.owner_died());
        std::thread([&] { EXPECT(!jobs.try_acquire_for(std::chrono::milliseconds(1))); }).join();
    }
    EXPECT(two.try_lock_for(std::chrono::milliseconds(1)) && jobs.holders().at(0).permits == 2);
    // As those of the dead, they come back.
    two.abandon();
    EXPECT(jobs.holders().empty());
    EXPECT_FAILURE(turnlock::by(task, jobs, 0).lock(), turnlock::errc::permits);
    EXPECT_FAILURE(turnlock::by(task, jobs, 4).lock(), turnlock::errc::permits);
}

TEST(a_wait_by_a_hold_is_cancelled)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    turnlock::hold task(file);
    auto mine = turnlock::by(task, mutex);
    mutex.lock();
    std::thread waiter([&] { EXPECT_FAILURE(mine.lock(), std::errc::operation_canceled); });
    while (mutex.waiters().empty())
        std::this_thread::yield();
    task.cancel();
    waiter.join();
    EXPECT(mutex.waiters().empty());
    task.cancel();
    task.clear_cancel();
    EXPECT(!mine.try_lock_for(std::chrono::milliseconds(1)));
}

TEST(a_threads_wait_is_cancelled)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    mutex.lock();
    turnlock::hold its;
    std::atomic<bool> is_there{false};
    std::thread waiter([&] {
        its = turnlock::hold::of_thread(file);
        is_there = true;
        EXPECT_FAILURE(mutex.lock(), turnlock::errc::cancelled);
    });
    while (!is_there)
        std::this_thread::yield();
    its.cancel();
    waiter.join();
}

TEST(a_wait_is_ended_by_what_the_file_asks)
{
    turnlock::file_options options;
    options.should_stop_waiting = [](void *end) { return static_cast<std::int32_t>(*static_cast<std::atomic<bool> *>(end)); };
    std::atomic<bool> end{true};
    options.context = &end;
    turnlock::file file("lock", options);
    turnlock::mutex mutex(file, "mutex");
    mutex.lock();
    std::thread([&] { EXPECT_FAILURE(mutex.lock(), std::errc::interrupted); }).join();
}
