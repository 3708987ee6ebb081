// With -fno-exceptions: error codes, and the failure handler for what has none.

#include <turnlock.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

static_assert(!TURNLOCK_HAS_EXCEPTIONS);

static void as_expected(std::error_code code, const char *story)
{
    std::_Exit(code == turnlock::errc::not_owner && std::strlen(story) > 10 ? 0 : 4);
}

int main(int, char **argv)
{
    std::error_code code;
    auto file = turnlock::file::open(argv[1], {}, code);
    if (code)
        return 1;
    turnlock::mutex mutex(file, "mutex");
    {
        std::lock_guard guard(mutex);
        if (mutex.try_lock(code) || code != turnlock::errc::deadlock)
            return 2;
    }
    auto changed = turnlock::condition::open(file, "changed", {}, code);
    auto ready = turnlock::event::open(file, "ready", {}, code);
    auto stage = turnlock::barrier::open(file, "stage", {1, false}, code);
    auto schema = turnlock::once::open(file, "schema", {}, code);
    if (code || ready.wait_for(std::chrono::milliseconds(1), code) || code)
        return 5;
    {
        std::unique_lock lock(mutex);
        if (changed.wait_for(lock, std::chrono::milliseconds(1), code) != std::cv_status::timeout || code)
            return 6;
    }
    changed.wait(mutex, code);
    if (code != turnlock::errc::not_owner || !stage.wait(code) || code)
        return 7;
    if (!schema.call([] {}) || schema.begin(code) != turnlock::once_turn::done || code)
        return 8;
    auto task = turnlock::hold::open(file, {}, code);
    auto mine = turnlock::by(task, mutex);
    turnlock::pending begun(mine, std::chrono::milliseconds(1), code);
    if (code || !begun.try_finish(code) || code || begun)
        return 9;
    turnlock::set_failure_handler(as_expected);
    mutex.unlock();
    return 3;
}
