/*
 * apc_turnlock.c: APCu's lock interface (apc_lock.h, apc_mutex.h) over turnlock, in the place of apc_lock.c and apc_mutex.c.
 *
 * The locks are in a file without a name, which ends with the last process of the server. A reader that is killed is found
 * dead by the next writer, and nothing has to be done. A writer that is killed may have left the cache's lists or the
 * allocator's half-done. The next process that takes the lock, to read or to write, is told (TURNLOCK_OWNER_DEAD), and
 * empties both (`empty_torn_cache`).
 *
 * Three kinds of locks, taken in this order:
 *
 *   pins              rwlock   shared while a thread has pointers to entries without having the cache's lock: it copies a value
 *                              into memory that it has allocated, or out of an entry whose reference it counts
 *   the cache's lock  rwlock   APCu's own: the lists of entries
 *   segments' locks   mutexes  APCu's own: the lists of free blocks
 *
 * The cache is emptied under all of them, exclusively, so that no thread has a pointer into what is written anew. A thread
 * that is told of a death while it has a pin, or the cache's lock, cannot take the pins exclusively. It leaves the lock as
 * the dead one did (turnlock_..._abandon), so that the next one is told too, notes the death (`torn`), fails whatever it
 * does next with locks, and empties the cache when it has left the last of them.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif

#include "apc_cache.h"
#include "apc_globals.h"
#include "apc_lock.h"
#include "apc_mutex.h"
#include "apc_sma.h"

#include <stdio.h>
#include <sys/mman.h>
#include <syslog.h>
#include <unistd.h>

static turnlock_file *apc_turnlock_file;
static turnlock_rwlock *apc_turnlock_pins;
static unsigned apc_turnlock_users;
/* Names have to differ. Locks are made by the first process alone, before it forks. */
static unsigned apc_turnlock_number;

static __thread struct {
    unsigned pins;
    zend_bool pinned; /* the lock of pins is held: not if the first pin was made under a cache's lock */
    unsigned inside;  /* how many caches' locks are held: 0 or 1, as long as there is one cache */
    zend_bool torn;   /* a death was told of, and the cache not emptied yet */
} apc_turnlock_thread;

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
    turnlock_rwlock_options pins = {0};
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
    /* A process that is killed while it has this lock exclusively has the cache's too, of which the next one is told. */
    pins.size = sizeof pins;
    pins.flags = TURNLOCK_RWLOCK_RELEASE_ON_DEATH;
    if (apc_turnlock_file != NULL && failed(turnlock_rwlock_open(apc_turnlock_file, "apcu-pins", &pins, &apc_turnlock_pins))) {
        turnlock_file_close(apc_turnlock_file);
        apc_turnlock_file = NULL;
    }
    return apc_turnlock_file != NULL;
}

static void leave_file(void)
{
    if (apc_turnlock_users > 0 && --apc_turnlock_users == 0 && apc_turnlock_file != NULL) {
        turnlock_file_close(apc_turnlock_file);
        apc_turnlock_file = NULL;
        apc_turnlock_pins = NULL;
    }
}

/*
 * Empties the cache if a process died while it changed it. The thread has no lock and no pin. Returns 0, with a warning,
 * on failure.
 *
 * Of several threads that were told of a death, the first to come here empties the cache, and the others find it whole. A
 * process that is killed in here dies with the cache's lock, whatever else it has done already, so that the next one does
 * all of it again.
 */
static zend_bool empty_torn_cache(void)
{
    apc_cache_t *cache = apc_user_cache;
    turnlock_rwlock *lock = cache->header->lock.rwlock;
    zend_bool torn = 0, emptied = 0;
    int32_t segments = 0, status;

    apc_turnlock_thread.torn = 0;
    HANDLE_BLOCK_INTERRUPTIONS();
    status = turnlock_rwlock_lock_exclusive(apc_turnlock_pins, NULL);
    if (status >= 0) {
        status = turnlock_rwlock_lock_exclusive(lock, NULL);
        if (status >= 0) {
            torn = status == TURNLOCK_OWNER_DEAD;
            while (segments < cache->sma->num) {
                status = turnlock_mutex_lock(apc_sma_mutex(cache->sma, segments)->mutex, NULL);
                if (status < 0)
                    break;
                torn |= status == TURNLOCK_OWNER_DEAD;
                segments++;
            }
            if (torn && status >= 0) {
                emptied = apc_cache_reset(cache);
                if (!emptied)
                    status = TURNLOCK_ERROR_NOT_RECOVERABLE;
            }
            while (segments-- > 0) {
                turnlock_mutex *mutex = apc_sma_mutex(cache->sma, segments)->mutex;
                if (emptied)
                    turnlock_mutex_mark_consistent(mutex); /* refused, if its own holder did not die */
                if (emptied || !torn)
                    turnlock_mutex_unlock(mutex);
                else
                    turnlock_mutex_abandon(mutex);
            }
            if (emptied)
                turnlock_rwlock_mark_consistent(lock); /* likewise */
            if (emptied || !torn)
                turnlock_rwlock_unlock(lock);
            else
                turnlock_rwlock_abandon(lock);
        }
        turnlock_rwlock_unlock(apc_turnlock_pins);
    }
    HANDLE_UNBLOCK_INTERRUPTIONS();

    if (status < 0) {
        apc_warning("Failed to empty the cache after a process was killed: %s", turnlock_status_text(status));
        return 0;
    }
    /* To the server's log, by the one that emptied it, and not as a warning of the script, which has done nothing wrong. */
    if (emptied)
        php_log_err_with_severity("APCu: a process was killed while it changed the cache, which was emptied", LOG_WARNING);
    return 1;
}

/* Notes a death, and empties the cache at once if this thread is in the way of nothing. Returns whether it did. */
static zend_bool told_of_death(void)
{
    apc_turnlock_thread.torn = 1;
    return apc_turnlock_thread.pins == 0 && apc_turnlock_thread.inside == 0 && empty_torn_cache();
}

/* Whether a lock belongs to the cache that `empty_torn_cache` empties: another extension may have made caches of its own. */
static zend_bool of_user_cache(const void *lock)
{
    apc_sma_t *sma = apc_user_cache == NULL ? NULL : apc_user_cache->sma;
    int32_t i;

    for (i = 0; sma != NULL && i < sma->num; i++) {
        const char *start = sma->segs[i].shmaddr;
        if ((const char *)lock >= start && (const char *)lock < start + sma->size)
            return 1;
    }
    return 0;
}

PHP_APCU_API zend_bool apc_turnlock_pin(void)
{
    /* A thread that has the cache's lock needs no pin, and may not wait for one: who empties it waits for that lock. */
    if (apc_turnlock_thread.pins == 0 && apc_turnlock_thread.inside == 0) {
        int32_t status;
        HANDLE_BLOCK_INTERRUPTIONS();
        status = turnlock_rwlock_lock_shared(apc_turnlock_pins, NULL);
        HANDLE_UNBLOCK_INTERRUPTIONS();
        if (status < 0) {
            apc_warning("Failed to pin the cache: %s", turnlock_status_text(status));
            return 0;
        }
        apc_turnlock_thread.pinned = 1;
    }
    apc_turnlock_thread.pins++;
    return 1;
}

PHP_APCU_API zend_bool apc_turnlock_unpin(void)
{
    if (--apc_turnlock_thread.pins > 0)
        return 0;
    if (apc_turnlock_thread.pinned) {
        apc_turnlock_thread.pinned = 0;
        HANDLE_BLOCK_INTERRUPTIONS();
        turnlock_rwlock_unlock(apc_turnlock_pins);
        HANDLE_UNBLOCK_INTERRUPTIONS();
    }
    return apc_turnlock_thread.torn && apc_turnlock_thread.inside == 0 && empty_torn_cache();
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

static zend_bool acquire(
    apc_lock_t *lock, int32_t (*acquire_mode)(const turnlock_rwlock *, turnlock_acquired *), const char *mode)
{
    int32_t status;

    do {
        if (apc_turnlock_thread.torn)
            return 0;
        HANDLE_BLOCK_INTERRUPTIONS();
        status = acquire_mode(lock->rwlock, NULL);
        if (status == TURNLOCK_OK) {
            apc_turnlock_thread.inside++;
            return 1;
        }
        if (status == TURNLOCK_OWNER_DEAD) {
            if (of_user_cache(lock)) {
                turnlock_rwlock_abandon(lock->rwlock);
            } else {
                /* Unlocked by a writer without mark_consistent, which closes it for everyone. */
                turnlock_rwlock_unlock(lock->rwlock);
                status = TURNLOCK_ERROR_NOT_RECOVERABLE;
            }
        }
        HANDLE_UNBLOCK_INTERRUPTIONS();
        if (status < 0) {
            apc_warning("Failed to acquire %s lock: %s", mode, turnlock_status_text(status));
            return 0;
        }
    } while (told_of_death());
    return 0;
}

static zend_bool release(apc_lock_t *lock)
{
    zend_bool unlocked = turnlock_rwlock_unlock(lock->rwlock) >= 0;

    apc_turnlock_thread.inside--;
    /* A segment's lock has told of a death meanwhile. */
    if (apc_turnlock_thread.torn && apc_turnlock_thread.pins == 0 && apc_turnlock_thread.inside == 0)
        empty_torn_cache();
    return unlocked;
}

PHP_APCU_API zend_bool apc_lock_rlock(apc_lock_t *lock)
{
    return acquire(lock, turnlock_rwlock_lock_shared, "read");
}

PHP_APCU_API zend_bool apc_lock_wlock(apc_lock_t *lock)
{
    return acquire(lock, turnlock_rwlock_lock_exclusive, "write");
}

PHP_APCU_API zend_bool apc_lock_runlock(apc_lock_t *lock)
{
    return release(lock);
}

PHP_APCU_API zend_bool apc_lock_wunlock(apc_lock_t *lock)
{
    return release(lock);
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

    do {
        if (apc_turnlock_thread.torn)
            return 0;
        HANDLE_BLOCK_INTERRUPTIONS();
        status = turnlock_mutex_lock(lock->mutex, NULL);
        if (status == TURNLOCK_OK)
            return 1;
        if (status == TURNLOCK_OWNER_DEAD) {
            if (of_user_cache(lock)) {
                turnlock_mutex_abandon(lock->mutex);
            } else {
                turnlock_mutex_unlock(lock->mutex);
                status = TURNLOCK_ERROR_NOT_RECOVERABLE;
            }
        }
        HANDLE_UNBLOCK_INTERRUPTIONS();
        if (status < 0) {
            apc_warning("Failed to acquire lock: %s", turnlock_status_text(status));
            return 0;
        }
    } while (told_of_death());
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
