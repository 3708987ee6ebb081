// Readers and writers, and permits.

#include "testing.hpp"

#include <mutex>
#include <shared_mutex>

using namespace std::chrono_literals;
using turnlock::errc;

template <class Play> static void elsewhere(Play play) { std::thread(play).join(); }

TEST(readers_are_beside_each_other_and_writers_alone)
{
    turnlock::file file("lock");
    turnlock::shared_mutex lock(file, "lock");
    {
        std::shared_lock reader(lock);
        elsewhere([&] {
            EXPECT(std::shared_lock(lock, std::try_to_lock).owns_lock());
            EXPECT(std::shared_lock(lock, 1s).owns_lock());
            EXPECT(lock.try_lock_shared_until(std::chrono::steady_clock::now() + 1s));
            lock.unlock_shared();
            EXPECT(!lock.try_lock() && !lock.try_lock_for(1ms));
            EXPECT(lock.try_lock_upgradable());
            EXPECT(!lock.try_upgrade() && !lock.try_upgrade_for(1ms));
            EXPECT(lock.holders().size() == 2);
            lock.unlock_upgradable();
        });
        EXPECT_FAILURE(lock.lock_shared(), errc::deadlock);
        EXPECT_FAILURE(lock.lock(), errc::deadlock);
        EXPECT(!lock.try_lock() && !lock.try_lock_shared() && !lock.try_lock_upgradable());
        EXPECT_FAILURE(lock.upgrade(), errc::not_upgradable);
        EXPECT_FAILURE(lock.mark_consistent(), errc::not_exclusive);
    }
    std::scoped_lock writer(lock);
    EXPECT(lock.holders()[0].mode == TURNLOCK_MODE_EXCLUSIVE);
    elsewhere([&] { EXPECT(!lock.try_lock_shared() && !lock.try_lock_shared_for(1ms) && !lock.try_lock_upgradable_for(0s)); });
}

TEST(what_is_upgraded_and_downgraded_is_never_let_go)
{
    turnlock::file file("lock");
    turnlock::shared_mutex lock(file, "lock");
    lock.lock_upgradable();
    const auto before = lock.fencing_token();
    lock.upgrade();
    EXPECT(lock.fencing_token() > before);
    EXPECT_FAILURE(lock.upgrade(), errc::not_upgradable);
    lock.downgrade(turnlock::lock_mode::upgradable);
    elsewhere([&] {
        const auto read = lock.lock_shared();
        EXPECT(read.fencing_token == lock.fencing_token() && !read.owner_died);
        lock.unlock_shared();
    });
    EXPECT(lock.try_upgrade());
    lock.downgrade(turnlock::lock_mode::shared);
    EXPECT_FAILURE(lock.downgrade(turnlock::lock_mode::shared), errc::not_upgradable);
    lock.unlock_shared();
    EXPECT_FAILURE(lock.unlock(), errc::not_owner);
}

TEST(readers_are_told_of_a_writers_death_until_a_writer_repairs)
{
    turnlock::file file("lock");
    turnlock::shared_mutex_options options;
    options.on_death = turnlock::death_policy::inform;
    turnlock::shared_mutex lock(file, "lock", options);
    testing::killed_inside([&] { lock.lock_shared(); });
    lock.lock();
    EXPECT(!lock.owner_died());
    lock.unlock();
    testing::killed_inside([&] { lock.lock(); });
    EXPECT(lock.lock_shared().owner_died);
    lock.unlock_shared();
    lock.lock_upgradable();
    EXPECT(lock.owner_died() && lock.last_dead_owner());
    lock.upgrade();
    lock.mark_consistent();
    lock.unlock();
    lock.lock_upgradable();
    EXPECT(!lock.owner_died());
    lock.unlock();
    EXPECT(!lock.lock_shared().owner_died);
}

TEST(a_hold_writes)
{
    turnlock::file file("lock");
    turnlock::shared_mutex lock(file, "lock");
    turnlock::hold task(file);
    auto mine = turnlock::by(task, lock);
    std::unique_lock held(mine);
    EXPECT(!lock.try_lock_shared());
    elsewhere([&] { held.unlock(); });
    EXPECT(lock.try_lock_shared());
}

TEST(permits_are_taken_and_come_back)
{
    turnlock::file file("lock");
    turnlock::semaphore permits(file, "permits", 3);
    EXPECT(permits.permits() == 3);
    permits.acquire(2);
    elsewhere([&] {
        EXPECT(permits.try_acquire() && permits.holders().size() == 2);
        EXPECT(!permits.try_acquire() && !permits.try_acquire_for(1ms));
        permits.release();
    });
    EXPECT(permits.try_acquire_until(std::chrono::steady_clock::now() + 1s));
    EXPECT_FAILURE(permits.acquire(), errc::deadlock);
    EXPECT(!permits.try_acquire());
    EXPECT_FAILURE(permits.acquire(0), errc::permits);
    EXPECT_FAILURE(permits.acquire(4), errc::permits);
    EXPECT_FAILURE(permits.release(4), errc::too_many_released);
    EXPECT_FAILURE(permits.release(0), std::errc::invalid_argument);
    EXPECT_FAILURE(permits.close(), errc::still_held);
    permits.release(3);
    EXPECT_FAILURE(permits.release(), errc::not_owner);
    permits.resize(1);
    EXPECT(permits.permits() == 1);
    EXPECT_FAILURE(permits.resize(0), errc::invalid_argument);
    testing::killed_inside([&] { permits.acquire(); });
    EXPECT(permits.try_acquire_for(20s));
    EXPECT(!permits.is_contended() && permits.holders().size() == 1 && permits.waiters().empty());
}

TEST(a_hold_has_permits_that_another_thread_gives_back)
{
    turnlock::file file("lock");
    turnlock::semaphore permits(file, "permits");
    turnlock::hold task(file), another(file);
    permits.acquire(task);
    EXPECT(!permits.try_acquire(another) && !permits.try_acquire_for(-1s));
    EXPECT_FAILURE(permits.release(another), errc::not_owner);
    elsewhere([&] { permits.release(task); });
    EXPECT(permits.try_acquire(another));
}

TEST(bad_input_to_shared_mutexes_and_semaphores)
{
    turnlock::file file("lock");
    for (const std::string &name : {std::string(), std::string("a\0b", 3), std::string(64, 'n')}) {
        EXPECT_FAILURE(turnlock::shared_mutex(file, name), errc::bad_name);
        EXPECT_FAILURE(turnlock::semaphore(file, name), errc::bad_name);
    }
    turnlock::semaphore_options none;
    none.permits = 0;
    EXPECT_FAILURE(turnlock::semaphore(file, "none", none), errc::permits);
    turnlock::shared_mutex lock(file, "lock");
    EXPECT_FAILURE(turnlock::semaphore(file, "lock"), errc::kind);
    EXPECT_FAILURE(turnlock::shared_mutex().lock_shared(), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::shared_mutex().holders(), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::semaphore().acquire(), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::semaphore().permits(), errc::invalid_argument);
    EXPECT_FAILURE(lock.downgrade(static_cast<turnlock::lock_mode>(77)), errc::invalid_argument);
    EXPECT_FAILURE(lock.downgrade(turnlock::lock_mode::shared), errc::not_owner);
}
