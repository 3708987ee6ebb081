/*
 * stray_close.c: a thread closes all descriptors of its process, again and again, and opens other lock files, while another
 * thread of it waits for a lock.
 *
 *     stray_close LOCK-FILE
 *
 * The holder lives, in another process, and has slot 0; we have slot 1. In the other files slot 0 is free and slot 1 is
 * taken: a waiter that asks there, with a descriptor whose number now means such a file, finds the holder dead. No waiter
 * enters while it holds, for five seconds. Once all that has stopped, one enters after it.
 */
#include "attack.h"

enum { SLOTS = 16, OTHERS = 4, SECONDS = 5 };

static const char *path;
static char others[OTHERS][4096];
static volatile int *holds, *over;
static turnlock_mutex *mutex;
static volatile int stop;
static volatile unsigned closed, errors, asked;
static volatile int32_t last_error;

/* In a process of its own: slot 1 of each other file is taken, and slot 0 is not. */
static void neighbour(volatile int *ready)
{
    for (int other = 0; other < OTHERS; other++) {
        turnlock_hold *first, *second;
        turnlock_file *file = open_file(others[other], SLOTS);
        EXPECT(0, turnlock_hold_open(file, &own_slot, &first));
        EXPECT(0, turnlock_hold_open(file, NULL, &second));
        EXPECT(0, turnlock_hold_close(first));
    }
    *ready = 1;
    for (;;)
        pause();
}

/* In a process of its own. */
static void hold(void)
{
    turnlock_mutex *held = open_mutex(open_file(path, SLOTS), "a");
    EXPECT(0, turnlock_mutex_lock(held, NULL));
    *holds = 1;
    until(over, "the time is over");
    *holds = 0;
    int32_t status = turnlock_mutex_unlock(held);
    _exit(status == 0 ? 0 : 1);
}

static void check_alone(int32_t status)
{
    if (status >= 0 && *holds)
        FAIL("one came in (%d, %s) after %u times, while another one, who lives, holds", status, turnlock_status_text(status),
             closed);
    if (status >= 0)
        FAIL("one came in (%d) though the holder has not unlocked", status);
    if (status != TURNLOCK_ERROR_TIMED_OUT) {
        errors++;
        last_error = status;
    }
    asked++;
}

static void *waiter(void *unused)
{
    while (!stop) {
        check_alone(turnlock_mutex_lock_for(mutex, 3 * MILLISECOND, NULL));
        /* A long wait, too: what it asks with is open all the time. */
        if (asked % 64 == 0)
            check_alone(turnlock_mutex_lock_for(mutex, 200 * MILLISECOND, NULL));
    }
    return unused;
}

static void *closer(void *unused)
{
    while (!stop) {
        MUST(close_range(3, ~0U, 0));
        /* As many descriptors as may have been open at once, so that each number is used again. */
        for (int number = 0; number < 16; number++)
            if (open(others[number % OTHERS], O_RDWR | O_CLOEXEC) < 0)
                FAIL("open: %s", strerror(errno));
        turnlock_file *file;
        if (turnlock_file_open(others[closed % OTHERS], NULL, &file) == 0)
            turnlock_file_close(file);
        closed++;
        sleep_ns(closed % 20 * 20000);
    }
    return unused;
}

int main(int count, char **arguments)
{
    if (count != 2)
        FAIL("wrong arguments");
    path = arguments[1];
    for (int other = 0; other < OTHERS; other++)
        snprintf(others[other], sizeof others[other], "%s.%d", path, other);
    holds = shared_memory(3 * sizeof *holds);
    over = holds + 1;
    volatile int *ready = holds + 2;
    if (fork_with_us() == 0)
        neighbour(ready);
    until(ready, "the other files are there");
    pid_t holder = fork_with_us();
    if (holder == 0)
        hold();
    until(holds, "the holder holds");
    mutex = open_mutex(open_file(path, SLOTS), "a");
    at("waiting while descriptors are closed");
    pthread_t waits[] = {start(waiter, NULL), start(waiter, NULL)}, closes = start(closer, NULL);
    sleep_ns(SECONDS * SECOND);
    stop = 1;
    for (int thread = 0; thread < 2; thread++)
        join(waits[thread]);
    join(closes);
    at("afterwards");
    *over = 1;
    int32_t status = turnlock_mutex_lock_for(mutex, 5 * SECOND, NULL);
    if (status != 0)
        FAIL("when the holder had unlocked, the lock gave %d (%s)", status, turnlock_status_text(status));
    EXPECT(0, turnlock_mutex_unlock(mutex));
    int ended;
    MUST(waitpid(holder, &ended, 0));
    if (ended != 0)
        FAIL("the holder could not unlock");
    PASS("closed %u times, asked %u times, %u of these with an error (the last one %d)", closed, asked, errors, last_error);
}
