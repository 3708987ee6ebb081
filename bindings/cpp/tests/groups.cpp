// Group locks among threads and processes: order, deaths, what is refused.

#include "testing.hpp"

#include <limits>
#include <mutex>

using namespace std::chrono_literals;
using turnlock::errc;

template <class Play> static void elsewhere(Play play) { std::thread(play).join(); }

TEST(members_of_a_group_are_inside_together_and_none_of_another)
{
    turnlock::file file("lock");
    turnlock::group_lock lock(file, "lock");
    auto one = lock.group(1), other = lock.group(std::numeric_limits<std::uint64_t>::max());
    std::unique_lock held(one);
    EXPECT(one.fencing_token() > 0 && !one.owner_died() && !one.is_contended());
    elsewhere([&] {
        auto beside = lock.group(1);
        std::scoped_lock inside(beside);
        EXPECT(lock.holders().size() == 2 && lock.holders()[1].first == 1);
    });
    elsewhere([&] { EXPECT(!other.try_lock() && !other.try_lock_for(1ms)); });
    EXPECT(testing::in_child([] {
               turnlock::file own("lock");
               turnlock::group_lock again(own, "lock");
               if (!again.group(1).try_lock() || again.group(2).try_lock())
                   std::_Exit(1);
               again.group(1).unlock();
               if (again.group(2).try_lock())
                   std::_Exit(2);
           }) == 0);
    EXPECT_FAILURE(lock.group(1).lock(), errc::deadlock);
    EXPECT_FAILURE(other.lock(), errc::deadlock);
    EXPECT(!other.try_lock());
    EXPECT_FAILURE(lock.close(), errc::still_held);
    held.unlock();
    std::scoped_lock alone(other);
    EXPECT(lock.holders().size() == 1 && lock.holders()[0].first == std::numeric_limits<std::uint64_t>::max());
}

// First come first served: also its own group does not pass the one that waits.
TEST(a_later_member_waits_behind_another_group)
{
    turnlock::file file("lock");
    turnlock::group_lock lock(file, "lock");
    turnlock::hold first(file), second(file), third(file);
    auto one = lock.group(first, 1);
    one.lock();
    std::thread waits([&] {
        auto two = lock.group(second, 2);
        std::scoped_lock inside(two);
    });
    while (lock.waiters().empty())
        std::this_thread::sleep_for(1ms);
    EXPECT(lock.waiters()[0].first == 2);
    EXPECT(!lock.group(third, 1).try_lock());
    // Not before the waiter parks.
    while (!one.is_contended())
        std::this_thread::sleep_for(1ms);
    one.unlock();
    waits.join();
    EXPECT(lock.group(third, 1).try_lock());
}

TEST(a_death_is_told_in_every_group_until_it_is_marked)
{
    turnlock::file file("lock");
    turnlock::parts_options options;
    options.on_death = turnlock::death_policy::inform;
    turnlock::group_lock lock(file, "lock", options);
    auto one = lock.group(1), two = lock.group(2);
    EXPECT(!lock.last_dead_owner());
    one.lock();
    EXPECT_FAILURE(one.mark_consistent(), errc::not_inconsistent);
    one.unlock();
    testing::killed_inside([&] { lock.group(1).lock(); });
    for (auto *group : {&two, &one}) {
        group->lock();
        EXPECT(group->owner_died() && lock.last_dead_owner()->pid == group->dead_owner_pid());
        // Not marked, and nothing is closed.
        group->unlock();
    }
    two.lock();
    elsewhere([&] {
        auto beside = lock.group(2);
        std::scoped_lock inside(beside);
        EXPECT(beside.owner_died());
        beside.mark_consistent();
    });
    EXPECT_FAILURE(two.mark_consistent(), errc::not_inconsistent);
    two.unlock();
    one.lock();
    EXPECT(!one.owner_died());
    one.abandon();
    two.lock();
    EXPECT(two.owner_died());
    EXPECT_FAILURE(lock.reset(), errc::deadlock);
    elsewhere([&] { EXPECT(!lock.try_reset() && !lock.try_reset_for(1ms)); });
    two.unlock();
    lock.reset();
    two.lock();
    EXPECT(!two.owner_died());
    two.unlock();
    EXPECT_FAILURE(
        [&] {
            turnlock::guard inside(one);
            throw std::system_error(make_error_code(errc::cancelled));
        }(),
        errc::cancelled);
    EXPECT(two.try_lock() && two.owner_died());
    two.mark_consistent();
    two.unlock();
}

TEST(a_member_leaves_its_own_group_only)
{
    turnlock::file file("lock");
    turnlock::group_lock lock(file, "lock");
    turnlock::hold task(file), spare(file);
    const auto refused = [&](auto &&other) {
        std::error_code code;
        EXPECT_FAILURE(other.unlock(), errc::not_owner);
        EXPECT_FAILURE(other.abandon(), errc::not_owner);
        EXPECT_FAILURE(other.mark_consistent(), errc::not_owner);
        other.unlock(code);
        EXPECT(code == errc::not_owner);
        other.abandon(code);
        EXPECT(code == errc::not_owner);
        other.mark_consistent(code);
        EXPECT(code == errc::not_owner && lock.holders().size() == 1);
    };
    auto one = lock.group(1), two = lock.group(2);
    two.lock();
    two.unlock();
    one.lock();
    refused(two);
    refused(lock.group(2));
    // Any object of the group leaves.
    lock.group(1).unlock();
    EXPECT(lock.holders().empty());
    auto by_task = lock.group(task, 1);
    by_task.lock();
    refused(lock.group(task, 2));
    lock.group(task, 1).unlock();
    EXPECT(lock.holders().empty());
    auto begun = lock.group(spare, 7);
    turnlock::pending(begun).finish().unlock();
    EXPECT(lock.holders().empty());
}

TEST(bad_input_to_group_locks)
{
    turnlock::file file("lock");
    for (const std::string &name : {std::string(), std::string("a\0b", 3), std::string(64, 'n')})
        EXPECT_FAILURE(turnlock::group_lock(file, name), errc::bad_name);
    turnlock::group_lock lock(file, "groups");
    EXPECT_FAILURE(turnlock::keyed_lock(file, "groups"), errc::kind);
    turnlock::parts_options existing;
    existing.must_exist = true;
    EXPECT_FAILURE(turnlock::group_lock(file, "absent", existing), errc::not_found);
    std::error_code code;
    EXPECT(!turnlock::group_lock::open(file, "absent", existing, code).native_handle() && code == errc::not_found);
    EXPECT_FAILURE(lock.group(1).unlock(), errc::not_owner);
    EXPECT_FAILURE(lock.group(1).abandon(), errc::not_owner);
    EXPECT_FAILURE(lock.group(1).mark_consistent(), errc::not_owner);
    auto one = lock.group(1);
    std::scoped_lock held(one);
    elsewhere([&] { EXPECT_FAILURE(one.unlock(), errc::not_owner); });
    EXPECT(testing::in_child([&] {
               std::error_code not_ours;
               one.unlock(not_ours);
               std::_Exit(not_ours == errc::not_owner ? 0 : 1);
           }) == 0);
    EXPECT_FAILURE(turnlock::group_lock().group(1).lock(), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::group_lock().holders(), errc::invalid_argument);
}
