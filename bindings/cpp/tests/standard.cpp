// The locks are what the standard library's helpers want.

#include "testing.hpp"

#include <condition_variable>
#include <mutex>

using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<turnlock::mutex> && std::is_nothrow_move_constructible_v<turnlock::mutex>);
static_assert(std::is_error_code_enum_v<turnlock::errc>);

template <class Lock> static void adds_up(Lock &lock)
{
    int count = 0;
    const auto add = [&] {
        for (int turn = 0; turn < 500; ++turn) {
            std::scoped_lock guard(lock);
            ++count;
        }
    };
    std::thread one(add), two(add);
    one.join();
    two.join();
    EXPECT(count == 1000);
}

TEST(threads_add_up)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    turnlock::recursive_mutex recursive(file, "recursive");
    turnlock::turn_ring ring(file, "ring");
    adds_up(mutex);
    adds_up(recursive);
    adds_up(ring);
}

TEST(several_are_locked_together)
{
    turnlock::file file("lock");
    turnlock::mutex one(file, "one");
    turnlock::turn_ring two(file, "two");
    {
        std::scoped_lock guard(one, two);
        EXPECT(one.holder() && two.holder());
    }
    EXPECT(!one.holder() && !two.holder());
}

TEST(unique_lock_defers_tries_and_gives_up)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    std::unique_lock deferred(mutex, std::defer_lock);
    EXPECT(deferred.try_lock());
    std::thread([&] {
        EXPECT(!std::unique_lock(mutex, std::try_to_lock).owns_lock());
        EXPECT(!std::unique_lock(mutex, 1ms).owns_lock());
        EXPECT(!std::unique_lock(mutex, std::chrono::system_clock::now() + 1ms).owns_lock());
        EXPECT(!mutex.try_lock_for(-1h));
    }).join();
    deferred.unlock();
    EXPECT(std::unique_lock(mutex, std::chrono::hours::max()).owns_lock());
    EXPECT(std::unique_lock(mutex, std::chrono::steady_clock::time_point::max()).owns_lock());
}

TEST(a_condition_variable_waits_without_the_lock)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    std::condition_variable_any condition;
    bool ready = false;
    std::thread other([&] {
        std::lock_guard guard(mutex);
        ready = true;
        condition.notify_one();
    });
    std::unique_lock lock(mutex);
    condition.wait(lock, [&] { return ready; });
    EXPECT(lock.owns_lock() && mutex.holder()->pid == static_cast<std::uint32_t>(getpid()));
    lock.unlock();
    other.join();
}

TEST(a_recursive_mutex_is_unlocked_as_often)
{
    turnlock::file file("lock");
    turnlock::recursive_mutex mutex(file, "mutex");
    mutex.lock();
    const auto token = mutex.fencing_token();
    mutex.lock();
    EXPECT(mutex.fencing_token() == token);
    mutex.unlock();
    std::thread([&] { EXPECT(!mutex.try_lock()); }).join();
    mutex.unlock();
    std::thread([&] {
        EXPECT(mutex.try_lock());
        mutex.unlock();
    }).join();
}

TEST(fencing_tokens_increase)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    std::uint64_t before = 0;
    for (int turn = 0; turn < 10; ++turn) {
        std::lock_guard guard(mutex);
        EXPECT(mutex.fencing_token() > before);
        before = mutex.fencing_token();
    }
}

TEST(holders_waiters_and_contention_are_seen)
{
    turnlock::file_options options;
    options.label = "the test";
    turnlock::file file("lock", options);
    turnlock::mutex_options strict;
    strict.strict = true;
    turnlock::mutex mutex(file, "mutex", strict);
    EXPECT(mutex.patience() == 0ns);
    EXPECT(!mutex.holder() && mutex.waiters().empty());
    mutex.lock();
    EXPECT(!mutex.is_contended());
    std::vector<std::thread> others;
    for (int other = 0; other < 10; ++other)
        others.emplace_back([&] { std::lock_guard guard(mutex); });
    while (mutex.waiters().size() < others.size() || !mutex.is_contended())
        std::this_thread::yield();
    EXPECT(std::string(mutex.holder()->label) == "the test");
    EXPECT(mutex.holder()->fencing_token == mutex.fencing_token());
    EXPECT(mutex.waiters()[9].life == TURNLOCK_LIFE_ALIVE);
    mutex.unlock();
    for (auto &other : others)
        other.join();
}

TEST(a_ring_goes_round_and_is_left)
{
    turnlock::file file("lock");
    turnlock::ring_options options;
    options.algorithm = turnlock::ring_algorithm::sum;
    options.step = 3;
    options.member = true;
    turnlock::turn_ring ring(file, "ring", options);
    ring.lock();
    ring.unlock();
    EXPECT(ring.waiters().size() == 1 && ring.waiters()[0].state == TURNLOCK_STATE_RING_MEMBER);
    std::thread([&] { EXPECT(!ring.try_lock_for(20ms)); }).join();
    ring.leave();
    EXPECT(ring.waiters().empty());
    std::thread([&] { EXPECT(ring.try_lock_for(20s)); }).join();
}
