/*
 * many_files.c: more files than a thread has words for them, in turn, while threads end, processes fork, and a signal
 * handler locks in other files of those, whose words are the same.
 *
 *     many_files LOCK-FILE
 *
 * Each file's lock has its last fencing token, which rises: a thread that took another file's words for those of this
 * one, or a parent's slot for that of a child, would be seen.
 */
#include "attack.h"

#include <sys/time.h>

enum { FILES = 20, ROUNDS = 100, FORKS = 20, EVERY_US = 300, SIGNALS = 300 };

static const char *path;

struct opened {
    turnlock_file *file;
    turnlock_mutex *mutex;
};

/* Those of the threads, and those of the handler. */
static struct opened ours[FILES], handlers[FILES];
/* Each is changed by the holder of its lock. */
static struct shared {
    volatile uint64_t last[FILES], handlers_last[FILES];
} *shared;
static volatile sig_atomic_t signals;

static struct opened open_one(const char *whose, int number)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%s%d", path, whose, number);
    struct opened opened = {.file = open_file(name, 0)};
    opened.mutex = open_mutex(opened.file, "a");
    return opened;
}

static void take(turnlock_mutex *mutex, volatile uint64_t *last, int how)
{
    turnlock_acquired acquired = {.size = sizeof acquired};
    int32_t status = how == 0   ? turnlock_mutex_lock(mutex, &acquired)
                     : how == 1 ? turnlock_mutex_lock_for(mutex, 10 * SECOND, &acquired)
                                : turnlock_mutex_try_lock(mutex, &acquired);
    if (how == 2 && status == TURNLOCK_ERROR_WOULD_BLOCK)
        return;
    if (status != 0)
        FAIL("a lock gave %d (%s): %s", status, turnlock_status_text(status), turnlock_last_error_message());
    if (acquired.fencing_token <= *last)
        FAIL("token %llu after %llu", (unsigned long long)acquired.fencing_token, (unsigned long long)*last);
    *last = acquired.fencing_token;
    EXPECT(0, turnlock_mutex_unlock(mutex));
}

static void handler(int signal)
{
    (void)signal;
    int before = errno, number = signals++ % FILES;
    take(handlers[number].mutex, &shared->handlers_last[number], signals % 3);
    errno = before;
}

static void *rounds(void *count)
{
    for (int round = 0; round < *(int *)count; round++)
        for (int number = 0; number < FILES; number++)
            take(ours[number].mutex, &shared->last[number], round % 3);
    return NULL;
}

/* In another order, and closed and opened in between: memory of a closed file may be another one's. */
static void *closes_and_opens(void *unused)
{
    for (int round = 0; round < 40; round++) {
        struct opened own[3];
        for (int number = 0; number < 3; number++)
            own[number] = open_one("closed", (round + number) % 5);
        for (int number = 0; number < 3; number++)
            for (int turn = 0; turn < 3; turn++) {
                EXPECT(0, turnlock_mutex_lock_for(own[number].mutex, 10 * SECOND, NULL));
                EXPECT(0, turnlock_mutex_unlock(own[number].mutex));
                take(ours[number].mutex, &shared->last[number], turn);
            }
        for (int number = 0; number < 3; number++) {
            EXPECT(0, turnlock_mutex_close(own[number].mutex));
            EXPECT(0, turnlock_file_close(own[number].file));
        }
    }
    return unused;
}

int main(int count, char **arguments)
{
    if (count != 2)
        FAIL("wrong arguments");
    path = arguments[1];
    shared = shared_memory(sizeof *shared);
    for (int number = 0; number < FILES; number++) {
        ours[number] = open_one("ours", number);
        handlers[number] = open_one("handlers", number);
        /* A first lock needs memory, which a handler may not ask for. */
        take(handlers[number].mutex, &shared->handlers_last[number], 0);
    }
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    MUST(sigaction(SIGALRM, &action, NULL));
    struct itimerval every = {{0, EVERY_US}, {0, EVERY_US}}, never = {{0, 0}, {0, 0}};
    int many = ROUNDS, few = 20;

    at("rounds, with signals to this thread");
    MUST(setitimer(ITIMER_REAL, &every, NULL));
    for (uint64_t began = now_ns(); signals < SIGNALS && now_ns() - began < 20 * SECOND;)
        rounds(&many);
    MUST_0(pthread_sigmask(SIG_BLOCK, &alarms, NULL));

    at("threads that end, and files that are closed");
    pthread_t threads[4];
    for (int thread = 0; thread < 4; thread++)
        threads[thread] = start(thread % 2 == 0 ? rounds : closes_and_opens, &few);
    MUST_0(pthread_sigmask(SIG_UNBLOCK, &alarms, NULL));
    for (int thread = 0; thread < 4; thread++)
        join(threads[thread]);
    rounds(&few);
    MUST(setitimer(ITIMER_REAL, &never, NULL));

    at("children in the midst of it");
    for (int child = 0; child < FORKS; child++) {
        turnlock_mutex *held = ours[child % FILES].mutex;
        EXPECT(0, turnlock_mutex_lock(held, NULL));
        pid_t process = fork_with_us();
        if (process == 0) {
            EXPECT(TURNLOCK_ERROR_WOULD_BLOCK, turnlock_mutex_try_lock(held, NULL));
            EXPECT(TURNLOCK_ERROR_NOT_OWNER, turnlock_mutex_unlock(held));
            ours[child % FILES].mutex = handlers[0].mutex;
            for (int number = 0; number < FILES; number++)
                for (int how = 0; how < 3; how++)
                    if (number != child % FILES)
                        take(ours[number].mutex, &shared->last[number], how);
            _exit(0);
        }
        int status;
        MUST(waitpid(process, &status, 0));
        if (status != 0)
            FAIL("child %d ended with %#x", child, status);
        EXPECT(0, turnlock_mutex_unlock(held));
        rounds(&(int){3});
    }
    if (signals < SIGNALS)
        FAIL("only %d signals came", (int)signals);
    PASS("%d files, %d signals, %d children", FILES, (int)signals, FORKS);
}
