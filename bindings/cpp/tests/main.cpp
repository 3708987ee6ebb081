// main.cpp FOLDER: runs every case, each in a process and a folder of its own, and says how many passed and failed.

#include "testing.hpp"

#include <filesystem>

int main(int argc, char **argv)
{
    if (argc != 2)
        return 64;
    unsigned passed = 0, failed = 0;
    for (const auto &one : testing::cases()) {
        const auto folder = std::filesystem::path(argv[1]) / one.name;
        std::filesystem::create_directory(folder);
        const int status = testing::in_child([&] {
            // Of each case, so that one that hangs says so.
            alarm(30);
            std::filesystem::current_path(folder);
            one.run();
        });
        if (status == 0) {
            ++passed;
            continue;
        }
        ++failed;
        std::fprintf(stderr, "%s: FAILED (%s %d)\n", one.name, WIFSIGNALED(status) ? "signal" : "status",
                     WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    }
    std::printf("%u passed, %u failed\n", passed, failed);
    return failed != 0 || passed == 0;
}
