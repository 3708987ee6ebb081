/*
 * signal_reentry.c: a signal handler that tries the very lock that its thread is taking or giving back, after every
 * instruction of it.
 *
 *     signal_reentry LOCK-FILE biased|plain|first|ring|files|hold|timer
 *
 * The handler's turnlock_mutex_try_lock says TURNLOCK_ERROR_DEADLOCK, or, where the outer call has not begun or is over,
 * it succeeds, and the handler unlocks. It also asks whether a participant waits behind it. Two are never inside at once,
 * and fencing tokens always rise.
 *
 * This process steps a child, by ptrace, through one lock and unlock again and again, and delivers a signal after so many
 * instructions, another number each time: *biased*, the thread alone had the lock before; *plain*, another participant
 * had it; *first*, the thread's first lock in the file; *ring*, a turn of a ring; *files*, another file had the thread's
 * word for this one; *hold*, by a hold of both, whose home thread this is. *timer*: no ptrace, but a timer's signals, for two seconds or until
 * enough have come.
 */
#include "attack.h"
#include "stepping.h"

#include <sys/time.h>

/* So many of a timer's at least. */
enum { SIGNALS = 500 };

static const char *path;
static turnlock_file *file;
static turnlock_mutex *mutex;
/* Of a mutex, or of a ring. */
static void *locked;
static int32_t (*lock)(const void *, turnlock_acquired *), (*try_lock)(const void *, turnlock_acquired *);
static int32_t (*unlock)(const void *), (*is_contended)(const void *);
static turnlock_hold *both;
static int32_t lock_by(const void *of, turnlock_acquired *acquired) { return acquire_by(both, of, TURNLOCK_WAIT_FOREVER, acquired); }
static int32_t try_by(const void *of, turnlock_acquired *acquired) { return acquire_by(both, of, TURNLOCK_WAIT_NEVER, acquired); }
static int32_t release_it(const void *of) { return of == NULL ? -1 : turnlock_hold_release(both); }
static int32_t is_it_contended(const void *of) { return of == NULL ? -1 : turnlock_hold_is_contended(both); }
/* More files than a thread has words. */
static turnlock_mutex *others[16];
#define USE(kind, handle)                                                                                             \
    (locked = (handle), lock = (__typeof__(lock))turnlock_##kind##_lock,                                             \
     try_lock = (__typeof__(try_lock))turnlock_##kind##_try_lock, unlock = (__typeof__(unlock))turnlock_##kind##_unlock, \
     is_contended = (__typeof__(is_contended))turnlock_lock_is_contended)

/* --- the victim --- */

/* Set between lock and unlock, by the outer call or by the handler; the last token, of either. */
static volatile sig_atomic_t inside;
static volatile uint64_t token;

static void enter(const char *who, const turnlock_acquired *acquired)
{
    if (inside)
        FAIL("%s is inside, and so is %s", who, inside == 1 ? "the outer one" : "the handler");
    if (acquired->fencing_token <= token)
        FAIL("the token of %s is %llu after %llu", who, (unsigned long long)acquired->fencing_token,
             (unsigned long long)token);
    token = acquired->fencing_token;
}

static void handler(int signal)
{
    int before = errno;
    turnlock_acquired acquired = {.size = sizeof acquired};
    int32_t status = try_lock(locked, &acquired);
    if (status == 0) {
        sig_atomic_t was = inside;
        enter("the handler", &acquired);
        inside = 2;
        shared->succeeded++;
        status = is_contended(locked);
        if (status != 0)
            FAIL("is_contended gave the handler %d (%s)", status, turnlock_status_text(status));
        inside = was;
        status = unlock(locked);
        if (status != 0)
            FAIL("the handler's unlock gave %d (%s)", status, turnlock_status_text(status));
    } else if (status == TURNLOCK_ERROR_DEADLOCK || (both != NULL && status == TURNLOCK_ERROR_HOLD_BUSY)) {
        shared->deadlock++;
        /* The outer call has the lock, or none has while that is on the way in or out. */
        status = is_contended(locked);
        if (status != 0 && status != TURNLOCK_ERROR_NOT_OWNER && !(both != NULL && status == TURNLOCK_ERROR_HOLD_BUSY))
            FAIL("is_contended gave the handler %d (%s)", status, turnlock_status_text(status));
    } else {
        FAIL("the handler's try_lock gave %d (%s), signal %d", status, turnlock_status_text(status), signal);
    }
    errno = before;
}

static void lock_and_unlock(void)
{
    turnlock_acquired acquired = {.size = sizeof acquired};
    int32_t status = lock(locked, &acquired);
    if (status != 0)
        FAIL("the outer lock gave %d (%s)", status, turnlock_status_text(status));
    enter("the outer one", &acquired);
    inside = 1;
    inside = 0;
    status = unlock(locked);
    if (status != 0)
        FAIL("the outer unlock gave %d (%s)", status, turnlock_status_text(status));
}

static void handle_signal(int signal)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    MUST(sigaction(signal, &action, NULL));
}

static void open_all(void)
{
    file = open_file(path, 0);
    mutex = open_mutex(file, "a");
    USE(mutex, mutex);
}

/* Leaves a trap to the parent before and after each lock and unlock. */
static void victim(const char *way)
{
    /* With it, the names are there. */
    open_all();
    if (strcmp(way, "ring") == 0) {
        turnlock_ring *ring;
        EXPECT(0, turnlock_ring_open(file, "r", NULL, &ring));
        USE(ring, ring);
    }
    if (strcmp(way, "hold") == 0) {
        EXPECT(0, turnlock_hold_open(file, NULL, &both));
        lock = lock_by, try_lock = try_by, unlock = release_it, is_contended = is_it_contended;
    }
    lock_and_unlock();
    for (int other = 0; strcmp(way, "files") == 0 && other < 16; other++) {
        char name[4096];
        snprintf(name, sizeof name, "%s.%d", path, other);
        others[other] = open_mutex(open_file(name, 0), "a");
    }
    turnlock_hold *other;
    EXPECT(0, turnlock_hold_open(file, NULL, &other));
    handle_signal(SIGUSR1);
    MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    for (;;) {
        if (strcmp(way, "first") == 0) {
            EXPECT(0, turnlock_hold_close(other));
            EXPECT(0, turnlock_mutex_close(mutex));
            EXPECT(0, turnlock_file_close(file));
            open_all();
            EXPECT(0, turnlock_hold_open(file, NULL, &other));
        } else if (strcmp(way, "plain") == 0) {
            EXPECT(0, acquire_by(other, mutex, TURNLOCK_WAIT_FOREVER, NULL));
            EXPECT(0, turnlock_hold_release(other));
            EXPECT(0, acquire_by(other, mutex, TURNLOCK_WAIT_FOREVER, NULL));
            EXPECT(0, turnlock_hold_release(other));
        } else {
            lock_and_unlock();
            lock_and_unlock();
            for (int other = 0; other < 16 && others[other] != NULL; other++) {
                EXPECT(0, turnlock_mutex_lock(others[other], NULL));
                EXPECT(0, turnlock_mutex_unlock(others[other]));
            }
        }
        trap(OUTSIDE);
        shared->phase = STEPPED;
        lock_and_unlock();
        trap(OVER);
    }
}

static void by_timer(void)
{
    open_all();
    handle_signal(SIGALRM);
    struct itimerval every = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    MUST(setitimer(ITIMER_REAL, &every, NULL));
    at("a timer's signals");
    uint64_t began = now_ns(), rounds = 0;
    /* For longer on a machine that is so busy that few of them come. */
    while (now_ns() - began < 2 * SECOND ||
           (shared->succeeded + shared->deadlock < SIGNALS && now_ns() - began < 60 * SECOND))
        for (int round = 0; round < 100; round++, rounds++)
            lock_and_unlock();
    MUST(setitimer(ITIMER_REAL, &never, NULL));
    if (shared->succeeded + shared->deadlock < SIGNALS)
        FAIL("only %d signals came", shared->succeeded + shared->deadlock);
    PASS("timer: %llu times; %d signals met a free lock, %d a taken one", (unsigned long long)rounds, shared->succeeded,
         shared->deadlock);
}

int main(int count, char **arguments)
{
    if (count != 3)
        FAIL("wrong arguments");
    path = arguments[1];
    shared = shared_memory(sizeof *shared);
    if (strcmp(arguments[2], "timer") == 0) {
        by_timer();
        return 0;
    }
    stay_on_this_processor();
    child = fork_with_us();
    if (child == 0)
        victim(arguments[2]);
    step_through(arguments[2], 1);
    kill(child, SIGKILL);
    return 0;
}
