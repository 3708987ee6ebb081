// Linked mutexes: what a program meets that has nothing to do with other hosts. Their agent is examples/agent.rs.

#include "testing.hpp"

#include <cstring>

namespace {

// The agent of a lock, which is created linked and is away.
class agent {
public:
    agent(const char *path, const char *name)
    {
        const char *program = std::getenv("TURNLOCK_AGENT");
        EXPECT(program != nullptr);
        int to[2], from[2];
        EXPECT(pipe(to) == 0 && pipe(from) == 0);
        child_ = fork();
        if (child_ == 0) {
            dup2(to[0], 0);
            dup2(from[1], 1);
            // Its standard input ends when the test does.
            for (const int descriptor : {to[0], to[1], from[0], from[1]})
                ::close(descriptor);
            execl(program, program, path, name, static_cast<char *>(nullptr));
            std::_Exit(1);
        }
        ::close(to[0]);
        ::close(from[1]);
        to_ = fdopen(to[1], "w");
        from_ = fdopen(from[0], "r");
    }

    agent(const agent &) = delete;
    agent &operator=(const agent &) = delete;

    ~agent()
    {
        std::fclose(to_);
        EXPECT(testing::ended_well(child_));
        std::fclose(from_);
    }

    // Waits until it has done that.
    void tell(const std::string &word)
    {
        std::fprintf(to_, "%s\n", word.c_str());
        std::fflush(to_);
        char said[16] = {};
        EXPECT(std::fgets(said, sizeof said, from_) != nullptr && said == word + "\n");
    }

private:
    pid_t child_ = -1;
    std::FILE *to_ = nullptr;
    std::FILE *from_ = nullptr;
};

}

TEST(a_linked_mutex_is_entered_while_it_is_home)
{
    agent its("lock", "mutex");
    its.tell("home");
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    {
        std::lock_guard<turnlock::mutex> held(mutex);
        EXPECT(mutex.still_owner());
    }
    its.tell("away");
    EXPECT(!mutex.try_lock());
    EXPECT(std::strstr(turnlock_last_error_message(), "it is linked, and away") != nullptr);
    EXPECT(!mutex.try_lock_for(std::chrono::milliseconds(5)));
    std::thread waits([&] {
        std::lock_guard<turnlock::mutex> held(mutex);
        EXPECT(mutex.still_owner());
    });
    testing::until_asleep(mutex, 1);
    its.tell("home");
    waits.join();
}

TEST(a_holder_sees_that_the_lease_has_ended)
{
    agent its("lock", "mutex");
    its.tell("home");
    its.tell("lease");
    turnlock::file file("lock");
    turnlock::mutex mutex(file, "mutex");
    mutex.lock();
    EXPECT(mutex.still_owner());
    its.tell("ended");
    EXPECT(!mutex.still_owner());
    std::error_code code;
    mutex.unlock(code);
    EXPECT(code == turnlock::errc::lease_ended);
    EXPECT_FAILURE(mutex.unlock(), turnlock::errc::not_owner);
    EXPECT(!mutex.try_lock());
    its.tell("lease");
    // A guard throws nothing where it ends; nor does that of a hold.
    {
        std::lock_guard<turnlock::mutex> held(mutex);
        its.tell("ended");
        EXPECT(!mutex.still_owner());
    }
    its.tell("lease");
    turnlock::hold task(file);
    auto mine = turnlock::by(task, mutex);
    {
        std::lock_guard<decltype(mine)> held(mine);
        EXPECT(mutex.still_owner());
        its.tell("ended");
        EXPECT(!mutex.still_owner());
    }
    its.tell("lease");
    EXPECT(mutex.try_lock());
    mutex.unlock();
}

TEST(a_mutex_that_is_not_linked_is_of_this_host_alone)
{
    turnlock::file file("lock");
    turnlock::recursive_mutex mutex(file, "recursive");
    std::lock_guard<turnlock::recursive_mutex> held(mutex);
    EXPECT(mutex.still_owner());
    EXPECT_FAILURE(turnlock::mutex().still_owner(), turnlock::errc::invalid_argument);
}
