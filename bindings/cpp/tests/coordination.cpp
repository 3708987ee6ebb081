// Conditions, events, barriers and onces: between threads, between processes, and where one of these is killed.

#include "testing.hpp"

#include <sys/mman.h>

#include <condition_variable>
#include <mutex>
#include <new>
#include <stdexcept>

using namespace std::chrono_literals;
using turnlock::errc;

// What the processes share beside the locks.
template <class Data> static Data &shared_data()
{
    void *place = mmap(nullptr, sizeof(Data), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT(place != MAP_FAILED);
    return *new (place) Data();
}

template <class Waited> static std::string story_of(Waited wait)
{
    try {
        wait();
    } catch (const std::system_error &error) {
        return error.what();
    }
    return {};
}

// A bounded buffer; one of the consumers is killed while it waits.
TEST(producers_and_consumers_lose_nothing_over_a_death)
{
    struct buffer {
        unsigned numbers[4], count, sum, got;
    };
    constexpr unsigned each = 300, producers = 2, all = each * producers;
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    turnlock::condition not_full(file, "not full"), not_empty(file, "not empty");
    auto &data = shared_data<buffer>();
    const auto consume = [&] {
        std::unique_lock lock(mutex);
        for (;;) {
            not_empty.wait(lock, [&] { return data.count > 0 || data.got == all; });
            if (data.count == 0)
                break;
            data.sum += data.numbers[--data.count];
            if (++data.got == all)
                not_empty.notify_all();
            not_full.notify_one();
        }
    };
    const auto doomed = testing::start(consume);
    testing::until_asleep(not_empty, 1);
    const auto consumers = {testing::start(consume), testing::start(consume)};
    testing::until_asleep(not_empty, 3);
    testing::kill_child(doomed);
    std::vector<pid_t> others;
    for (unsigned producer = 0; producer < producers; ++producer)
        others.push_back(testing::start([&] {
            for (unsigned number = 1; number <= each; ++number) {
                std::unique_lock lock(mutex);
                not_full.wait(lock, [&] { return data.count < 4; });
                data.numbers[data.count++] = number;
                not_empty.notify_one();
            }
        }));
    for (const auto child : others)
        EXPECT(testing::ended_well(child));
    for (const auto child : consumers)
        EXPECT(testing::ended_well(child));
    EXPECT(data.got == all && data.sum == producers * each * (each + 1) / 2);
}

// The first one has the notification, and is killed before it has the lock.
TEST(the_notification_of_a_dead_waiter_goes_to_the_next_one)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    turnlock::condition changed(file, "changed");
    const auto wait_once = [&] {
        std::unique_lock lock(mutex);
        changed.wait(lock);
    };
    const auto first = testing::start(wait_once);
    testing::until_asleep(changed, 1);
    const auto second = testing::start(wait_once);
    testing::until_asleep(changed, 2);
    mutex.lock();
    EXPECT(changed.notify_one() == 1);
    testing::until_asleep(mutex, 1);
    testing::kill_child(first);
    mutex.unlock();
    EXPECT(testing::ended_well(second));
    EXPECT(changed.waiters().empty() && changed.notify_one() == 0 && changed.notify_all() == 0);
}

TEST(a_waiter_comes_back_with_the_owner_dead_notice)
{
    turnlock::file file("lock");
    turnlock::mutex_options options;
    options.on_death = turnlock::death_policy::inform;
    turnlock::mutex mutex(file, "mutex", options);
    turnlock::condition changed(file, "changed");
    const auto waiter = testing::start([&] {
        std::unique_lock lock(mutex);
        const auto token = mutex.fencing_token();
        changed.wait(lock);
        EXPECT(mutex.owner_died() && mutex.dead_owner_pid() != 0 && mutex.fencing_token() > token);
        mutex.mark_consistent();
    });
    testing::until_asleep(changed, 1);
    testing::killed_inside([&] { mutex.lock(); });
    EXPECT(changed.notify_all() == 1);
    EXPECT(testing::ended_well(waiter));
    std::scoped_lock whole(mutex);
    EXPECT(!mutex.owner_died());
}

// With what each of them is: the lock, an std::unique_lock, a guard; taken by a thread or by a hold.
template <class Lock, class Held>
static void times_out(turnlock::condition &changed, Lock &lock, Held &held)
{
    const auto token = lock.fencing_token();
    const auto began = std::chrono::steady_clock::now();
    EXPECT(changed.wait_for(held, 10ms) == std::cv_status::timeout);
    EXPECT(changed.wait_until(held, std::chrono::steady_clock::now() + 10ms) == std::cv_status::timeout);
    EXPECT(!changed.wait_for(held, 10ms, [] { return false; }));
    EXPECT(!changed.wait_until(held, std::chrono::system_clock::now() + 10ms, [] { return false; }));
    EXPECT(std::chrono::steady_clock::now() - began >= 30ms);
    EXPECT(changed.wait_for(held, -1h, [] { return true; }));
    EXPECT(changed.wait_for(held, -1h) == std::cv_status::timeout);
    EXPECT(lock.fencing_token() > token);
    std::error_code code;
    EXPECT(changed.wait_for(held, 1ms, code) == std::cv_status::timeout && !code);
    // A wait without a limit, as far as anyone can say, that another thread ends by its notification.
    std::thread other([&] {
        testing::until_asleep(changed, 1);
        EXPECT(changed.notify_one() == 1);
    });
    EXPECT(changed.wait_for(held, std::chrono::hours::max()) == std::cv_status::no_timeout);
    other.join();
}

TEST(a_condition_waits_with_every_lock_that_can_be_held_exclusively)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    turnlock::recursive_mutex recursive(file, "recursive");
    turnlock::shared_mutex shared(file, "shared");
    turnlock::condition changed(file, "changed"), changed_too(file, "changed too"), changed_three(file, "changed three");
    {
        std::unique_lock lock(mutex);
        times_out(changed, mutex, lock);
        times_out(changed, mutex, mutex);
        EXPECT(lock.owns_lock());
    }
    {
        turnlock::guard lock(mutex);
        times_out(changed, mutex, lock);
    }
    {
        turnlock::hold task(file);
        auto mine = turnlock::by(task, mutex);
        std::unique_lock lock(mine);
        times_out(changed, mine, lock);
    }
    {
        std::unique_lock lock(shared);
        times_out(changed_too, shared, lock);
    }
    recursive.lock();
    recursive.lock();
    times_out(changed_three, recursive, recursive);
    recursive.unlock();
    std::thread([&] { EXPECT(!recursive.try_lock()); }).join();
    recursive.unlock();
    for (const auto *name : {"mutex", "recursive", "shared", "changed", "changed too", "changed three"})
        file.remove_lock(name);
}

TEST(a_wait_at_a_condition_is_cancelled_with_the_lock_held)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    turnlock::condition changed(file, "changed");
    turnlock::hold task(file);
    auto mine = turnlock::by(task, mutex);
    std::thread waiter([&] {
        std::unique_lock lock(mine);
        EXPECT_FAILURE(changed.wait(lock), std::errc::operation_canceled);
        EXPECT(lock.owns_lock() && mutex.holder());
    });
    testing::until_asleep(changed, 1);
    task.cancel();
    waiter.join();
    EXPECT(!mutex.holder());
}

TEST(misuse_of_a_condition)
{
    turnlock::file file("lock"), second("second");
    turnlock::mutex mutex(file, "mutex"), other(file, "other"), foreign(second, "mutex");
    turnlock::shared_mutex shared(file, "shared");
    turnlock::condition changed(file, "changed");
    std::unique_lock deferred(mutex, std::defer_lock);
    EXPECT_FAILURE(changed.wait(deferred), errc::not_owner);
    EXPECT(story_of([&] { changed.wait(deferred); }).find("lock it before the wait") != std::string::npos);
    EXPECT_FAILURE(changed.wait(mutex), errc::not_owner);
    EXPECT_FAILURE(turnlock::condition().wait(mutex), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::condition().notify_one(), errc::invalid_argument);
    foreign.lock();
    EXPECT_FAILURE(changed.wait(foreign), errc::invalid_argument);
    foreign.unlock();
    shared.lock_shared();
    EXPECT_FAILURE(changed.wait(shared), errc::not_exclusive);
    shared.unlock_shared();
    EXPECT_FAILURE(turnlock::condition(file, "mutex"), errc::kind);
    EXPECT_FAILURE(turnlock::condition(file, std::string("a\0b", 3)), errc::bad_name);
    turnlock::condition_options options;
    options.must_exist = true;
    EXPECT_FAILURE(turnlock::condition(file, "none", options), errc::not_found);
    // With one lock at a time.
    std::thread waiter([&] {
        std::unique_lock lock(mutex);
        changed.wait(lock);
    });
    testing::until_asleep(changed, 1);
    other.lock();
    EXPECT(story_of([&] { changed.wait(other); }).find("another lock") != std::string::npos);
    other.unlock();
    EXPECT_FAILURE(file.remove_lock("changed"), errc::in_use);
    changed.notify_all();
    waiter.join();
    file.remove_lock("changed");
    EXPECT_FAILURE(changed.notify_one(), errc::not_found);
    std::unique_lock lock(mutex);
    EXPECT_FAILURE(changed.wait(lock), errc::not_found);
    EXPECT(lock.owns_lock());
}

// A lock that was closed for everyone meanwhile: the unique_lock has none any more, and unlocks nothing.
TEST(a_lock_that_cannot_be_taken_again_is_not_owned)
{
    turnlock::file file("lock");
    turnlock::mutex_options options;
    options.on_death = turnlock::death_policy::inform;
    turnlock::mutex mutex(file, "mutex", options);
    turnlock::condition changed(file, "changed");
    std::thread waiter([&] {
        std::unique_lock lock(mutex);
        EXPECT_FAILURE(changed.wait(lock), errc::not_recoverable);
        EXPECT(!lock.owns_lock() && !lock.mutex());
    });
    testing::until_asleep(changed, 1);
    mutex.lock();
    mutex.abandon();
    mutex.lock();
    mutex.unlock();
    EXPECT(changed.notify_one() == 1);
    waiter.join();
    EXPECT(changed.waiters().empty());
}

TEST(an_event_lets_all_go_that_wait_and_the_dead_disturb_nothing)
{
    turnlock::file file("lock");
    turnlock::event ready(file, "ready");
    EXPECT(!ready.is_set());
    EXPECT(!ready.wait_for(10ms) && !ready.wait_until(std::chrono::system_clock::now() + 10ms) && !ready.wait_for(-1h));
    std::vector<pid_t> children;
    for (int child = 0; child < 3; ++child)
        children.push_back(testing::start([&] { ready.wait(); }));
    testing::until_asleep(ready, 3);
    testing::kill_child(children.back());
    children.pop_back();
    ready.set();
    ready.clear();
    for (const auto child : children)
        EXPECT(testing::ended_well(child));
    EXPECT(!ready.is_set());
    ready.set();
    ready.set();
    EXPECT(ready.is_set() && ready.wait_for(0s) && ready.wait_until(std::chrono::steady_clock::time_point::min()));
    ready.wait();
}

TEST(a_wait_for_an_event_is_cancelled)
{
    turnlock::file file("lock");
    turnlock::event ready(file, "ready");
    turnlock::hold its;
    std::atomic<bool> is_there{false};
    std::thread waiter([&] {
        its = turnlock::hold::of_thread(file);
        is_there = true;
        EXPECT_FAILURE(ready.wait(), errc::cancelled);
    });
    while (!is_there)
        std::this_thread::yield();
    its.cancel();
    waiter.join();
}

TEST(a_barrier_lets_all_go_on_when_the_last_one_has_come)
{
    constexpr unsigned parties = 3, rounds = 200;
    struct counts {
        std::atomic<unsigned> come{0}, last{0};
    };
    turnlock::file file("lock");
    turnlock::barrier stage(file, "stage", parties);
    auto &seen = shared_data<counts>();
    std::vector<pid_t> children;
    for (unsigned child = 0; child < parties; ++child)
        children.push_back(testing::start([&] {
            for (unsigned round = 1; round <= rounds; ++round) {
                ++seen.come;
                seen.last += stage.wait();
                EXPECT(seen.come >= round * parties);
                stage.arrive_and_wait();
            }
        }));
    for (const auto child : children)
        EXPECT(testing::ended_well(child));
    EXPECT(seen.last == rounds);
    EXPECT(stage.parties() == parties && stage.waiting() == 0 && !stage.is_broken());
}

TEST(the_death_of_a_party_breaks_a_barrier_and_is_named)
{
    turnlock::file file("lock");
    turnlock::barrier stage(file, "stage", 3);
    const auto doomed = testing::start([&] { stage.wait(); });
    testing::until_asleep(stage, 1);
    const auto name = "process " + std::to_string(doomed);
    const auto waits = testing::start([&] { EXPECT(story_of([&] { stage.wait(); }).find(name) != std::string::npos); });
    testing::until_asleep(stage, 2);
    EXPECT(stage.waiting() == 2);
    testing::kill_child(doomed);
    EXPECT(testing::ended_well(waits));
    EXPECT_FAILURE(stage.wait(), errc::broken_barrier);
    EXPECT(stage.is_broken() && stage.parties() == 3);
    stage.reset();
    EXPECT(!stage.is_broken());
}

TEST(a_barrier_breaks_by_a_limit_by_an_abort_and_by_a_reset)
{
    turnlock::file file("lock");
    turnlock::barrier stage(file, "stage", 2);
    const auto broken_by = [&](auto breaks) {
        std::thread other([&] { EXPECT_FAILURE(stage.wait(), errc::broken_barrier); });
        testing::until_asleep(stage, 1);
        breaks();
        other.join();
        stage.reset();
    };
    EXPECT_FAILURE(stage.wait_for(10ms), std::errc::timed_out);
    stage.reset();
    broken_by([&] { stage.abort(); });
    broken_by([&] { stage.reset(); });
    std::error_code code;
    stage.abort(code);
    EXPECT(!stage.wait_for(1h, code) && code == errc::broken_barrier);
    EXPECT_FAILURE(turnlock::barrier(file, "stage", 3), errc::kind);
    EXPECT_FAILURE(turnlock::barrier(file, "stage", 5000), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::barrier(file, "stage", 0), errc::invalid_argument);
    EXPECT(turnlock::barrier(file, "stage").parties() == 2);
    EXPECT_FAILURE(turnlock::barrier(file, "none"), errc::not_found);
    EXPECT_FAILURE(turnlock::barrier().wait(), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::barrier().parties(), errc::invalid_argument);
}

TEST(the_next_one_does_what_a_dead_one_was_at)
{
    turnlock::file file("lock");
    turnlock::once schema(file, "schema");
    testing::killed_inside([&] { EXPECT(schema.begin() == turnlock::once_turn::mine); });
    EXPECT(!schema.is_done());
    int times = 0;
    EXPECT(schema.call([&](bool died) { times += died; }));
    EXPECT(times == 1 && schema.is_done());
    EXPECT(!schema.call([&] { ++times; }) && !turnlock::call_once(schema, [&](int more) { times += more; }, 7) && times == 1);
    EXPECT(testing::in_child([&] { EXPECT(schema.begin() == turnlock::once_turn::done); }) == 0);
    schema.reset();
    EXPECT(turnlock::call_once(schema, [&](int more) { times += more; }, 7) && times == 8);
}

TEST(one_of_many_does_it)
{
    turnlock::file file("lock");
    turnlock::once schema(file, "schema");
    auto &times = shared_data<std::atomic<int>>();
    std::vector<pid_t> children;
    for (int child = 0; child < 5; ++child)
        children.push_back(testing::start([&] {
            schema.call([&] {
                std::this_thread::sleep_for(5ms);
                ++times;
            });
            EXPECT(times == 1);
        }));
    for (const auto child : children)
        EXPECT(testing::ended_well(child));
    EXPECT(times == 1);
}

TEST(what_fails_is_not_done)
{
    turnlock::file file("lock");
    turnlock::once schema(file, "schema");
    bool is_thrown = false;
    try {
        schema.call([] { throw std::runtime_error("half-way"); });
    } catch (const std::runtime_error &) {
        is_thrown = true;
    }
    EXPECT(is_thrown && !schema.is_done());
    EXPECT(schema.begin() == turnlock::once_turn::mine);
    EXPECT_FAILURE(schema.begin(), errc::deadlock);
    EXPECT_FAILURE(schema.close(), errc::still_held);
    std::thread([&] {
        EXPECT_FAILURE(schema.begin_for(1ms), errc::timed_out);
        EXPECT_FAILURE(schema.complete(), errc::not_owner);
        EXPECT_FAILURE(schema.give_up(), errc::not_owner);
    }).join();
    schema.give_up();
    {
        turnlock::once gone(file, "schema");
        EXPECT(gone.begin() == turnlock::once_turn::mine);
    }
    // What was destroyed is given up, and not lost.
    std::thread([&] { EXPECT(schema.begin_for(10s) == turnlock::once_turn::mine); }).join();
    EXPECT_FAILURE(turnlock::once().is_done(), errc::invalid_argument);
    turnlock::once_options options;
    options.must_exist = true;
    EXPECT_FAILURE(turnlock::once(file, "none", options), errc::not_found);
}

TEST(coordination_in_a_replaced_file_is_reopened)
{
    turnlock::file file("lock");
    turnlock::condition changed(file, "changed");
    turnlock::event ready(file, "ready");
    turnlock::barrier stage(file, "stage", 2);
    turnlock::once schema(file, "schema");
    ready.set();
    EXPECT(schema.call([] {}));
    EXPECT(std::rename("lock", "old") == 0);
    turnlock::file another("lock");
    turnlock::condition(another, "changed");
    turnlock::event(another, "ready");
    turnlock::barrier(another, "stage", 3);
    turnlock::once(another, "schema");
    ready = ready.reopen();
    stage = stage.reopen();
    schema = schema.reopen();
    changed = changed.reopen();
    EXPECT(!ready.is_set() && stage.parties() == 3 && !schema.is_done() && changed.notify_one() == 0);
}
