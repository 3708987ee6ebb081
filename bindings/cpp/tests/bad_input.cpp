// What is wrong is a std::system_error that says what; nothing crashes.

#include "testing.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <mutex>

using namespace std::chrono_literals;
using turnlock::errc;

TEST(paths_and_names_that_cannot_be)
{
    EXPECT_FAILURE(turnlock::file(static_cast<const char *>(nullptr)), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::file(std::string("a\0b", 3)), std::errc::invalid_argument);
    EXPECT_FAILURE(turnlock::file("no/such/folder"), errc::not_found);
    std::ofstream("text") << std::string(10000, 'x');
    EXPECT_FAILURE(turnlock::file("text"), errc::not_a_lock_file);
    turnlock::file file("lock");
    EXPECT(file.path() == std::string(get_current_dir_name()) + "/lock");
    const std::string long_name(64, 'n');
    for (const std::string &name : {std::string(), std::string("a\0b", 3), long_name, std::string("\xff")}) {
        EXPECT_FAILURE(turnlock::mutex(file, name), errc::bad_name);
        EXPECT_FAILURE(turnlock::turn_ring(file, name), errc::bad_name);
        EXPECT_FAILURE(file.remove_lock(name), errc::bad_name);
    }
    EXPECT_FAILURE(turnlock::mutex(file, static_cast<const char *>(nullptr)), std::errc::invalid_argument);
    turnlock::hold_options options;
    options.label = std::string("a\0b", 3);
    EXPECT_FAILURE(turnlock::hold(file, options), errc::invalid_argument);
    options.label = "\xff";
    EXPECT_FAILURE(turnlock::hold(file, options), errc::invalid_argument);
}

TEST(options_that_cannot_be)
{
    turnlock::file_options options;
    options.participants = 5000;
    EXPECT_FAILURE(turnlock::file("lock", options), errc::invalid_argument);
    options.participants = 0;
    options.must_exist = true;
    EXPECT_FAILURE(turnlock::file("lock", options), errc::not_found);
    options.must_exist = false;
    options.mode = 0666;
    EXPECT_FAILURE(turnlock::file("lock", options), errc::invalid_argument);
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    EXPECT_FAILURE(turnlock::turn_ring(file, "mutex"), errc::kind);
    EXPECT_FAILURE(turnlock::recursive_mutex(file, "mutex"), errc::kind);
    turnlock::mutex_options must_exist;
    must_exist.must_exist = true;
    EXPECT_FAILURE(turnlock::mutex(file, "another", must_exist), errc::not_found);
    turnlock::ring_options ring;
    ring.step = 2;
    ring.algorithm = turnlock::ring_algorithm::sum;
    EXPECT_FAILURE(turnlock::turn_ring(file, "ring", ring), errc::invalid_argument);
}

// No object: not opened, moved from, closed.
TEST(objects_without_a_handle)
{
    turnlock::file none;
    turnlock::mutex unopened;
    EXPECT(!none.is_open());
    EXPECT_FAILURE(none.path(), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::mutex(none, "mutex"), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::hold{none}, errc::invalid_argument);
    EXPECT_FAILURE(turnlock::hold::of_thread(none), errc::invalid_argument);
    EXPECT_FAILURE(unopened.lock(), errc::invalid_argument);
    EXPECT_FAILURE(unopened.try_lock(), errc::invalid_argument);
    EXPECT_FAILURE(unopened.unlock(), errc::invalid_argument);
    EXPECT_FAILURE(unopened.waiters(), errc::invalid_argument);
    EXPECT_FAILURE(unopened.holder(), errc::invalid_argument);
    EXPECT_FAILURE(unopened.reset(), errc::invalid_argument);
    EXPECT_FAILURE(unopened.reopen(), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::hold().cancel(), errc::invalid_argument);

    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    turnlock::mutex moved(std::move(mutex));
    EXPECT_FAILURE(mutex.lock(), errc::invalid_argument); // NOLINT: a use after a move is what is tried
    moved.lock();
    EXPECT_FAILURE(moved.close(), errc::still_held);
    moved.unlock();
    moved.close();
    EXPECT_FAILURE(moved.lock(), errc::invalid_argument);
    moved.close();
    file.close();
    file.close();
    EXPECT_FAILURE(turnlock::mutex(file, "mutex"), errc::invalid_argument);
}

// A hold that is not open is no hold, and not the calling thread.
TEST(parts_by_a_hold_without_a_handle)
{
    turnlock::file file("lock");
    turnlock::range_lock ranges(file, "ranges");
    turnlock::keyed_lock keys(file, "keys");
    turnlock::hold closed(file);
    closed.close();
    const turnlock::hold unopened;
    for (const turnlock::hold *hold : {&unopened, static_cast<const turnlock::hold *>(&closed)}) {
        auto range = ranges.range(*hold, 0, 10);
        auto key = keys.key(*hold, "key");
        EXPECT_FAILURE(range.lock(), errc::invalid_argument);
        EXPECT_FAILURE(range.lock_shared(), errc::invalid_argument);
        EXPECT_FAILURE((void)range.try_lock(), errc::invalid_argument);
        EXPECT_FAILURE((void)key.try_lock_for(1ms), errc::invalid_argument);
        EXPECT_FAILURE(key.unlock(), errc::invalid_argument);
        EXPECT_FAILURE(key.mark_consistent(), errc::invalid_argument);
        EXPECT_FAILURE((void)key.is_contended(), errc::invalid_argument);
    }
    EXPECT(ranges.holders().empty());
    EXPECT(keys.holders().empty());
}

TEST(misuse_of_a_lock)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    EXPECT_FAILURE(mutex.unlock(), std::errc::operation_not_permitted);
    EXPECT_FAILURE(mutex.abandon(), errc::not_owner);
    EXPECT_FAILURE(mutex.mark_consistent(), errc::not_owner);
    EXPECT_FAILURE(mutex.is_contended(), errc::not_owner);
    mutex.lock();
    EXPECT_FAILURE(mutex.lock(), std::errc::resource_deadlock_would_occur);
    EXPECT(!mutex.try_lock());
    EXPECT_FAILURE(file.remove_lock("mutex"), errc::in_use);
    std::thread([&] { EXPECT_FAILURE(mutex.unlock(), errc::not_owner); }).join();
    mutex.unlock();
    file.remove_lock("mutex");
    EXPECT_FAILURE(mutex.lock(), errc::not_found);
}

TEST(times_that_cannot_be)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    std::lock_guard held(mutex);
    std::thread([&] {
        EXPECT(!mutex.try_lock_for(std::chrono::hours::min()));
        EXPECT(!mutex.try_lock_for(0ns));
        EXPECT(!mutex.try_lock_for(std::chrono::duration<double>(std::nan(""))));
        EXPECT(!mutex.try_lock_until(std::chrono::steady_clock::time_point::min()));
    }).join();
    // Huge ones wait until they are cancelled.
    for (const auto time : {std::chrono::duration<double>(1e300), std::chrono::duration<double>(INFINITY)}) {
        turnlock::hold task(file);
        std::thread waiter([&] { EXPECT_FAILURE(turnlock::by(task, mutex).try_lock_for(time), errc::cancelled); });
        while (mutex.waiters().empty())
            std::this_thread::yield();
        task.cancel();
        waiter.join();
    }
}

TEST(a_forked_child_is_another_participant)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    turnlock::hold task(file);
    auto mine = turnlock::by(task, mutex);
    mine.lock();
    EXPECT(testing::in_child([&] {
               EXPECT_FAILURE(mutex.unlock(), errc::not_owner);
               EXPECT_FAILURE(mine.unlock(), errc::closed);
               EXPECT(!mutex.try_lock());
           }) == 0);
    mine.unlock();
}

TEST(files_by_a_descriptor)
{
    const int memory = memfd_create("turnlock", 0);
    EXPECT(fchmod(memory, 0600) == 0);
    auto file = turnlock::file::open_descriptor(memory);
    turnlock::mutex(file, "mutex").lock();
    EXPECT_FAILURE(turnlock::file::open_descriptor(-1), errc::invalid_argument);
    EXPECT_FAILURE(turnlock::file::open_descriptor(0), errc::invalid_argument);
}

TEST(an_error_code_in_the_place_of_an_exception)
{
    std::error_code code;
    EXPECT(!turnlock::file::open("no/such/folder", {}, code).is_open() && code == errc::not_found);
    auto file = turnlock::file::open("lock", {}, code);
    EXPECT(file.is_open() && !code);
    turnlock::mutex::open(file, "", {}, code);
    EXPECT(code == errc::bad_name && code.category() == turnlock::category());
    auto mutex = turnlock::mutex::open(file, "mutex", {}, code);
    EXPECT(!code);
    mutex.unlock(code);
    EXPECT(code == errc::not_owner && !code.message().empty());
    mutex.lock(code);
    EXPECT(!code && !mutex.try_lock(code) && code == errc::deadlock);
    std::thread([&] {
        EXPECT(!mutex.try_lock(code) && !code);
        EXPECT(!mutex.try_lock_for(1ms, code) && !code);
    }).join();
    std::string story;
    try {
        mutex.lock();
    } catch (const std::system_error &error) {
        story = error.what();
    }
    EXPECT(story.find(turnlock_status_text(TURNLOCK_ERROR_DEADLOCK)) != std::string::npos);
}

TEST(a_replaced_file_is_reopened)
{
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    EXPECT(std::rename("lock", "old") == 0);
    turnlock::file another("lock");
    turnlock::mutex theirs(another, "mutex");
    theirs.lock();
    mutex = mutex.reopen();
    std::thread([&] { EXPECT(!mutex.try_lock()); }).join();
}
