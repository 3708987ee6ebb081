/*
 * no_descriptor.c: the lock file cannot be opened again after it was opened once.
 *
 *     no_descriptor LOCK-FILE limit|user|root|mode [memfd]
 *
 * *limit*: no descriptor is free, by RLIMIT_NOFILE; *user*: the process becomes another user, who may not open the file
 * (for root to try); *root*: it has an empty folder for its root, and no /proc; *mode*: no user may open the file any more,
 * not even its owner. With *memfd* the file has no path at all: all have it by a descriptor that they inherited. New
 * threads' first locks work, waiting works, a killed holder's death is noticed.
 */
#include "attack.h"

#include <sched.h>
#include <sys/stat.h>

enum { SLOTS = 16 };

static const char *path;
/* The memfd; or none. */
static int given = -1;
static turnlock_mutex *mutex, *side;

static void *first_lock(void *unused)
{
    EXPECT(0, turnlock_mutex_lock_for(side, SECOND, NULL));
    EXPECT(0, turnlock_mutex_unlock(side));
    return unused;
}

static void *waits_in_vain(void *unused)
{
    EXPECT(TURNLOCK_ERROR_TIMED_OUT, turnlock_mutex_lock_for(mutex, 50 * MILLISECOND, NULL));
    return unused;
}

static void *is_told(void *unused)
{
    EXPECT(TURNLOCK_OWNER_DEAD, turnlock_mutex_lock_for(mutex, 2 * SECOND, NULL));
    EXPECT(0, turnlock_mutex_mark_consistent(mutex));
    EXPECT(0, turnlock_mutex_unlock(mutex));
    return unused;
}

static turnlock_file *open_it(void)
{
    turnlock_file_options options = {.size = sizeof options, .participants = SLOTS, .mode = 0600};
    turnlock_file *file;
    if (given < 0)
        EXPECT(0, turnlock_file_open(path, &options, &file));
    else
        EXPECT(0, turnlock_file_open_descriptor(given, &options, &file));
    return file;
}

static void become_nobody(void)
{
    MUST(setgid(65534));
    MUST(setuid(65534));
}

static void take_it_away(const char *what)
{
    char again[64];
    if (given >= 0) {
        snprintf(again, sizeof again, "/proc/self/fd/%d", given);
        path = again;
    }
    if (strcmp(what, "limit") == 0) {
        MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3}));
    } else if (strcmp(what, "user") == 0) {
        become_nobody();
    } else if (strcmp(what, "mode") == 0) {
        MUST(given < 0 ? chmod(path, 0) : fchmod(given, 0));
        if (geteuid() == 0)
            become_nobody();
    } else {
        char empty[] = "/tmp/turnlock-no-descriptor-XXXXXX";
        if (mkdtemp(empty) == NULL)
            FAIL("mkdtemp: %s", strerror(errno));
        if (geteuid() != 0 && unshare(CLONE_NEWUSER) < 0) {
            PASS("LEFT OUT, since this machine allows no user namespace: %s", strerror(errno));
            exit(0);
        }
        MUST(chroot(empty));
        MUST(chdir("/"));
    }
    if (open(path, O_RDWR) >= 0)
        FAIL("the file can be opened all the same");
    if (given >= 0)
        MUST(close(given));
}

/* Another process, which may open the file: takes the lock and dies holding it, each when it is told to. We may not kill
 * it ourselves any more. */
struct other {
    volatile int take, holds, die;
};

static void be(struct other *other)
{
    mutex = open_mutex(open_it(), "a");
    until(&other->take, "it is to take the lock");
    EXPECT(0, turnlock_mutex_lock_for(mutex, 2 * SECOND, NULL));
    other->holds = 1;
    until(&other->die, "it is to die");
    raise(SIGKILL);
}

int main(int count, char **arguments)
{
    if (count != 3 && count != 4)
        FAIL("wrong arguments");
    path = arguments[1];
    if (count == 4)
        MUST(given = memfd_create("attack", 0));
    struct other *others = shared_memory(2 * sizeof *others);
    pid_t processes[2];
    for (int other = 0; other < 2; other++)
        if ((processes[other] = fork_with_us()) == 0)
            be(&others[other]);
    others[0].take = 1;
    until(&others[0].holds, "the first one holds");
    turnlock_file *file = open_it();
    mutex = open_mutex(file, "a");
    side = open_mutex(file, "side");
    take_it_away(arguments[2]);
    at("a new thread's first lock");
    on_a_thread(first_lock, NULL);
    at("a new thread waits");
    on_a_thread(waits_in_vain, NULL);
    at("this thread waits");
    waits_in_vain(NULL);
    at("a holder is killed, and a new thread comes");
    others[0].die = 1;
    MUST(waitpid(processes[0], NULL, 0));
    on_a_thread(is_told, NULL);
    at("a holder that came later is killed, and this thread comes");
    others[1].take = 1;
    until(&others[1].holds, "the other one holds");
    waits_in_vain(NULL);
    others[1].die = 1;
    MUST(waitpid(processes[1], NULL, 0));
    is_told(NULL);
    at("threads one after another");
    for (int thread = 0; thread < 3 * SLOTS; thread++)
        on_a_thread(first_lock, NULL);
    PASS("%s %s", arguments[2], count == 4 ? arguments[3] : "");
}
