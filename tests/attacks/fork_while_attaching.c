/*
 * fork_while_attaching.c: children that are forked while the library is being opened, and while threads take and give
 * back slots, make no dead participant seem alive.
 *
 *     fork_while_attaching LOCK-FILE
 *
 * A thread forks children, which live on and do nothing, while the file is opened, threads take first locks and end, and
 * some keep theirs until all are killed but the children. Each of those is a trial: the next locker is told soon. And
 * every slot is free then.
 */
#include "attack.h"

enum { VICTIMS = 50, HOLDERS = 4, TRIALS = VICTIMS * HOLDERS, THREADS = 2, SLOTS = 32 };
enum { CHILDREN = 24, WHILE_OPENING = 4, ENOUGH = 8 };
/* Far more than it takes a busy machine to tell of a death, and far less than the children live. In seconds. */
enum { SOON = 10, LIFE = 300 };

static const char *path;
static volatile int forks, opened;
static turnlock_file *file;
static turnlock_mutex *side;

static void *forker(void *unused)
{
    for (int child = 0; child < CHILDREN; child++) {
        while (child >= WHILE_OPENING && !opened)
            sched_yield();
        pid_t process = fork();
        MUST(process);
        if (process == 0) {
            alarm(LIFE);
            for (;;)
                pause();
        }
        forks = child + 1;
    }
    return unused;
}

static void *first_lock(void *unused)
{
    EXPECT(0, turnlock_mutex_lock(side, NULL));
    EXPECT(0, turnlock_mutex_unlock(side));
    return unused;
}

static void *first_locks(void *unused)
{
    while (forks < CHILDREN)
        on_a_thread(first_lock, NULL);
    return unused;
}

static struct holder {
    char name[2];
    volatile int holds;
} holders[HOLDERS] = {{"a", 0}, {"b", 0}, {"c", 0}, {"d", 0}};

static void *keeps_its_first_lock(void *with)
{
    struct holder *holder = with;
    EXPECT(0, turnlock_mutex_lock(open_mutex(file, holder->name), NULL));
    holder->holds = 1;
    for (;;)
        pause();
}

/* Ends by being killed. */
static void victim(int number, volatile int *ready)
{
    setpgid(0, 0);
    pthread_t forking = start(forker, NULL), locking[THREADS];
    /* Opens the file before the first fork, or in the midst of the second one. */
    while (forks < number % 2)
        ;
    file = open_file(path, SLOTS);
    side = open_mutex(file, "side");
    opened = 1;
    for (int thread = 0; thread < THREADS; thread++)
        locking[thread] = start(first_locks, NULL);
    for (int holder = 0; holder < HOLDERS; holder++) {
        while (forks < WHILE_OPENING + holder * (CHILDREN - WHILE_OPENING) / HOLDERS)
            sched_yield();
        start(keeps_its_first_lock, &holders[holder]);
    }
    join(forking);
    for (int thread = 0; thread < THREADS; thread++)
        join(locking[thread]);
    for (int holder = 0; holder < HOLDERS; holder++)
        until(&holders[holder].holds, "a holder holds");
    *ready = 1;
    for (;;)
        pause();
}

struct found {
    int untold, slots;
    uint64_t ns;
};

/* In a process of its own: what the next one finds. */
static void look(struct found *found)
{
    file = open_file(path, SLOTS);
    for (int holder = 0; holder < HOLDERS; holder++) {
        turnlock_mutex *mutex = open_mutex(file, holders[holder].name);
        uint64_t began = now_ns();
        int32_t status = turnlock_mutex_lock_for(mutex, SOON * SECOND, NULL);
        uint64_t ns = now_ns() - began;
        found->ns = ns > found->ns ? ns : found->ns;
        found->untold += status != TURNLOCK_OWNER_DEAD;
        if (status == TURNLOCK_OWNER_DEAD)
            EXPECT(0, turnlock_mutex_mark_consistent(mutex));
        if (status >= 0)
            EXPECT(0, turnlock_mutex_unlock(mutex));
        EXPECT(0, turnlock_mutex_close(mutex));
    }
    EXPECT(0, turnlock_file_close(file)); /* with it, our own slot */
    found->slots = free_slots(open_file(path, SLOTS));
    _exit(0);
}

int main(int count, char **arguments)
{
    if (count != 2)
        FAIL("wrong arguments");
    path = arguments[1];
    volatile int *ready = shared_memory(sizeof *ready);
    struct found *found = shared_memory(sizeof *found);
    int untold = 0, leaked = 0, victims = 0;
    uint64_t longest = 0;
    at("trials");
    /* Enough is enough: a lost slot takes time. */
    for (; victims < VICTIMS && untold + leaked < ENOUGH; victims++) {
        *ready = 0;
        memset(found, 0, sizeof *found);
        pid_t process = fork_with_us();
        if (process == 0)
            victim(victims, ready);
        until(ready, "the victim holds");
        kill_and_wait(process);
        pid_t next = fork_with_us();
        if (next == 0)
            look(found);
        int status;
        MUST(waitpid(next, &status, 0));
        if (status != 0)
            FAIL("victim %d: the next locker ended with status %#x", victims, status);
        untold += found->untold;
        leaked += SLOTS - found->slots;
        longest = found->ns > longest ? found->ns : longest;
        MUST(kill(-process, SIGKILL)); /* its children */
        MUST(unlink(path));
    }
    if (untold != 0 || leaked != 0)
        FAIL("in %d of %d trials the next locker was not told within %d seconds; %d slots leaked after %d forks",
             untold, victims * HOLDERS, SOON, leaked, victims * CHILDREN);
    PASS("%d trials, %d children, told within %.1f ms", TRIALS, VICTIMS * CHILDREN, (double)longest / 1e6);
}
