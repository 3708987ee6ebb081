/*
 * short_files.c: the limit on the size of files (RLIMIT_FSIZE, `ulimit -f`) is smaller than a lock file.
 *
 *     short_files LOCK-FILE
 *
 * To create one, by its path or of an empty memfd, is an error that says so. The signal that the kernel sends with it, SIGXFSZ,
 * ends nothing and comes to no handler; one that the program had pending before is still there.
 */
#include "attack.h"

static volatile sig_atomic_t came;

static void handler(int signal)
{
    (void)signal;
    came++;
}

static void fails(const char *path)
{
    turnlock_file *file;
    int memory = memfd_create("memory", MFD_CLOEXEC);
    MUST(memory);
    for (int by_path = 0; by_path <= 1; by_path++) {
        EXPECT(TURNLOCK_ERROR_SYSTEM, by_path ? turnlock_file_open(path, NULL, &file)
                                              : turnlock_file_open_descriptor(memory, NULL, &file));
        if (strstr(turnlock_last_error_message(), "ulimit -f") == NULL)
            FAIL("it says: %s", turnlock_last_error_message());
    }
    close(memory);
    if (access(path, F_OK) == 0)
        FAIL("there is a file all the same");
}

int main(int count, char **arguments)
{
    if (count != 2)
        FAIL("wrong arguments");
    /* Room for a verdict in a file. */
    struct rlimit before, few = {8192, RLIM_INFINITY};
    MUST(getrlimit(RLIMIT_FSIZE, &before));
    few.rlim_max = before.rlim_max;
    MUST(setrlimit(RLIMIT_FSIZE, &few));
    at("the signal as it is by default");
    fails(arguments[1]);
    at("with a handler");
    struct sigaction action = {.sa_handler = handler};
    MUST(sigaction(SIGXFSZ, &action, NULL));
    fails(arguments[1]);
    if (came != 0)
        FAIL("the handler ran %d times", came);
    at("with one that is pending");
    sigset_t blocked, old;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGXFSZ);
    MUST_0(pthread_sigmask(SIG_BLOCK, &blocked, &old));
    raise(SIGXFSZ);
    fails(arguments[1]);
    MUST_0(pthread_sigmask(SIG_SETMASK, &old, NULL));
    if (came != 1)
        FAIL("the handler ran %d times instead of once", came);
    at("without the limit");
    MUST(setrlimit(RLIMIT_FSIZE, &before));
    open_mutex(open_file(arguments[1], 0), "a");
    PASS("an error, and no signal");
    return 0;
}
