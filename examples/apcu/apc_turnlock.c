/*
 * apc_turnlock.c: APCu's lock interface (apc_lock.h, apc_mutex.h) over turnlock, in the place of apc_lock.c and apc_mutex.c.
 *
 * The locks are in a file without a name, which ends with the last process of the server. A reader that is killed is found
 * dead by the next writer, and nothing has to be done. A writer that is killed may have left the cache's lists half-done,
 * which cannot be repaired: its lock is closed then, and every later call fails with a warning, as a cache that is full
 * does, in place of going on with broken lists or waiting for ever.
 */

#define _GNU_SOURCE /* memfd_create */

#include "apc_lock.h"
#include "apc_mutex.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static turnlock_file *apc_turnlock_file;
static unsigned apc_turnlock_users;
/* Names have to differ. Locks are made by the first process alone, before it forks. */
static unsigned apc_turnlock_number;

static zend_bool failed(int32_t status)
{
    if (status >= 0)
        return 0;
    apc_warning("turnlock: %s", turnlock_last_error_message());
    return 1;
}

static zend_bool use_file(void)
{
    turnlock_file_options options = {0};
    int descriptor;

    if (apc_turnlock_users++ > 0)
        return apc_turnlock_file != NULL;
    options.size = sizeof options;
    options.participants = 1024;
    options.label = "APCu";
    descriptor = memfd_create("apcu.lock", MFD_CLOEXEC);
    if (descriptor < 0 || fchmod(descriptor, 0600) != 0 ||
        failed(turnlock_file_open_descriptor(descriptor, &options, &apc_turnlock_file)))
        apc_turnlock_file = NULL;
    if (descriptor >= 0)
        close(descriptor);
    return apc_turnlock_file != NULL;
}

static void leave_file(void)
{
    if (apc_turnlock_users > 0 && --apc_turnlock_users == 0 && apc_turnlock_file != NULL) {
        turnlock_file_close(apc_turnlock_file);
        apc_turnlock_file = NULL;
    }
}

static const char *next_name(char *name, size_t size)
{
    snprintf(name, size, "apcu-%u", apc_turnlock_number++);
    return name;
}

PHP_APCU_API zend_bool apc_lock_init(void)
{
    return use_file();
}

PHP_APCU_API void apc_lock_cleanup(void)
{
    leave_file();
}

PHP_APCU_API zend_bool apc_lock_create(apc_lock_t *lock)
{
    char name[32];
    return !failed(
        turnlock_rwlock_open(apc_turnlock_file, next_name(name, sizeof name), NULL, &lock->rwlock));
}

PHP_APCU_API zend_bool apc_lock_rlock(apc_lock_t *lock)
{
    int32_t status;

    HANDLE_BLOCK_INTERRUPTIONS();
    status = turnlock_rwlock_lock_shared(lock->rwlock, NULL);
    if (status == TURNLOCK_OWNER_DEAD) {
        turnlock_rwlock_unlock(lock->rwlock);
        status = TURNLOCK_ERROR_NOT_RECOVERABLE;
    }
    if (status >= 0)
        return 1;
    HANDLE_UNBLOCK_INTERRUPTIONS();
    apc_warning("Failed to acquire read lock: %s", turnlock_status_text(status));
    return 0;
}

PHP_APCU_API zend_bool apc_lock_wlock(apc_lock_t *lock)
{
    int32_t status;

    HANDLE_BLOCK_INTERRUPTIONS();
    status = turnlock_rwlock_lock_exclusive(lock->rwlock, NULL);
    if (status == TURNLOCK_OWNER_DEAD) {
        /* Unlocked without mark_consistent, which closes it for everyone. */
        turnlock_rwlock_unlock(lock->rwlock);
        status = TURNLOCK_ERROR_NOT_RECOVERABLE;
    }
    if (status >= 0)
        return 1;
    HANDLE_UNBLOCK_INTERRUPTIONS();
    apc_warning("Failed to acquire write lock: %s", turnlock_status_text(status));
    return 0;
}

PHP_APCU_API zend_bool apc_lock_runlock(apc_lock_t *lock)
{
    return turnlock_rwlock_unlock(lock->rwlock) >= 0;
}

PHP_APCU_API zend_bool apc_lock_wunlock(apc_lock_t *lock)
{
    return turnlock_rwlock_unlock(lock->rwlock) >= 0;
}

PHP_APCU_API void apc_lock_destroy(apc_lock_t *lock)
{
    turnlock_rwlock_close(lock->rwlock);
}

PHP_APCU_API zend_bool apc_mutex_init(void)
{
    return use_file();
}

PHP_APCU_API void apc_mutex_cleanup(void)
{
    leave_file();
}

PHP_APCU_API zend_bool apc_mutex_create(apc_mutex_t *lock)
{
    char name[32];
    return !failed(turnlock_mutex_open(apc_turnlock_file, next_name(name, sizeof name), NULL, &lock->mutex));
}

PHP_APCU_API zend_bool apc_mutex_lock(apc_mutex_t *lock)
{
    int32_t status;

    HANDLE_BLOCK_INTERRUPTIONS();
    status = turnlock_mutex_lock(lock->mutex, NULL);
    if (status == TURNLOCK_OWNER_DEAD) {
        turnlock_mutex_unlock(lock->mutex);
        status = TURNLOCK_ERROR_NOT_RECOVERABLE;
    }
    if (status >= 0)
        return 1;
    HANDLE_UNBLOCK_INTERRUPTIONS();
    apc_warning("Failed to acquire lock: %s", turnlock_status_text(status));
    return 0;
}

PHP_APCU_API zend_bool apc_mutex_unlock(apc_mutex_t *lock)
{
    zend_bool unlocked = turnlock_mutex_unlock(lock->mutex) >= 0;
    HANDLE_UNBLOCK_INTERRUPTIONS();
    return unlocked;
}

PHP_APCU_API void apc_mutex_destroy(apc_mutex_t *lock)
{
    turnlock_mutex_close(lock->mutex);
}
