/*
 * cancel.c: pthread_cancel and the library. No turnlock function is a cancellation point: a call that a cancel meets does
 * what it was called for, and the thread is cancelled at the next cancellation point of its own.
 *
 *     cancel LOCK-FILE
 */
#include "attack.h"

/* One slot is the main thread's. */
enum { SLOTS = 16, FREE = SLOTS - 1, NOT_YET = 99 };

static const char *path;
static turnlock_file *file;
static turnlock_mutex *mutex, *side;
static turnlock_hold *hold;

/* Which call a thread makes with a cancel pending, and what came of it. */
struct call {
    const char *name;
    int32_t (*act)(void);
    void (*after)(void);
    int32_t wanted;
};

static int32_t came;
static volatile int ready, cancelled, went_on;

static void unlock(void)
{
    EXPECT(0, turnlock_mutex_unlock(mutex));
}

static int32_t lock(void)
{
    return turnlock_mutex_lock(mutex, NULL);
}

static int32_t timed_lock(void)
{
    return turnlock_mutex_lock_for(mutex, 20 * MILLISECOND, NULL);
}

static int32_t try_lock(void)
{
    return turnlock_mutex_try_lock(mutex, NULL);
}

static int32_t unlock_nothing(void)
{
    return turnlock_mutex_unlock(mutex);
}

static int32_t open_and_close_another_file(void)
{
    char another[4096];
    snprintf(another, sizeof another, "%s.2", path);
    turnlock_file *opened;
    int32_t status = turnlock_file_open(another, NULL, &opened);
    return status < 0 ? status : turnlock_file_close(opened);
}

static int32_t open_and_close_mutex(void)
{
    turnlock_mutex *opened;
    int32_t status = turnlock_mutex_open(file, "new", NULL, &opened);
    return status < 0 ? status : turnlock_mutex_close(opened);
}

static int32_t open_and_close_hold(void)
{
    turnlock_hold *opened;
    int32_t status = turnlock_hold_open(file, &own_slot, &opened);
    return status < 0 ? status : turnlock_hold_close(opened);
}

static void mark_consistent_and_unlock(void)
{
    EXPECT(0, turnlock_mutex_mark_consistent(mutex));
    unlock();
}

static void *with_a_cancel_pending(void *with)
{
    const struct call *call = with;
    MUST_0(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL));
    ready = 1;
    until(&cancelled, "the thread is cancelled");
    MUST_0(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL));
    came = call->act();
    if (came >= 0 && call->after)
        call->after();
    pthread_testcancel();
    went_on = 1;
    return NULL;
}

static void check_cancelled(pthread_t thread, const char *call, int32_t wanted)
{
    void *result = join(thread);
    if (came == NOT_YET)
        FAIL("%s, met by a cancel: the thread ended inside it", call);
    if (came != wanted)
        FAIL("%s, met by a cancel: %d (%s) instead of %d", call, came, turnlock_status_text(came), wanted);
    if (result != PTHREAD_CANCELED || went_on)
        FAIL("%s: the cancel was lost", call);
    int slots = free_slots(file);
    if (slots != FREE)
        FAIL("%s, met by a cancel: %d of %d slots are free, not %d", call, slots, SLOTS, FREE);
}

static void begin(const char *what)
{
    at(what);
    came = NOT_YET;
    ready = cancelled = went_on = 0;
}

static void meet(const char *name, int32_t (*act)(void), void (*after)(void), int32_t wanted)
{
    struct call call = {name, act, after, wanted};
    begin(name);
    pthread_t thread = start(with_a_cancel_pending, &call);
    until(&ready, "the thread is ready");
    MUST_0(pthread_cancel(thread));
    cancelled = 1;
    check_cancelled(thread, name, wanted);
    EXPECT(0, turnlock_mutex_lock_for(side, SECOND, NULL));
    EXPECT(0, turnlock_mutex_unlock(side));
}

static void *waiter(void *unused)
{
    ready = 1;
    came = lock();
    if (came >= 0)
        unlock();
    pthread_testcancel();
    went_on = 1;
    return unused;
}

/* Cancelled while it waits, soon after it came or when it is long asleep. */
static void cancel_a_waiter(uint64_t after_ns)
{
    begin("turnlock_mutex_lock, waiting");
    EXPECT(0, acquire_by(hold, mutex, TURNLOCK_WAIT_FOREVER, NULL));
    pthread_t thread = start(waiter, NULL);
    until(&ready, "the thread is ready");
    sleep_ns(after_ns);
    MUST_0(pthread_cancel(thread));
    sleep_ns(30 * MILLISECOND);
    if (came != NOT_YET)
        FAIL("turnlock_mutex_lock, cancelled while it waited, gave %d though another one holds", came);
    EXPECT(0, turnlock_hold_release(hold));
    EXPECT(0, turnlock_hold_close(hold));
    check_cancelled(thread, "turnlock_mutex_lock, waiting", 0);
    EXPECT(0, turnlock_hold_open(file, &own_slot, &hold));
}

int main(int count, char **arguments)
{
    if (count != 2)
        FAIL("wrong arguments");
    path = arguments[1];
    pid_t holder = start_holder(path, SLOTS);
    file = open_file(path, SLOTS);
    mutex = open_mutex(file, "a");
    side = open_mutex(file, "side");
    EXPECT(0, turnlock_mutex_lock(side, NULL));
    EXPECT(0, turnlock_mutex_unlock(side));
    kill_and_wait(holder);
    meet("turnlock_mutex_lock, a dead holder's", lock, mark_consistent_and_unlock, TURNLOCK_OWNER_DEAD);
    meet("turnlock_mutex_lock, a first lock", lock, unlock, 0);
    meet("turnlock_mutex_try_lock, a first lock", try_lock, unlock, 0);
    meet("turnlock_mutex_unlock of nothing", unlock_nothing, NULL, TURNLOCK_ERROR_NOT_OWNER);
    meet("turnlock_mutex_open", open_and_close_mutex, NULL, 0);
    meet("turnlock_hold_open", open_and_close_hold, NULL, 0);
    meet("turnlock_file_open", open_and_close_another_file, NULL, 0);
    EXPECT(0, turnlock_hold_open(file, &own_slot, &hold));
    uint64_t after[] = {0, MILLISECOND / 2, 5 * MILLISECOND, 200 * MILLISECOND};
    for (size_t wait = 0; wait < sizeof after / sizeof *after; wait++)
        for (int times = 0; times < 5; times++)
            cancel_a_waiter(after[wait]);
    begin("turnlock_mutex_lock_for, met while it waits");
    struct call timed = {"turnlock_mutex_lock_for", timed_lock, NULL, TURNLOCK_ERROR_TIMED_OUT};
    EXPECT(0, acquire_by(hold, mutex, TURNLOCK_WAIT_FOREVER, NULL));
    pthread_t thread = start(with_a_cancel_pending, &timed);
    until(&ready, "the thread is ready");
    MUST_0(pthread_cancel(thread));
    cancelled = 1;
    void *result = join(thread);
    if (came != TURNLOCK_ERROR_TIMED_OUT || result != PTHREAD_CANCELED)
        FAIL("turnlock_mutex_lock_for, met by a cancel: %d, %s", came,
             result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    EXPECT(0, turnlock_hold_release(hold));
    EXPECT(0, turnlock_hold_close(hold));
    if (free_slots(file) != FREE)
        FAIL("slots are missing at the end");
    EXPECT(0, turnlock_mutex_lock_for(mutex, SECOND, NULL));
    EXPECT(0, turnlock_mutex_unlock(mutex));
    PASS("every call was done, and every cancel came after it");
}
