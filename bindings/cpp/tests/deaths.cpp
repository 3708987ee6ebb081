// A holder that dies inside is told of, and the lock is not lost over it.

#include "testing.hpp"

#include <mutex>
#include <stdexcept>

template <class Lock, class Options> static void told_of_a_death(const turnlock::file &file)
{
    Options options;
    options.on_death = turnlock::death_policy::inform;
    Lock lock(file, "lock", options);
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
    told_of_a_death<turnlock::mutex, turnlock::mutex_options>(labelled());
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
    told_of_a_death<turnlock::turn_ring, turnlock::ring_options>(labelled());
}

TEST(unlocking_without_a_repair_closes_the_lock_until_a_reset)
{
    turnlock::file file("lock");
    turnlock::mutex_options options;
    options.on_death = turnlock::death_policy::inform;
    turnlock::mutex mutex(file, "mutex", options);
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
    options.on_death = turnlock::death_policy::release;
    turnlock::mutex mutex(file, "mutex", options);
    testing::killed_inside([&] { mutex.lock(); });
    mutex.lock();
    EXPECT(mutex.owner_died());
    mutex.unlock();
    mutex.lock();
}

// A guard does not show the notice, so nothing is closed over it.
template <class Lock> static void guards_go_on(const turnlock::file &file, const char *name)
{
    Lock lock(file, name);
    for (int death = 0; death < 2; ++death) {
        testing::killed_inside([&] { lock.lock(); });
        for (int turn = 0; turn < 3; ++turn) {
            std::lock_guard guard(lock);
            EXPECT(lock.owner_died() == (turn == 0));
        }
    }
}

TEST(guards_that_ask_for_nothing_go_on_after_a_death)
{
    turnlock::file file("lock");
    guards_go_on<turnlock::mutex>(file, "mutex");
    guards_go_on<turnlock::recursive_mutex>(file, "recursive");
    guards_go_on<turnlock::turn_ring>(file, "ring");
    guards_go_on<turnlock::shared_mutex>(file, "shared");
}

// What `policy` says of a lock is what it has, or an error; what is not said is what it has.
template <class Lock, class Options> static void a_policy_is_the_locks(const turnlock::file &file, const std::string &name)
{
    using turnlock::death_policy;
    for (const auto policy : {death_policy::any, death_policy::inform, death_policy::release}) {
        const std::string own = name + std::to_string(static_cast<int>(policy));
        Options options;
        options.on_death = policy;
        Lock created(file, own, options);
        Lock usual(file, own);
        Lock same(file, own, options);
        options.on_death = policy == death_policy::inform ? death_policy::release : death_policy::inform;
        EXPECT_FAILURE(Lock(file, own, options), turnlock::errc::kind);
    }
}

template <class Lock, class Options> static void a_patience_is_the_locks(const turnlock::file &file, const std::string &name)
{
    Options strict, patient;
    strict.strict = true;
    patient.patience = std::chrono::milliseconds(3);
    Lock first(file, name + " strict", strict);
    Lock second(file, name + " patient", patient);
    EXPECT_FAILURE(Lock(file, name + " strict", patient), turnlock::errc::kind);
    EXPECT_FAILURE(Lock(file, name + " patient", strict), turnlock::errc::kind);
    Lock again(file, name + " strict", strict);
    Lock usual(file, name + " patient");
}

TEST(settings_that_are_asked_for_are_the_locks_or_an_error)
{
    turnlock::file file("lock");
    a_policy_is_the_locks<turnlock::mutex, turnlock::mutex_options>(file, "mutex");
    a_policy_is_the_locks<turnlock::recursive_mutex, turnlock::mutex_options>(file, "recursive");
    a_policy_is_the_locks<turnlock::turn_ring, turnlock::ring_options>(file, "ring");
    a_policy_is_the_locks<turnlock::shared_mutex, turnlock::shared_mutex_options>(file, "shared");
    a_policy_is_the_locks<turnlock::range_lock, turnlock::parts_options>(file, "ranges");
    a_policy_is_the_locks<turnlock::keyed_lock, turnlock::parts_options>(file, "keys");
    a_policy_is_the_locks<turnlock::group_lock, turnlock::parts_options>(file, "groups");
    a_patience_is_the_locks<turnlock::mutex, turnlock::mutex_options>(file, "mutex");
    a_patience_is_the_locks<turnlock::shared_mutex, turnlock::shared_mutex_options>(file, "shared");
    a_patience_is_the_locks<turnlock::semaphore, turnlock::semaphore_options>(file, "semaphore");
}

// As where a program in C has created the lock, which informs.
TEST(a_lock_that_informs_is_taken_without_asking)
{
    turnlock::file file("lock");
    turnlock_mutex *in_c = nullptr;
    EXPECT(turnlock_mutex_open(file.native_handle(), "mutex", nullptr, &in_c) == TURNLOCK_OK);
    EXPECT(turnlock_mutex_close(in_c) == TURNLOCK_OK);
    turnlock::mutex mutex(file, "mutex");
    testing::killed_inside([&] { mutex.lock(); });
    mutex.lock();
    EXPECT(mutex.owner_died());
    mutex.mark_consistent();
    mutex.unlock();
    turnlock::mutex_options options;
    options.on_death = turnlock::death_policy::inform;
    turnlock::mutex same(file, "mutex", options);
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
