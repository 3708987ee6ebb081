// A list of cases, each run in a folder of its own, and what a case needs: expectations, children, waiting for a state.

#ifndef TESTING_HPP
#define TESTING_HPP

#include <turnlock.hpp>

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace testing {

struct one_case {
    const char *name;
    void (*run)();
};

inline std::vector<one_case> &cases()
{
    static std::vector<one_case> all;
    return all;
}

inline bool enlist(const char *name, void (*run)())
{
    cases().push_back({name, run});
    return true;
}

[[noreturn]] inline void fail(const char *file, int line, const std::string &what)
{
    std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
    std::_Exit(1);
}

// Runs `play` in a child of its own and returns what waitpid says of it.
inline int in_child(const std::function<void()> &play)
{
    const pid_t child = fork();
    if (child == 0) {
        play();
        std::_Exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

// Starts a child that plays.
inline pid_t start(const std::function<void()> &play)
{
    const pid_t child = fork();
    if (child == 0) {
        // Of each child, so that one that hangs ends.
        alarm(30);
        play();
        std::_Exit(0);
    }
    return child;
}

// Waits until the child is over; whether it ended well.
inline bool ended_well(pid_t child)
{
    int status = -1;
    return waitpid(child, &status, 0) == child && status == 0;
}

// Kills the child where it stands.
inline void kill_child(pid_t child)
{
    ::kill(child, SIGKILL);
    int status = -1;
    waitpid(child, &status, 0);
}

// Waits until so many participants wait for it, for long enough to sleep. (The alarm of the case is its limit.)
template <class Waited> void until_asleep(const Waited &waited, std::size_t count)
{
    while (waited.waiters().size() < count)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

// The child holds a lock and is killed there.
inline void killed_inside(const std::function<void()> &take)
{
    in_child([&] {
        take();
        raise(SIGKILL);
    });
}

} // namespace testing

#define TEST(name)                                                                                                    \
    static void name();                                                                                               \
    static const bool name##_is_enlisted = testing::enlist(#name, name);                                              \
    static void name()

#define EXPECT(condition)                                                                                             \
    do {                                                                                                              \
        if (!(condition))                                                                                             \
            testing::fail(__FILE__, __LINE__, "not so: " #condition);                                                 \
    } while (0)

// The expression fails with this error of turnlock.
#define EXPECT_FAILURE(expression, expected)                                                                          \
    do {                                                                                                              \
        try {                                                                                                         \
            static_cast<void>(expression);                                                                            \
            testing::fail(__FILE__, __LINE__, "no failure: " #expression);                                            \
        } catch (const std::system_error &error) {                                                                    \
            if (error.code() != (expected))                                                                           \
                testing::fail(__FILE__, __LINE__, std::string("another failure: ") + error.what());                   \
        }                                                                                                             \
    } while (0)

#endif
