// Loaded beside a library of another ABI number: refused before anything else of it is called.

#include <turnlock.hpp>

#include <cstring>

int main()
{
    std::error_code code;
    if (turnlock::file::open("lock", {}, code).is_open() || code != std::errc::not_supported)
        return 1;
    try {
        turnlock::file file("lock");
    } catch (const std::system_error &error) {
        return std::strstr(error.what(), "another ABI version") ? 0 : 2;
    }
    return 3;
}
