/*
 * signal_kinds.c: a signal handler that wants, and would wait for, what its thread is taking or giving back of a lock that has
 * parts, permits or modes; after every instruction of it.
 *
 *     signal_kinds LOCK-FILE first|range|read|key|permits|place|portions|reader|writer|upgrade
 *
 * The handler gets TURNLOCK_ERROR_DEADLOCK, or what it wants, and gives it back; it never waits for its own thread. What the
 * thread has afterwards is what it asked for, whatever the handler had meanwhile: another participant gets nothing that
 * conflicts with it, and everything once the thread has given it back.
 *
 * *first*: a range, in a file in which the thread has no slot yet; *read*: a range that both only read, and that the handler
 * gets; *place*: the semaphore of a thread that keeps its place reserved in the queue, and whose handler takes another number of
 * permits, so that the place goes; *portions*: permits that are given back one by one.
 */
#include "attack.h"
#include "stepping.h"

#define WAIT (5 * SECOND)

static const char *path;
static turnlock_file *file;
static turnlock_hold *other; /* for a look at what others get */
static turnlock_rangelock *ranges;
static turnlock_keyedlock *keys;
static turnlock_semaphore *permits;
static turnlock_rwlock *rwlock;

/* Without waiting. */
#define LOOK(of) {.size = sizeof(turnlock_request), .lock = (turnlock_lock *)(of), .wait = TURNLOCK_WAIT_NEVER}
#define RANGE(start) turnlock_rangelock_lock_exclusive_for(ranges, start, (start) + 10, WAIT, NULL)
#define READ(start) turnlock_rangelock_lock_shared_for(ranges, start, (start) + 10, WAIT, NULL)
#define RANGE_BACK(start) turnlock_rangelock_unlock(ranges, start, (start) + 10)
#define KEY(key) turnlock_keyedlock_lock_exclusive_for(keys, key, 1, WAIT, NULL)
#define KEY_BACK(key) turnlock_keyedlock_unlock(keys, key, 1)
#define PERMITS(so_many) turnlock_semaphore_acquire_for(permits, so_many, WAIT, NULL)

/* Of the thread; of its handler, what conflicts with that and what does not; and of another participant, which gets the former
 * only while the thread has nothing. */
static struct what {
    const char *name;
    int32_t (*take)(void), (*give_back)(void);
    int32_t (*want)(void), (*done)(void);
    int32_t (*want_more)(void), (*done_more)(void);
    int32_t (*look)(void), (*look_no_more)(void);
    int handler_may_have_it_too;
} what;

static int32_t take_range(void) { return RANGE(10); }
static int32_t give_range_back(void) { return RANGE_BACK(10); }
static int32_t want_range(void) { return RANGE(15); }
static int32_t done_range(void) { return RANGE_BACK(15); }
static int32_t want_other_range(void) { return RANGE(40); }
static int32_t done_other_range(void) { return RANGE_BACK(40); }
static int32_t look_at_range(void)
{
    turnlock_range range = {5, 25};
    turnlock_request request = LOOK(ranges);
    request.ranges = &range, request.range_count = 1;
    return turnlock_hold_acquire(other, &request, NULL);
}
static int32_t look_away(void) { return turnlock_hold_release(other); }
static int32_t read_range(void) { return READ(10); }

static int32_t take_key(void) { return KEY("a"); }
static int32_t give_key_back(void) { return KEY_BACK("a"); }
static int32_t want_other_key(void) { return KEY("b"); }
static int32_t done_other_key(void) { return KEY_BACK("b"); }
static int32_t look_at_key(void)
{
    turnlock_key key = {"a", 1};
    turnlock_request request = LOOK(keys);
    request.keys = &key, request.key_count = 1;
    return turnlock_hold_acquire(other, &request, NULL);
}

/* Of three. */
static int32_t take_2(void) { return PERMITS(2); }
static int32_t give_2_back(void) { return turnlock_semaphore_release(permits, 2); }
static int32_t give_1_and_1_back(void)
{
    int32_t status = turnlock_semaphore_release(permits, 1);
    return status != 0 ? status : turnlock_semaphore_release(permits, 1);
}
static int32_t want_3(void) { return PERMITS(3); }
static int32_t done_3(void) { return turnlock_semaphore_release(permits, 3); }
static int32_t look_at_3(void)
{
    turnlock_request request = LOOK(permits);
    request.permits = 3;
    return turnlock_hold_acquire(other, &request, NULL);
}
static int32_t look_away_from_3(void) { return turnlock_hold_release_permits(other, 3); }

static int32_t take_shared(void) { return turnlock_rwlock_lock_shared_for(rwlock, WAIT, NULL); }
static int32_t take_exclusive(void) { return turnlock_rwlock_lock_exclusive_for(rwlock, WAIT, NULL); }
static int32_t take_and_upgrade(void)
{
    int32_t status = turnlock_rwlock_lock_upgradable_for(rwlock, WAIT, NULL);
    return status != 0 ? status : turnlock_rwlock_upgrade_for(rwlock, WAIT, NULL);
}
static int32_t give_rwlock_back(void) { return turnlock_rwlock_unlock(rwlock); }
static int32_t look_shared(void)
{
    turnlock_request request = LOOK(rwlock);
    request.mode = TURNLOCK_MODE_SHARED;
    return turnlock_hold_acquire(other, &request, NULL);
}
static int32_t look_exclusive(void) { return acquire_by(other, rwlock, TURNLOCK_WAIT_NEVER, NULL); }

/* After another one's, a place is not retained at once. */
static int32_t take_2_after_another(void)
{
    int32_t status = look_at_3();
    if (status == 0)
        EXPECT(0, look_away_from_3());
    return take_2();
}

#define RANGES give_range_back, want_range, done_range, want_other_range, done_other_range, look_at_range, look_away, 0
#define OF_3(take, give_back) take, give_back, want_3, done_3, take_2, give_2_back, look_at_3, look_away_from_3, 0
static const struct what known[] = {
    {"first", take_range, RANGES},
    {"range", take_range, RANGES},
    {"read", read_range, give_range_back, read_range, give_range_back, want_other_range, done_other_range, look_at_range,
     look_away, 1},
    {"key", take_key, give_key_back, take_key, give_key_back, want_other_key, done_other_key, look_at_key, look_away,
     0},
    {"permits", OF_3(take_2, give_2_back)},
    {"place", take_2, give_2_back, take_2_after_another, give_2_back, take_2, give_2_back, look_at_3, look_away_from_3, 0},
    {"portions", OF_3(take_2, give_1_and_1_back)},
    {"reader", take_shared, give_rwlock_back, take_exclusive, give_rwlock_back, take_shared, give_rwlock_back, look_exclusive,
     look_away, 0},
    {"writer", take_exclusive, give_rwlock_back, take_shared, give_rwlock_back, take_exclusive, give_rwlock_back, look_shared,
     look_away, 0},
    {"upgrade", take_and_upgrade, give_rwlock_back, take_shared, give_rwlock_back, take_exclusive, give_rwlock_back,
     look_shared, look_away, 0},
};

/* --- the victim --- */

static volatile sig_atomic_t inside, handled;

/* Wants something, as the handler. */
static int wanted(int32_t (*want)(void), int32_t (*done)(void))
{
    int32_t status = want();
    if (status == TURNLOCK_ERROR_DEADLOCK)
        return 0;
    if (status != 0)
        FAIL("%s: the handler got %d (%s)", what.name, status, turnlock_status_text(status));
    status = done();
    if (status != 0)
        FAIL("%s: the handler gave back and got %d (%s)", what.name, status, turnlock_status_text(status));
    return 1;
}

static void handler(int signal)
{
    (void)signal;
    int before = errno, came = wanted(what.want, what.done);
    if (came && inside && !what.handler_may_have_it_too)
        FAIL("%s: the handler had what its thread has", what.name);
    shared->succeeded += came;
    shared->deadlock += !came;
    wanted(what.want_more, what.done_more);
    handled = 1;
    errno = before;
}

static void take_and_give_back(void)
{
    EXPECT(0, what.take());
    inside = 1;
    if (handled)
        EXPECT(TURNLOCK_ERROR_WOULD_BLOCK, what.look());
    inside = 0;
    EXPECT(0, what.give_back());
    if (handled) {
        EXPECT(0, what.look());
        EXPECT(0, what.look_no_more());
    }
    handled = 0;
}

static void open_all(void)
{
    turnlock_semaphore_options three = {.size = sizeof three, .permits = 3};
    file = open_file(path, 0);
    EXPECT(0, turnlock_rangelock_open(file, "ranges", NULL, &ranges));
    EXPECT(0, turnlock_keyedlock_open(file, "keys", NULL, &keys));
    EXPECT(0, turnlock_semaphore_open(file, "permits", &three, &permits));
    EXPECT(0, turnlock_rwlock_open(file, "rwlock", NULL, &rwlock));
    EXPECT(0, turnlock_hold_open(file, NULL, &other));
}

static void close_all(void)
{
    EXPECT(0, turnlock_rangelock_close(ranges));
    EXPECT(0, turnlock_keyedlock_close(keys));
    EXPECT(0, turnlock_semaphore_close(permits));
    EXPECT(0, turnlock_rwlock_close(rwlock));
    EXPECT(0, turnlock_hold_close(other));
    EXPECT(0, turnlock_file_close(file));
}

static void victim(void)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    MUST(sigaction(SIGUSR1, &action, NULL));
    open_all();
    MUST(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    for (;;) {
        if (strcmp(what.name, "first") == 0) {
            close_all();
            open_all();
        } else if (strcmp(what.name, "permits") == 0) {
            EXPECT(0, what.look());
            EXPECT(0, what.look_no_more());
        } else {
            /* Often enough that a bias or a reservation begins, whatever became of it the last time. */
            int rounds = strcmp(what.name, "place") == 0 ? 2000 : 20;
            for (int round = 0; round < rounds; round++)
                take_and_give_back();
        }
        trap(OUTSIDE);
        shared->phase = STEPPED;
        take_and_give_back();
        trap(OVER);
    }
}

int main(int count, char **arguments)
{
    if (count != 3)
        FAIL("wrong arguments");
    path = arguments[1];
    for (size_t one = 0; one < sizeof known / sizeof *known; one++)
        if (strcmp(known[one].name, arguments[2]) == 0)
            what = known[one];
    if (what.name == NULL)
        FAIL("no %s is known", arguments[2]);
    shared = shared_memory(sizeof *shared);
    stay_on_this_processor();
    child = fork_with_us();
    if (child == 0)
        victim();
    /* Every second place is retained at once. */
    step_through(what.name, strcmp(what.name, "place") == 0 ? 2 : 1);
    kill(child, SIGKILL);
    return 0;
}
