/*
 * wrong_handle.c: handles of another kind, and closed ones, where the fast path would go on at once with the right one.
 *
 *     wrong_handle LOCK-FILE
 *
 * Each lock is biased to the thread, or its place reserved, both while it is held and while it is not. Whatever is called then with a
 * handle that is not one of its own kind, or was closed, says so and changes nothing.
 */
#include "attack.h"

enum { TURNS = 100 };

static turnlock_file *file;
static turnlock_mutex *mutex;
static turnlock_rwlock *rwlock;
static turnlock_semaphore *semaphore;

static void open_all(void)
{
    turnlock_semaphore_options options = {.size = sizeof options, .permits = 1};
    EXPECT(0, turnlock_mutex_open(file, "m", NULL, &mutex));
    EXPECT(0, turnlock_rwlock_open(file, "r", NULL, &rwlock));
    EXPECT(0, turnlock_semaphore_open(file, "s", &options, &semaphore));
}

static void take_all(void)
{
    EXPECT(0, turnlock_mutex_lock(mutex, NULL));
    EXPECT(0, turnlock_rwlock_lock_exclusive(rwlock, NULL));
    EXPECT(0, turnlock_semaphore_acquire(semaphore, 1, NULL));
}

static void leave_all(void)
{
    EXPECT(0, turnlock_mutex_unlock(mutex));
    EXPECT(0, turnlock_rwlock_unlock(rwlock));
    EXPECT(0, turnlock_semaphore_release(semaphore, 1));
}

static void call_as_mutex(void *handle, int32_t status)
{
    turnlock_acquired acquired = {.size = sizeof acquired};
    EXPECT(status, turnlock_mutex_lock(handle, NULL));
    EXPECT(status, turnlock_mutex_try_lock(handle, &acquired));
    EXPECT(status, turnlock_mutex_unlock(handle));
}

static void call_as_rwlock(void *handle, int32_t status)
{
    turnlock_acquired acquired = {.size = sizeof acquired};
    EXPECT(status, turnlock_rwlock_lock_shared(handle, NULL));
    EXPECT(status, turnlock_rwlock_try_lock_shared(handle, &acquired));
    EXPECT(status, turnlock_rwlock_lock_exclusive(handle, NULL));
    EXPECT(status, turnlock_rwlock_try_lock_exclusive(handle, &acquired));
    EXPECT(status, turnlock_rwlock_unlock(handle));
}

static void call_as_semaphore(void *handle, int32_t status)
{
    turnlock_acquired acquired = {.size = sizeof acquired};
    EXPECT(status, turnlock_semaphore_acquire(handle, 1, NULL));
    EXPECT(status, turnlock_semaphore_try_acquire(handle, 1, &acquired));
    EXPECT(status, turnlock_semaphore_release(handle, 1));
}

static void call_wrongly(void)
{
    const int32_t invalid = TURNLOCK_ERROR_INVALID_ARGUMENT;
    /* First two that look alike in memory. */
    call_as_rwlock(semaphore, invalid);
    call_as_mutex(rwlock, invalid);
    call_as_mutex(semaphore, invalid);
    call_as_mutex(file, invalid);
    call_as_rwlock(mutex, invalid);
    call_as_rwlock(file, invalid);
    call_as_semaphore(mutex, invalid);
    call_as_semaphore(rwlock, invalid);
    call_as_semaphore(file, invalid);
}

int main(int count, char **arguments)
{
    if (count != 2)
        FAIL("usage: wrong_handle LOCK-FILE");
    file = open_file(arguments[1], 0);
    open_all();
    for (int turn = 0; turn < TURNS; turn++) {
        take_all();
        leave_all();
    }
    at("handles of another kind");
    call_wrongly();
    take_all();
    call_wrongly();
    leave_all();
    at("closed handles");
    turnlock_mutex *closed_mutex = mutex;
    turnlock_rwlock *closed_rwlock = rwlock;
    turnlock_semaphore *closed_semaphore = semaphore;
    EXPECT(0, turnlock_mutex_close(mutex));
    EXPECT(0, turnlock_rwlock_close(rwlock));
    EXPECT(0, turnlock_semaphore_close(semaphore));
    for (int held = 0; held < 2; held++) {
        call_as_mutex(closed_mutex, TURNLOCK_ERROR_CLOSED);
        call_as_rwlock(closed_rwlock, TURNLOCK_ERROR_CLOSED);
        call_as_semaphore(closed_semaphore, TURNLOCK_ERROR_CLOSED);
        if (held == 0) {
            open_all();
            take_all();
        }
    }
    leave_all();
    PASS("each said so");
    return 0;
}
