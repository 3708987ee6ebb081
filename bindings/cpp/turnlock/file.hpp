// turnlock::file: a lock file that is open.

#ifndef TURNLOCK_FILE_HPP
#define TURNLOCK_FILE_HPP

#include <turnlock/support.hpp>

namespace turnlock {

// How to open, or create, a lock file. What is left as it is has the library's default.
struct file_options {
    // How many participants may take part at once, and how many named locks there may be: 1 to 4096; 0 = 128 and 64.
    std::uint32_t participants = 0;
    std::uint32_t locks = 0;
    // The permission bits of a file that is created: 0 = 0600, or 0660 with a group.
    std::uint32_t mode = 0;
    // The number of the group that a file that is created is given to.
    std::optional<std::uint32_t> group = std::nullopt;
    bool must_exist = false;
    // Do without membarrier (TURNLOCK_FILE_FULL_FENCES).
    bool full_fences = false;
    // What this process calls itself in `turnlock status` and in the owner-dead notice; empty = the program's name.
    std::string label = {};
    // Asked between the sleeps of a wait: not 0 ends it with errc::interrupted (turnlock.h has the conditions).
    std::int32_t (*should_stop_waiting)(void *context) = nullptr;
    void *context = nullptr;
};

// A lock file that is open. Any thread may use it. Locks and holds keep what they need of it: they may outlive it.
// A file, lock or hold that was moved from, or could not be opened, gives errc::invalid_argument.
class file {
public:
    using native_handle_type = turnlock_file *;

    // Not open: to be assigned to.
    file() noexcept = default;

    // Opens the file, or creates it. Refuses a libturnlock of another ABI than this header (std::errc::not_supported).
    explicit file(detail::text path, const file_options &options = {})
    {
        check_abi();
        detail::check_whole(path, errc::invalid_argument);
        detail::check_whole(options.label, errc::invalid_argument);
        std::error_code code;
        *this = open(path, options, code);
        detail::check(code);
    }

    // The same, where an exception is not wanted: not open if `code` says why.
    static file open(detail::text path, const file_options &options, std::error_code &code)
    {
        file opened;
        if (!speaks_our_abi())
            code = foreign_abi();
        else if (detail::is_whole(path, errc::invalid_argument, code) &&
                 detail::is_whole(options.label, errc::invalid_argument, code)) {
            const auto native = as_native(options);
            detail::succeeded(turnlock_file_open(path.chars(), &native, opened.handle_.place()), code);
        }
        return opened;
    }

    // Opens the lock file that a descriptor stands for: a memfd, say. The descriptor stays the caller's.
    static file open_descriptor(int descriptor, const file_options &options, std::error_code &code)
    {
        file opened;
        const auto native = as_native(options);
        if (!speaks_our_abi())
            code = foreign_abi();
        else if (detail::is_whole(options.label, errc::invalid_argument, code))
            detail::succeeded(
                turnlock_file_open_descriptor(descriptor, &native, opened.handle_.place()), code);
        return opened;
    }

    static file open_descriptor(int descriptor, const file_options &options = {})
    {
        check_abi();
        std::error_code code;
        auto opened = open_descriptor(descriptor, options, code);
        detail::check(code);
        return opened;
    }

    bool is_open() const noexcept { return handle_.get() != nullptr; }

    // The path by which it was opened last, its folder resolved.
    std::string path() const
    {
        std::size_t length = 0;
        std::error_code code;
        std::string path;
        // Again if another process has moved it to a longer one meanwhile.
        do {
            path.resize(length + 1);
            detail::succeeded(turnlock_file_path(handle_.get(), path.size(), path.data(), &length), code);
            detail::check(code);
        } while (length >= path.size());
        path.resize(length);
        return path;
    }

    // Removes a lock that no process uses, of whatever kind.
    void remove_lock(detail::text name, std::error_code &code) noexcept
    {
        if (detail::is_whole(name, errc::bad_name, code))
            detail::succeeded(turnlock_file_remove_lock(handle_.get(), name.chars()), code);
    }

    void remove_lock(detail::text name)
    {
        detail::check_whole(name, errc::bad_name);
        std::error_code code;
        remove_lock(name, code);
        detail::check(code);
    }

    // Closes it before its time.
    void close() noexcept { static_cast<void>(handle_.reset()); }

    native_handle_type native_handle() const noexcept { return handle_.get(); }

private:
    static bool speaks_our_abi() noexcept { return turnlock_abi_version() == TURNLOCK_ABI_VERSION; }

    // Of the generic category: that of turnlock would ask the library for a text.
    static std::error_code foreign_abi() noexcept { return std::make_error_code(std::errc::not_supported); }

    static void check_abi()
    {
        if (!speaks_our_abi())
            detail::fail(foreign_abi(), "the libturnlock that is loaded has another ABI version than turnlock.h had "
                                        "when this was compiled: load that one, or compile anew");
    }

    static turnlock_file_options as_native(const file_options &options) noexcept
    {
        auto native = detail::sized<turnlock_file_options>();
        native.participants = options.participants;
        native.locks = options.locks;
        native.mode = options.mode;
        native.group = options.group.value_or(0);
        native.flags = (options.group ? TURNLOCK_FILE_GROUP : 0) |
                       (options.must_exist ? TURNLOCK_FILE_MUST_EXIST : 0) |
                       (options.full_fences ? TURNLOCK_FILE_FULL_FENCES : 0);
        native.label = options.label.empty() ? nullptr : options.label.c_str();
        native.should_stop_waiting = options.should_stop_waiting;
        native.context = options.context;
        return native;
    }

    detail::owned<turnlock_file, turnlock_file_close> handle_;
};

} // namespace turnlock

#endif
