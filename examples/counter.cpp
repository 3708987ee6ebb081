// counter.cpp: counter.c in C++17, with the handles and the lock in small RAII types.
//
//     c++ -std=c++17 -o counter-cpp counter.cpp -lturnlock
//     ./counter-cpp FOLDER TURNS [--die-at N]
//
// A turn reads the number in `counter`, adds a line to `journal` and writes the number plus one; `demo.lock` is what
// keeps other programs out meanwhile. See counter.c for the whole story.

#include <turnlock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

constexpr const char *me = "counter.cpp";

// For every turnlock call: a negative status is a failure, and the library has the whole story of it.
std::int32_t check(std::int32_t status)
{
    if (status < 0)
        throw std::runtime_error(turnlock_last_error_message());
    return status;
}

// Handles that close themselves.
struct Close {
    void operator()(turnlock_file *file) const { turnlock_file_close(file); }
    void operator()(turnlock_mutex *mutex) const { turnlock_mutex_close(mutex); }
};
using File = std::unique_ptr<turnlock_file, Close>;
using Mutex = std::unique_ptr<turnlock_mutex, Close>;

File open_file(const char *path)
{
    // The label is what others read when we die.
    turnlock_file_options options{};
    options.size = sizeof options;
    options.label = me;
    turnlock_file *file = nullptr;
    check(turnlock_file_open(path, &options, &file));
    return File(file);
}

Mutex open_mutex(const File &file, const char *name)
{
    turnlock_mutex *mutex = nullptr;
    check(turnlock_mutex_open(file.get(), name, nullptr, &mutex));
    return Mutex(mutex);
}

// The lock, as long as it lives.
class Guard {
public:
    explicit Guard(const Mutex &mutex) : mutex_(mutex.get())
    {
        acquired_.size = sizeof acquired_;
        // Waits for our turn. The status is 0, or TURNLOCK_OWNER_DEAD: we have the lock, and its owner died.
        owner_dead_ = check(turnlock_mutex_lock(mutex_, &acquired_)) == TURNLOCK_OWNER_DEAD;
    }

    // An exception inside may leave half a turn in the files. Then the lock is given back as a dying owner does, and the
    // next holder is told.
    ~Guard()
    {
        if (std::uncaught_exceptions() == exceptions_)
            turnlock_mutex_unlock(mutex_);
        else
            turnlock_mutex_abandon(mutex_);
    }

    Guard(const Guard &) = delete;
    Guard &operator=(const Guard &) = delete;

    std::uint64_t fencing_token() const { return acquired_.fencing_token; }
    bool owner_dead() const { return owner_dead_; }
    void mark_consistent() { check(turnlock_mutex_mark_consistent(mutex_)); }

    turnlock_previous_owner previous_owner() const
    {
        turnlock_previous_owner owner{};
        owner.size = sizeof owner;
        check(turnlock_lock_previous_owner(reinterpret_cast<const turnlock_lock *>(mutex_), &owner));
        return owner;
    }

private:
    const turnlock_mutex *mutex_;
    turnlock_acquired acquired_{};
    bool owner_dead_ = false;
    int exceptions_ = std::uncaught_exceptions();
};

std::uint64_t read_counter()
{
    std::ifstream file("counter");
    std::uint64_t count = 0;
    if (!(file >> count))
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
    if (!file)
        throw std::runtime_error("journal: cannot read");
    return static_cast<std::uint64_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

// The previous holder died inside, perhaps between the journal and the counter. The lock cannot know what that means
// for our data; we do. The journal is written first, so it is right; the counter, which may even be half written, is
// made to agree with it.
void repair(Guard &guard)
{
    const auto count = journal_lines();
    write_counter(count);
    const auto dead = guard.previous_owner();
    std::cout << me << ": told that " << dead.label << " (process " << dead.pid
              << ") died inside; set the counter to " << count << std::endl;

    // Only now: a lock whose death policy is inform would be closed by an unlock without it.
    guard.mark_consistent();
}

// Waits, half-way through a turn and with the lock, until killed (or until standard input ends).
[[noreturn]] void wait_to_be_killed(unsigned long turn, const Guard &guard)
{
    std::cout << me << ": stopped half-way through turn " << turn << ", with fencing token " << guard.fencing_token()
              << "; now: kill -9 " << getpid() << std::endl;
    while (std::cin.get() != std::char_traits<char>::eof()) {
    }
    std::abort();
}

void take_turn(const Mutex &mutex, unsigned long turn, unsigned long die_at)
{
    Guard guard(mutex);
    if (guard.owner_dead())
        repair(guard);

    const auto count = read_counter();
    append_to_journal(guard.fencing_token());
    if (turn == die_at)
        wait_to_be_killed(turn, guard);
    write_counter(count + 1);
}

void run(const std::string &folder, unsigned long turns, unsigned long die_at)
{
    std::filesystem::current_path(folder);

    // The library that is loaded must speak the language of the header that we were compiled with.
    if (turnlock_abi_version() != TURNLOCK_ABI_VERSION)
        throw std::runtime_error(std::string("compiled for another version of libturnlock than ") + turnlock_version());

    // The first process creates the file, and the lock in it.
    const File file = open_file("demo.lock");
    const Mutex mutex = open_mutex(file, "counter");
    for (unsigned long turn = 1; turn <= turns; ++turn)
        take_turn(mutex, turn, die_at);
    std::cout << me << ": done, " << turns << " turns" << std::endl;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3 && !(argc == 5 && std::string(argv[3]) == "--die-at")) {
        std::cerr << "usage: " << argv[0] << " FOLDER TURNS [--die-at N]\n";
        return EXIT_FAILURE;
    }
    try {
        run(argv[1], std::stoul(argv[2]), argc == 5 ? std::stoul(argv[4]) : 0);
        return EXIT_SUCCESS;
    } catch (const std::exception &error) {
        std::cerr << me << ": " << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
