// counter.cpp: adds to a counter in a plain file, together with other programs, one at a time; by turnlock.hpp.
//
//     c++ -std=c++17 -o counter counter.cpp $(pkg-config --cflags --libs turnlock)
//     ./counter FOLDER TURNS [--die-at N]
//
// A turn reads the number in `counter`, adds a line to `journal` and writes the number plus one. The lock `counter` of
// `demo.lock` keeps other programs out meanwhile: examples/counter.c has the whole story.

#include <turnlock.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace {

constexpr const char *me = "counter.cpp (turnlock.hpp)";

std::uint64_t read_counter()
{
    std::uint64_t count = 0;
    if (!(std::ifstream("counter") >> count))
        throw std::runtime_error("counter: cannot read a number");
    return count;
}

// In place, since the number never gets shorter.
void write_counter(std::uint64_t count)
{
    std::fstream file("counter");
    if (!(file << count << std::endl))
        throw std::runtime_error("counter: cannot write");
}

void append_to_journal(std::uint64_t fencing_token)
{
    std::ofstream file("journal", std::ios::app);
    if (!(file << me << ' ' << fencing_token << std::endl))
        throw std::runtime_error("journal: cannot write");
}

std::uint64_t journal_lines()
{
    std::ifstream file("journal");
    return static_cast<std::uint64_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

// The holder before died inside, perhaps between the journal and the counter. The journal is written first, so it is
// right; the counter is made to agree with it.
void repair(turnlock::mutex &mutex)
{
    const auto count = journal_lines();
    write_counter(count);
    const auto dead = mutex.last_dead_owner();
    std::cout << me << ": told that " << dead->label << " (process " << dead->pid
              << ") died inside; set the counter to " << count << std::endl;
    // Only now: a lock whose death policy is inform would be closed by an unlock without it.
    mutex.mark_consistent();
}

void take_turn(turnlock::mutex &mutex, bool dies)
{
    // An exception inside abandons the lock, and the next holder is told.
    turnlock::guard turn(mutex);
    if (mutex.owner_died())
        repair(mutex);
    const auto count = read_counter();
    append_to_journal(mutex.fencing_token());
    if (dies) {
        std::cout << me << ": stopped half-way through a turn; now: kill -9 " << getpid() << std::endl;
        std::cin.get();
        std::abort();
    }
    write_counter(count + 1);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3 && !(argc == 5 && std::string(argv[3]) == "--die-at")) {
        std::cerr << "usage: " << argv[0] << " FOLDER TURNS [--die-at N]\n";
        return 64;
    }
    try {
        const auto turns = std::stoul(argv[2]), die_at = argc == 5 ? std::stoul(argv[4]) : 0;
        std::filesystem::current_path(argv[1]);
        turnlock::file_options options;
        options.label = me;
        const turnlock::file file("demo.lock", options);
        turnlock::mutex mutex(file, "counter");
        for (unsigned long turn = 1; turn <= turns; ++turn)
            take_turn(mutex, turn == die_at);
        std::cout << me << ": done, " << turns << " turns" << std::endl;
        return EXIT_SUCCESS;
    } catch (const std::exception &error) {
        std::cerr << me << ": " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
