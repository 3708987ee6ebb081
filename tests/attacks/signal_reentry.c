/*
 * signal_reentry.c: a signal handler that tries the very lock that its thread is taking or giving back, after every
 * instruction of it.
 *
 *     signal_reentry LOCK-FILE biased|plain|first|ring|files|as|timer
 *
 * The handler's turnlock_mutex_try_lock says TURNLOCK_ERROR_DEADLOCK, or, where the outer call has not begun or is over,
 * it succeeds, and the handler unlocks. It asks whether somebody waits behind it, too. Never are two inside at once, and fencing tokens always rise.
 *
 * This process steps a child, by ptrace, through one lock and unlock again and again, and delivers a signal after so many
 * instructions, another number each time: *biased*, the thread alone had the lock before; *plain*, another participant
 * had it; *first*, the thread's first lock in the file; *ring*, a turn of a ring; *files*, another file had the thread's
 * word for this one; *as*, the lock of a participant of both, whose home thread this is. *timer*: no ptrace, but a timer's signals, for two seconds.
 */
#include "attack.h"

#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/user.h>

/* How many points there are at most: every instruction, or where there are more, those that are met for the first time (the
 * rest is loops), or where there are more of these, some of them in equal distances. */
enum { POINTS = 3000, INSTRUCTIONS = 2000000 };

/* What the child is at, for the parent. */
enum phase { OUTSIDE = 1, STEPPED, OVER };

static struct shared {
    volatile enum phase phase;
    volatile int succeeded, deadlock; /* what the handler got */
} *shared;

static const char *path;
static turnlock_file *file;
static turnlock_mutex *mutex;
/* Of a mutex, or of a ring. */
static void *locked;
static int32_t (*lock)(const void *, turnlock_acquired *), (*try_lock)(const void *, turnlock_acquired *);
static int32_t (*unlock)(const void *), (*is_contended)(const void *);
static turnlock_participant *both;
static int32_t lock_as(const void *of, turnlock_acquired *acquired) { return turnlock_mutex_lock_as(of, both, acquired); }
static int32_t try_as(const void *of, turnlock_acquired *acquired) { return turnlock_mutex_try_lock_as(of, both, acquired); }
static int32_t unlock_as(const void *of) { return turnlock_mutex_unlock_as(of, both); }
static int32_t is_contended_as(const void *of) { return turnlock_mutex_is_contended_as(of, both); }
/* More files than a thread has words. */
static turnlock_mutex *others[16];
#define USE(kind, handle)                                                                                             \
    (locked = (handle), lock = (__typeof__(lock))turnlock_##kind##_lock,                                             \
     try_lock = (__typeof__(try_lock))turnlock_##kind##_try_lock, unlock = (__typeof__(unlock))turnlock_##kind##_unlock, \
     is_contended = (__typeof__(is_contended))turnlock_##kind##_is_contended)

/* --- the victim --- */

/* Set between lock and unlock, by whoever of them; the last token, of whoever. */
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
    } else if (status == TURNLOCK_ERROR_DEADLOCK || (both != NULL && status == TURNLOCK_ERROR_PARTICIPANT_BUSY)) {
        shared->deadlock++;
        /* The outer call's lock, or nobody's while it is on the way in or out. */
        status = is_contended(locked);
        if (status != 0 && status != TURNLOCK_ERROR_NOT_OWNER)
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
    if (strcmp(way, "as") == 0) {
        EXPECT(0, turnlock_participant_open(file, NULL, &both));
        lock = lock_as, try_lock = try_as, unlock = unlock_as, is_contended = is_contended_as;
    }
    lock_and_unlock();
    for (int other = 0; strcmp(way, "files") == 0 && other < 16; other++) {
        char name[4096];
        snprintf(name, sizeof name, "%s.%d", path, other);
        others[other] = open_mutex(open_file(name, 0), "a");
    }
    turnlock_participant *other;
    EXPECT(0, turnlock_participant_open(file, NULL, &other));
    handle_signal(SIGUSR1);
    MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    for (;;) {
        if (strcmp(way, "first") == 0) {
            EXPECT(0, turnlock_participant_close(other));
            EXPECT(0, turnlock_mutex_close(mutex));
            EXPECT(0, turnlock_file_close(file));
            open_all();
            EXPECT(0, turnlock_participant_open(file, NULL, &other));
        } else if (strcmp(way, "plain") == 0) {
            EXPECT(0, turnlock_mutex_lock_as(mutex, other, NULL));
            EXPECT(0, turnlock_mutex_unlock_as(mutex, other));
            EXPECT(0, turnlock_mutex_lock_as(mutex, other, NULL));
            EXPECT(0, turnlock_mutex_unlock_as(mutex, other));
        } else {
            lock_and_unlock();
            lock_and_unlock();
            for (int other = 0; other < 16 && others[other] != NULL; other++) {
                EXPECT(0, turnlock_mutex_lock(others[other], NULL));
                EXPECT(0, turnlock_mutex_unlock(others[other]));
            }
        }
        shared->phase = OUTSIDE;
        __asm__ volatile("int3" ::: "memory");
        shared->phase = STEPPED;
        lock_and_unlock();
        shared->phase = OVER;
        __asm__ volatile("int3" ::: "memory");
    }
}

/* --- who steps it --- */

static pid_t child;

static void until_trapped(enum __ptrace_request how)
{
    int status;
    MUST(waitpid(child, &status, 0));
    /* It was blocked when it was sent: delivered now. */
    while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1) {
        MUST(ptrace(how, child, NULL, (void *)(intptr_t)SIGUSR1));
        MUST(waitpid(child, &status, 0));
    }
    if (!WIFSTOPPED(status))
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 121); /* it has given the verdict */
    if (WSTOPSIG(status) != SIGTRAP) {
        struct user_regs_struct registers;
        ptrace(PTRACE_GETREGS, child, NULL, &registers);
        FAIL("signal %d at %#llx", WSTOPSIG(status), registers.rip);
    }
}

/* Has it go on until it is stopped by a trap; `signal` is delivered first. */
static void go_on(enum __ptrace_request how, int signal)
{
    if (ptrace(how, child, NULL, (void *)(intptr_t)signal) < 0)
        FAIL("ptrace: %s", strerror(errno));
    until_trapped(how);
}

static uint64_t address(void)
{
    struct user_regs_struct registers;
    MUST(ptrace(PTRACE_GETREGS, child, NULL, &registers));
    return registers.rip;
}

static void go_to(enum phase phase)
{
    do
        go_on(PTRACE_CONT, 0);
    while (shared->phase != phase);
}

/* Goes on to the trap after the section, or to where `place` is; 0 if it does not come there. By a breakpoint, which is
 * much cheaper than steps. */
static int run_to(uint64_t place)
{
    errno = 0;
    long code = ptrace(PTRACE_PEEKTEXT, child, (void *)place, NULL);
    if (errno != 0)
        FAIL("ptrace: %s", strerror(errno));
    MUST(ptrace(PTRACE_POKETEXT, child, (void *)place, (void *)((code & ~0xffL) | 0xcc)));
    go_on(PTRACE_CONT, 0);
    MUST(ptrace(PTRACE_POKETEXT, child, (void *)place, (void *)code));
    struct user_regs_struct registers;
    MUST(ptrace(PTRACE_GETREGS, child, NULL, &registers));
    if (registers.rip != place + 1)
        return 0;
    registers.rip = place;
    MUST(ptrace(PTRACE_SETREGS, child, NULL, &registers));
    return 1;
}

static uint64_t *way;

/* Of each instruction, which one before it (or itself) is the last that was never met before it. */
static uint32_t *landmark;

/* Notes the way from one trap to the other. How many instructions that is. */
static uint32_t note_the_way(void)
{
    way = malloc(INSTRUCTIONS * sizeof *way);
    landmark = malloc(INSTRUCTIONS * sizeof *landmark);
    static uint64_t met[1 << 22];
    uint32_t count = 0, last = 0;
    until_trapped(PTRACE_CONT);
    if (shared->phase != OUTSIDE)
        FAIL("the victim is not where it should be");
    for (; shared->phase != OVER; count++) {
        if (count == INSTRUCTIONS)
            FAIL("more than %d instructions", INSTRUCTIONS);
        way[count] = address();
        uint64_t hash = way[count] * UINT64_C(0x9e3779b97f4a7c15) >> 42;
        while (met[hash] != 0 && met[hash] != way[count])
            hash = (hash + 1) & ((1 << 22) - 1);
        if (met[hash] == 0)
            last = count;
        met[hash] = way[count];
        landmark[count] = last;
        go_on(PTRACE_SINGLESTEP, 0);
    }
    return count;
}

/* Before which instructions a signal comes. How many they are. */
static uint32_t choose_points(uint32_t count, uint32_t *points)
{
    uint32_t chosen = 0;
    for (uint32_t place = 0; place < count; place++)
        if (count <= POINTS || landmark[place] == place)
            points[chosen++] = place;
    if (chosen <= POINTS)
        return chosen;
    for (uint32_t point = 0; point < POINTS; point++)
        points[point] = points[(uint64_t)point * chosen / POINTS];
    return POINTS;
}

static void step_through(const char *which)
{
    at("the way without a signal");
    static uint32_t places[INSTRUCTIONS];
    uint32_t count = note_the_way(), points = choose_points(count, places), strayed = 0, runs = 1;
    at("a signal after so many instructions");
    int before = 0;
    for (uint32_t point = 0; point < points; point++) {
        uint32_t steps = places[point];
        go_to(OUTSIDE);
        if (landmark[steps] > 0 && !run_to(way[landmark[steps]])) {
            strayed++; /* another way than the first time */
            continue;
        }
        for (uint32_t step = landmark[steps]; step < steps && shared->phase != OVER; step++)
            go_on(PTRACE_SINGLESTEP, 0);
        if (shared->phase == OVER) {
            strayed++;
            continue;
        }
        int deadlocks = shared->deadlock, successes = shared->succeeded;
        go_on(PTRACE_CONT, SIGUSR1);
        if (shared->phase != OVER)
            FAIL("a trap in the midst of it, %u instructions after its beginning", steps);
        if (shared->deadlock + shared->succeeded != deadlocks + successes + 1)
            FAIL("the handler did not run once, %u instructions after the beginning", steps);
        runs += (shared->deadlock > deadlocks) != before;
        before = shared->deadlock > deadlocks;
    }
    if (shared->deadlock == 0 || shared->succeeded == 0)
        FAIL("%s: of %u signals %d met a lock that was free, %d one that was taken", which, points, shared->succeeded,
             shared->deadlock);
    if (strayed > points / 2)
        FAIL("%s: of %u points among %u instructions %u strayed", which, points, count, strayed);
    PASS("%s: %u instructions, %u points: %d met a free lock, %d a taken one, %u strayed; %u changes", which, count, points,
         shared->succeeded, shared->deadlock, strayed, runs - 1);
}

static void by_timer(void)
{
    open_all();
    handle_signal(SIGALRM);
    struct itimerval every = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    MUST(setitimer(ITIMER_REAL, &every, NULL));
    at("a timer's signals");
    uint64_t began = now_ns(), rounds = 0;
    while (now_ns() - began < 2 * SECOND)
        for (int round = 0; round < 100; round++, rounds++)
            lock_and_unlock();
    MUST(setitimer(ITIMER_REAL, &never, NULL));
    if (shared->succeeded + shared->deadlock < 500)
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
    child = fork_with_us();
    if (child == 0)
        victim(arguments[2]);
    step_through(arguments[2]);
    kill(child, SIGKILL);
    return 0;
}
