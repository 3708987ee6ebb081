// contend.cpp KIND FOLDER TURNS [--die-at N]: contend.c with turnlock.hpp.

#include <turnlock.hpp>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>

static const std::string me = "contend.cpp";

static std::uint64_t read_counter()
{
    std::uint64_t count = 0;
    if (!(std::ifstream("counter") >> count))
        throw std::runtime_error("counter: not a number");
    return count;
}

static void write_counter(std::uint64_t count) { std::fstream("counter", std::ios::in | std::ios::out) << count << '\n'; }

static void append(std::uint64_t token) { std::ofstream("journal", std::ios::app) << me << ' ' << token << '\n'; }

static std::uint64_t journal_lines()
{
    std::ifstream file("journal");
    return static_cast<std::uint64_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

static void wait_to_be_killed()
{
    std::cout << me << ": stopped inside; now: kill -9 " << getpid() << std::endl;
    while (std::cin.get() != EOF) {
    }
    std::abort();
}

static void write_turn(turnlock::shared_mutex &lock, bool dies)
{
    std::unique_lock held(lock);
    if (lock.owner_died()) {
        write_counter(journal_lines());
        const auto dead = lock.last_dead_owner().value();
        std::cout << me << ": told that " << dead.label << " (process " << dead.pid << ") died inside\n";
        lock.mark_consistent();
    }
    const auto count = read_counter();
    append(lock.fencing_token());
    if (dies)
        wait_to_be_killed();
    write_counter(count + 1);
}

static void read_turn(turnlock::shared_mutex &lock)
{
    const auto acquired = lock.lock_shared();
    if (!acquired.owner_died && read_counter() != journal_lines())
        throw std::runtime_error("a reader saw half a turn");
    lock.unlock_shared();
}

static void permit_turn(turnlock::semaphore &permits, bool dies)
{
    permits.acquire();
    if (dies)
        wait_to_be_killed();
    const auto count = read_counter();
    append(0);
    write_counter(count + 1);
    permits.release();
}

int main(int argc, char **argv)
try {
    if ((argc != 4 && argc != 6) || chdir(argv[2]) != 0)
        return 1;
    const auto turns = std::stoul(argv[3]), die_at = argc == 6 ? std::stoul(argv[5]) : 0;
    turnlock::file_options options;
    options.label = me;
    turnlock::file file("demo.lock", options);
    if (std::string(argv[1]) == "rwlock") {
        // Readers rely on what a dead writer left being repaired first.
        turnlock::shared_mutex_options options;
        options.on_death = turnlock::death_policy::inform;
        turnlock::shared_mutex lock(file, "rwlock", options);
        for (auto turn = 1ul; turn <= turns; ++turn) {
            write_turn(lock, turn == die_at);
            read_turn(lock);
        }
    } else {
        turnlock::semaphore permits(file, "semaphore");
        for (auto turn = 1ul; turn <= turns; ++turn)
            permit_turn(permits, turn == die_at);
    }
    return 0;
} catch (const std::exception &error) {
    std::cerr << me << ": " << error.what() << '\n';
    return 1;
}
