/*
 * apc_turnlock.h: the types of APCu's locks, as turnlock's, and pins, which APCu does not have.
 *
 * APCu keeps its locks in the shared memory that the server's first process makes and its children inherit by fork. What is
 * kept there here is the handle of that first process, which its children use as their own participants.
 */

#ifndef APC_TURNLOCK_H
#define APC_TURNLOCK_H

#include "apc.h"

#include <turnlock.h>

typedef struct {
    turnlock_rwlock *rwlock;
} apc_turnlock_rwlock;

typedef struct {
    turnlock_mutex *mutex;
} apc_turnlock_mutex;

/*
 * Pins the shared memory: the cache is not emptied after a writer's death before this thread unpins it. For a thread that
 * has pointers to entries while it has no lock. Pins may be nested. Returns 0, with a warning, on failure.
 */
PHP_APCU_API zend_bool apc_turnlock_pin(void);

/*
 * Takes back a pin. Returns 1 if the thread found out meanwhile that a process had been killed inside, and the cache is
 * empty now: what was done since the pin may be done again.
 */
PHP_APCU_API zend_bool apc_turnlock_unpin(void);

#endif
