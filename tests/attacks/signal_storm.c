/*
 * signal_storm.c: a handler that locks, wherever its thread is: opening a file, taking a slot, ending.
 *
 *     signal_storm LOCK-FILE
 *
 * Threads that live for one round open a lock file, take a first lock, unlock, close. A timer's signals meet them; the
 * handler locks a lock of another file, in which each thread has a slot already (a first lock needs memory, which a
 * handler may not ask for). Whatever it meets, both come to their end.
 */
#include "attack.h"

#include <sys/time.h>

enum { ROUNDS = 2000, EVERY_US = 300 };

static const char *path;
static turnlock_mutex *elsewhere;
static sigset_t alarms;
static volatile sig_atomic_t signals, handled;

static void handler(int signal)
{
    (void)signal;
    int before = errno;
    signals++;
    int32_t status = turnlock_mutex_lock_for(elsewhere, 5 * SECOND, NULL);
    if (status != 0)
        FAIL("the handler's lock gave %d (%s)", status, turnlock_status_text(status));
    status = turnlock_mutex_unlock(elsewhere);
    if (status != 0)
        FAIL("the handler's unlock gave %d (%s)", status, turnlock_status_text(status));
    handled++;
    errno = before;
}

static void *round_of_a_thread(void *unused)
{
    /* Started with signals blocked. */
    EXPECT(0, turnlock_mutex_lock_for(elsewhere, 5 * SECOND, NULL));
    EXPECT(0, turnlock_mutex_unlock(elsewhere));
    MUST_0(pthread_sigmask(SIG_UNBLOCK, &alarms, NULL));
    turnlock_file *file = open_file(path, 0);
    turnlock_mutex *mutex = open_mutex(file, "a");
    EXPECT(0, turnlock_mutex_lock_for(mutex, 5 * SECOND, NULL));
    EXPECT(0, turnlock_mutex_unlock(mutex));
    EXPECT(0, turnlock_mutex_close(mutex));
    EXPECT(0, turnlock_file_close(file));
    /* A thread that ends has given its slots back. */
    MUST_0(pthread_sigmask(SIG_BLOCK, &alarms, NULL));
    return unused;
}

int main(int count, char **arguments)
{
    if (count != 2)
        FAIL("wrong arguments");
    path = arguments[1];
    char other[4096];
    snprintf(other, sizeof other, "%s.2", path);
    turnlock_file *file = open_file(other, 0), *of_the_same = open_file(path, 0);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    MUST_0(pthread_sigmask(SIG_BLOCK, &alarms, NULL));
    elsewhere = open_mutex(file, "b");
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    MUST(sigaction(SIGALRM, &action, NULL));
    struct itimerval every = {{0, EVERY_US}, {0, EVERY_US}}, never = {{0, 0}, {0, 0}};
    MUST(setitimer(ITIMER_REAL, &every, NULL));
    at("rounds, with signals");
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t thread = start(round_of_a_thread, NULL);
        join(thread);
    }
    MUST(setitimer(ITIMER_REAL, &never, NULL));
    if (signals != handled || handled < 100)
        FAIL("%d signals, %d handled", signals, handled);
    on_a_thread(round_of_a_thread, NULL);
    EXPECT(0, turnlock_file_close(of_the_same)); /* with it, the main thread's slot */
    int slots = free_slots(open_file(path, 0));
    if (slots != 128)
        FAIL("%d of 128 slots are free", slots);
    PASS("%d rounds, %d signals", ROUNDS, handled);
}
