/*
 * apc_turnlock.h: the types of APCu's locks, as turnlock's. `build.sh` has apc_lock.h and apc_mutex.h include it in the place
 * of their own types.
 *
 * APCu keeps its locks in the shared memory that the server's first process makes and its children inherit by fork. What is
 * kept there here is the handle of that first process, which its children use as their own participants.
 */

#ifndef APC_TURNLOCK_H
#define APC_TURNLOCK_H

#include <turnlock.h>

typedef struct {
    turnlock_rwlock *rwlock;
} apc_turnlock_rwlock;

typedef struct {
    turnlock_mutex *mutex;
} apc_turnlock_mutex;

#endif
