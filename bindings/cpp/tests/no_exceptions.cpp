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
    turnlock::set_failure_handler(as_expected);
    mutex.unlock();
    return 3;
}
