/*
 * The writer's turn of one database: a mutex in a lock file beside it, DATABASE-turnlock. Each connection has a place in its
 * queue by a hold of its own. The turn says who writes next, and nothing else: what may be written SQLite's own locks say, so
 * a turn that cannot be had, for whatever reason, costs no more than the order of the writers.
 */
#ifndef TURNLOCK_SQLITE_TURN_H
#define TURNLOCK_SQLITE_TURN_H

#include <stdbool.h>

typedef struct Turn Turn;

/* Whether to go on waiting for a turn. It is asked every 20 to 70 milliseconds, on the thread that waits. */
typedef bool (*GoOnWaiting)(void *context);

/* Opens the lock file of a database, which is made if it is missing, and takes a place there for one connection. NULL if that is
 * not possible: `why` then has a sentence that says why not. */
Turn *turn_open(const char *database, char *why, int room);

/* Gives the place back, and the turn with it. The last connection of all processes removes the lock file. */
void turn_close(Turn *turn);

/* What became of an attempt to get the turn. */
typedef enum { TURN_HELD, TURN_TAKEN_BY_ANOTHER, TURN_BROKEN } TurnState;

/* Takes the turn if it is free. TURN_BROKEN: nothing is to be had of this lock file any more, and `why` says why not. */
TurnState turn_try(Turn *turn, char *why, int room);

/* Takes the turn, or waits for it as long as `go_on` says. A writer of short turns that was alone in the queue the last time pauses for a
 * millisecond first; it is served first come first served from then on. */
TurnState turn_wait(Turn *turn, GoOnWaiting go_on, void *context, char *why, int room);

/* Gives the turn to the next one, if this connection has it. */
void turn_release(Turn *turn);

bool turn_is_held(const Turn *turn);

#endif
