// A holder that dies inside is told of, and the lock is not lost over it.

#include "testing.hpp"

#include <mutex>
#include <stdexcept>

template <class Lock> static void told_of_a_death(const turnlock::file &file)
{
    Lock lock(file, "lock");
    testing::killed_inside([&] { lock.lock(); });
    {
        std::unique_lock held(lock);
        EXPECT(lock.owner_died() && lock.dead_owner_pid() != 0);
        EXPECT(lock.fencing_token() > lock.dead_owner_fencing_token());
        EXPECT(std::string(lock.last_dead_owner()->label) == "the test");
        lock.mark_consistent();
    }
    std::unique_lock again(lock);
    EXPECT(!lock.owner_died());
    EXPECT_FAILURE(lock.mark_consistent(), turnlock::errc::not_inconsistent);
}

static turnlock::file labelled()
{
    turnlock::file_options options;
    options.label = "the test";
    return turnlock::file("lock", options);
}

TEST(the_next_holder_is_told)
{
    told_of_a_death<turnlock::mutex>(labelled());
}

TEST(the_next_holder_of_a_recursive_mutex_is_told)
{
    const auto file = labelled();
    turnlock::recursive_mutex lock(file, "lock");
    testing::killed_inside([&] { lock.lock(); });
    lock.lock();
    lock.lock();
    EXPECT(lock.owner_died());
    lock.mark_consistent();
    lock.unlock();
    lock.unlock();
}

TEST(the_next_in_the_ring_is_told)
{
    told_of_a_death<turnlock::turn_ring>(labelled());
}

TEST(unlocking_without_a_repair_closes_the_lock_until_a_reset)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    testing::killed_inside([&] { mutex.lock(); });
    mutex.lock();
    mutex.unlock();
    EXPECT_FAILURE(mutex.lock(), turnlock::errc::not_recoverable);
    EXPECT_FAILURE(mutex.try_lock(), std::errc::state_not_recoverable);
    EXPECT(mutex.try_reset());
    mutex.lock();
    EXPECT(!mutex.owner_died());
    std::thread([&] { EXPECT(!mutex.try_reset() && !mutex.try_reset_for(std::chrono::milliseconds(1))); }).join();
    mutex.unlock();
    mutex.reset();
}

TEST(a_lock_that_releases_on_death_needs_no_repair)
{
    turnlock::file file("lock");
    turnlock::mutex_options options;
    options.release_on_death = true;
    turnlock::mutex mutex(file, "mutex", options);
    testing::killed_inside([&] { mutex.lock(); });
    mutex.lock();
    EXPECT(mutex.owner_died());
    mutex.unlock();
    mutex.lock();
}

TEST(a_guard_abandons_on_an_exception)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    {
        turnlock::guard guard(mutex);
        EXPECT(guard->fencing_token() != 0);
    }
    mutex.lock();
    EXPECT(!mutex.owner_died());
    mutex.unlock();
    try {
        turnlock::guard guard(mutex);
        throw std::runtime_error("half-way");
    } catch (const std::runtime_error &) {
    }
    mutex.lock();
    EXPECT(mutex.owner_died() && mutex.dead_owner_pid() == static_cast<std::uint32_t>(getpid()));
}

TEST(a_lock_that_is_destroyed_while_it_is_held_is_abandoned)
{
    turnlock::file file("lock");
    {
        turnlock::recursive_mutex gone(file, "mutex");
        gone.lock();
        gone.lock();
    }
    turnlock::recursive_mutex mutex(file, "mutex");
    std::thread([&] {
        EXPECT(mutex.try_lock() && mutex.owner_died());
        mutex.mark_consistent();
        mutex.unlock();
    }).join();
}
