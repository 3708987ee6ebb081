// Ranges, keys and groups.

#include "testing.hpp"

#include <mutex>
#include <shared_mutex>

using namespace std::chrono_literals;
using turnlock::errc;

template <class Play> static void elsewhere(Play play) { std::thread(play).join(); }

TEST(ranges_that_overlap_exclude_each_other_and_others_do_not)
{
    turnlock::file file("lock");
    turnlock::range_lock lock(file, "lock");
    auto first = lock.range(0, 10), overlap = lock.range(9, 20), beside = lock.range(10, turnlock::range_end);
    std::unique_lock held(first);
    elsewhere([&] {
        EXPECT(!overlap.try_lock() && !overlap.try_lock_for(1ms) && !overlap.try_lock_shared());
        EXPECT(!overlap.try_lock_shared_for(1ms));
        std::scoped_lock other(beside);
        EXPECT(lock.holders().size() == 2);
        EXPECT(!beside.is_contended());
    });
    EXPECT(lock.holders()[0].first == 0 && lock.holders()[0].last == 9);
    EXPECT_FAILURE(overlap.lock(), errc::deadlock);
    EXPECT_FAILURE(lock.close(), errc::still_held);
    std::scoped_lock also(beside);
    held.unlock();
    std::shared_lock reader(first);
    elsewhere([&] {
        auto inner = lock.range(5, 7);
        EXPECT(std::shared_lock(inner, std::try_to_lock).owns_lock() && std::shared_lock(inner, 1s).owns_lock());
        EXPECT(!inner.try_lock());
    });
}

TEST(keys_are_independent_of_each_other)
{
    turnlock::file file("lock");
    turnlock::keyed_lock lock(file, "lock");
    auto mine = lock.key(std::string("a\0b", 3)), same = lock.key(std::string("a\0b", 3)), other = lock.key("a");
    auto empty = lock.key("");
    std::scoped_lock held(mine, other, empty);
    elsewhere([&] {
        EXPECT(!same.try_lock() && !same.try_lock_for(1ms) && !same.try_lock_shared());
        auto another = lock.key("another");
        EXPECT(another.lock_shared().fencing_token <= mine.fencing_token() + other.fencing_token() + 100);
        another.unlock_shared();
    });
    EXPECT(lock.holders().size() == 3 && lock.waiters().empty());
    for (const auto &holder : lock.holders()) {
        const auto key = turnlock::key_of(holder);
        EXPECT(key.empty() || key == "a" || key == std::string("a\0b", 3));
        EXPECT(key.empty() == ((holder.flags & TURNLOCK_INFO_WHOLE_KEY) == 0));
        EXPECT(key != "a" || holder.fencing_token == other.fencing_token());
    }
}

TEST(a_key_that_is_long_is_shown_in_part)
{
    turnlock::file file("lock");
    turnlock::keyed_lock lock(file, "lock");
    for (const std::size_t length : {47, 48}) {
        auto key = lock.key(std::string(length, 'k'));
        std::scoped_lock held(key);
        const auto holder = lock.holders().at(0);
        EXPECT(turnlock::key_of(holder) == std::string(47, 'k'));
        EXPECT(((holder.flags & TURNLOCK_INFO_WHOLE_KEY) != 0) == (length == 47));
    }
}

static turnlock::parts_options that_inform()
{
    turnlock::parts_options options;
    options.on_death = turnlock::death_policy::inform;
    return options;
}

template <class Lock, class Part, class Other> static void a_dead_owner_concerns_its_part(Lock &lock, Part mine, Other other)
{
    EXPECT(!lock.last_dead_owner());
    testing::killed_inside([&] { mine.lock(); });
    other.lock();
    EXPECT(!other.owner_died());
    EXPECT_FAILURE(other.mark_consistent(), errc::not_inconsistent);
    other.unlock();
    mine.lock();
    EXPECT(mine.owner_died() && lock.last_dead_owner()->pid == mine.dead_owner_pid());
    mine.unlock();
    EXPECT(mine.lock_shared().owner_died);
    mine.unlock_shared();
    mine.lock();
    EXPECT(mine.owner_died());
    mine.mark_consistent();
    mine.unlock();
    mine.lock();
    EXPECT(!mine.owner_died());
    mine.unlock();
    testing::killed_inside([&] { mine.lock(); });
    mine.lock();
    EXPECT(mine.owner_died());
    EXPECT_FAILURE(lock.reset(), errc::deadlock);
    elsewhere([&] { EXPECT(!lock.try_reset() && !lock.try_reset_for(1ms)); });
    mine.unlock();
    EXPECT(lock.try_reset() && lock.try_reset_for(0s));
    lock.reset();
    mine.lock();
    EXPECT(!mine.owner_died());
    mine.unlock();
}

TEST(a_dead_owner_of_a_range_concerns_that_range)
{
    turnlock::file file("lock");
    turnlock::range_lock lock(file, "lock", that_inform());
    a_dead_owner_concerns_its_part(lock, lock.range(5, 8), lock.range(8, 9));
}

TEST(a_dead_owner_of_a_key_concerns_that_key)
{
    turnlock::file file("lock");
    turnlock::keyed_lock lock(file, "lock", that_inform());
    a_dead_owner_concerns_its_part(lock, lock.key("mine"), lock.key("other"));
}

TEST(a_hold_has_a_part_that_another_thread_lets_go)
{
    turnlock::file file("lock");
    turnlock::range_lock lock(file, "lock");
    turnlock::hold task(file), another(file);
    auto part = lock.range(task, 0, 10);
    std::unique_lock held(part);
    EXPECT(!lock.range(another, 0, 1).try_lock() && !lock.range(0, 1).try_lock_shared());
    EXPECT_FAILURE(lock.range(another, 0, 10).unlock(), errc::not_owner);
    elsewhere([&] { held.unlock(); });
    EXPECT(lock.range(another, 0, 1).try_lock());
    turnlock::keyed_lock keys(file, "keys");
    auto key = keys.key(task, "key");
    std::scoped_lock has(key);
    EXPECT(!keys.key("key").try_lock());
}

TEST(bad_input_to_ranges_and_keys)
{
    turnlock::file file("lock");
    for (const std::string &name : {std::string(), std::string("a\0b", 3), std::string(64, 'n')}) {
        EXPECT_FAILURE(turnlock::range_lock(file, name), errc::bad_name);
        EXPECT_FAILURE(turnlock::keyed_lock(file, name), errc::bad_name);
    }
    turnlock::range_lock ranges(file, "ranges");
    turnlock::keyed_lock keys(file, "keys");
    EXPECT_FAILURE(turnlock::keyed_lock(file, "ranges"), errc::kind);
    turnlock::parts_options existing;
    existing.must_exist = true;
    EXPECT_FAILURE(turnlock::range_lock(file, "absent", existing), errc::not_found);
    for (const auto &[start, end] : {std::pair(5ull, 5ull), std::pair(6ull, 5ull), std::pair(0ull, 0ull)}) {
        EXPECT_FAILURE(ranges.range(start, end).lock(), errc::empty_range);
        EXPECT_FAILURE(ranges.range(start, end).lock_shared(), errc::empty_range);
        EXPECT_FAILURE(static_cast<void>(ranges.range(start, end).try_lock()), errc::empty_range);
    }
    EXPECT_FAILURE(ranges.range(0, 1).unlock(), errc::not_owner);
    EXPECT_FAILURE(ranges.range(0, 1).mark_consistent(), errc::not_owner);
    EXPECT_FAILURE(keys.key("key").unlock(), errc::not_owner);
    auto part = ranges.range(0, 10);
    std::scoped_lock held(part);
    EXPECT_FAILURE(ranges.range(0, 9).unlock(), errc::not_owner);
    elsewhere([&] { EXPECT_FAILURE(part.unlock(), errc::not_owner); });
    EXPECT_FAILURE(turnlock::range_lock().range(0, 1).lock(), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::keyed_lock().key("key").lock_shared(), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::keyed_lock().holders(), errc::invalid_argument);
}

TEST(members_of_one_group_are_inside_together)
{
    turnlock::file file("lock");
    turnlock::group_lock lock(file, "lock");
    auto mine = lock.group(7), same = lock.group(7), other = lock.group(8);
    std::unique_lock held(mine);
    EXPECT(mine.number() == 7 && lock.holders()[0].first == 7);
    elsewhere([&] {
        EXPECT(!other.try_lock() && !other.try_lock_for(1ms));
        std::scoped_lock beside(same);
        EXPECT(lock.holders().size() == 2 && !same.is_contended());
    });
    // A thread is inside once, whichever the group.
    EXPECT_FAILURE(other.lock(), errc::deadlock);
    EXPECT_FAILURE(lock.close(), errc::still_held);
    turnlock::hold by_one(file), by_another(file);
    auto by_hold = lock.group(by_one, 7), kept_out = lock.group(by_another, 8);
    std::unique_lock also(by_hold);
    EXPECT(!kept_out.try_lock());
    held.unlock();
    elsewhere([&] { also.unlock(); });
    EXPECT(kept_out.try_lock());
    kept_out.unlock();
    EXPECT(lock.reopen().holders().empty());
}

TEST(a_death_in_a_group_is_told_to_each_until_it_is_marked)
{
    turnlock::file file("lock");
    turnlock::group_lock lock(file, "lock", that_inform());
    elsewhere([&] {
        auto first = lock.group(1);
        first.lock();
        first.abandon();
    });
    for (const std::uint64_t number : {2U, 1U}) {
        auto told = lock.group(number);
        std::scoped_lock inside(told);
        EXPECT(told.owner_died());
        if (number == 1)
            told.mark_consistent();
    }
    auto after = lock.group(2);
    std::scoped_lock inside(after);
    EXPECT(!after.owner_died() && lock.last_dead_owner().has_value());
    EXPECT_FAILURE(after.mark_consistent(), errc::not_inconsistent);
}

TEST(a_group_lock_is_of_its_own_kind)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    EXPECT_FAILURE(turnlock::group_lock(file, "mutex"), errc::kind);
    turnlock::parts_options options;
    options.must_exist = true;
    EXPECT_FAILURE(turnlock::group_lock(file, "none", options), errc::not_found);
    turnlock::hold closed;
    turnlock::group_lock lock(file, "lock");
    auto by_none = lock.group(closed, 1);
    EXPECT_FAILURE(by_none.lock(), errc::invalid_argument);
}
