/*
 * atfork.c: handlers of pthread_atfork that were there before the library, and lock.
 *
 *     atfork LOCK-FILE
 *
 * Each handler, before the fork and after it in the parent and in the child, locks and unlocks. Where the thread that
 * forks has a slot already, and where the handler's lock is its first. Every fork comes to its end, in both.
 */
#include "attack.h"

enum { SLOTS = 16, FORKS = 20, THREADS = 10 };

static turnlock_file *file;
static turnlock_mutex *mutex;
static int ran;

static void lock_and_unlock(void)
{
    EXPECT(0, turnlock_mutex_lock_for(mutex, 5 * SECOND, NULL));
    EXPECT(0, turnlock_mutex_unlock(mutex));
}

static void before(void)
{
    if (mutex == NULL)
        return;
    at("the handler before the fork");
    ran |= 1;
    lock_and_unlock();
}

static void after_in_parent(void)
{
    if (mutex == NULL)
        return;
    at("the handler after the fork, in the parent");
    ran |= 2;
    lock_and_unlock();
}

static void after_in_child(void)
{
    if (mutex == NULL)
        return;
    at("the handler after the fork, in the child");
    ran |= 4;
    lock_and_unlock();
}

static void *forks(void *unused)
{
    ran = 0;
    pid_t child = fork_with_us();
    if (child == 0) {
        at("the child");
        alarm(20);
        lock_and_unlock();
        _exit(ran == 5 ? 0 : 1);
    }
    at("the parent");
    lock_and_unlock();
    int status;
    MUST(waitpid(child, &status, 0));
    if (status != 0)
        FAIL("the child ended with status %#x", status);
    if (ran != 3)
        FAIL("not every handler ran in the parent: %d", ran);
    return unused;
}

int main(int count, char **arguments)
{
    if (count != 2)
        FAIL("wrong arguments");
    MUST_0(pthread_atfork(before, after_in_parent, after_in_child));
    file = open_file(arguments[1], SLOTS);
    mutex = open_mutex(file, "a");
    at("forks of a thread that has a slot");
    lock_and_unlock();
    for (int number = 0; number < FORKS; number++)
        forks(NULL);
    at("forks of threads that have none");
    for (int number = 0; number < THREADS; number++)
        on_a_thread(forks, NULL);
    int slots = free_slots(file);
    if (slots != SLOTS - 1)
        FAIL("%d of %d slots are free, not %d", slots, SLOTS, SLOTS - 1);
    PASS("%d forks", FORKS + THREADS);
}
