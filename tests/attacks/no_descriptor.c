/*
 * no_descriptor.c: the lock file cannot be opened again after it was opened once.
 *
 *     no_descriptor LOCK-FILE limit|user|root
 *
 * *limit*: no descriptor is free, by RLIMIT_NOFILE; *user*: the process becomes another user, who may not open the file;
 * *root*: it has an empty folder for its root. (The last two are for root to try.) New threads' first locks work, waiting
 * works, a killed holder's death is noticed.
 */
#include "attack.h"

#include <sys/stat.h>

enum { SLOTS = 16 };

static const char *path;
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

static void take_it_away(const char *what)
{
    if (strcmp(what, "limit") == 0) {
        MUST(setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3}));
    } else if (strcmp(what, "user") == 0) {
        MUST(setgid(65534));
        MUST(setuid(65534));
    } else {
        char empty[4096];
        snprintf(empty, sizeof empty, "%s.root", path);
        MUST(mkdir(empty, 0700));
        MUST(chroot(empty));
        MUST(chdir("/"));
    }
    if (open(path, O_RDWR) >= 0)
        FAIL("the file can be opened all the same");
}

/* Another process, which may open the file: takes the lock and dies holding it, each when it is told to. We may not kill
 * it ourselves any more. */
struct other {
    volatile int take, holds, die;
};

static void be(struct other *other)
{
    until(&other->take, "it is to take the lock");
    mutex = open_mutex(open_file(path, SLOTS), "a");
    EXPECT(0, turnlock_mutex_lock_for(mutex, 2 * SECOND, NULL));
    other->holds = 1;
    until(&other->die, "it is to die");
    raise(SIGKILL);
}

int main(int count, char **arguments)
{
    if (count != 3)
        FAIL("wrong arguments");
    path = arguments[1];
    struct other *others = shared_memory(2 * sizeof *others);
    pid_t processes[2];
    for (int other = 0; other < 2; other++)
        if ((processes[other] = fork_with_us()) == 0)
            be(&others[other]);
    others[0].take = 1;
    until(&others[0].holds, "the first one holds");
    turnlock_file *file = open_file(path, SLOTS);
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
    PASS("%s", arguments[2]);
}
