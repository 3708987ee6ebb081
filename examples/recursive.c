/*
 * recursive.c: a function that locks and calls itself, by a recursive mutex.
 *
 *     cc -std=c99 -o recursive recursive.c -lturnlock
 *     ./recursive FILE
 *
 * Each node of a tree is looked at under the lock, by a function that may also be called from outside, where no caller
 * has locked yet. All acquisitions of the thread, one inside the other, have one fencing token, and the lock is free
 * when the last of them is unlocked.
 */

#include <turnlock.h>

#include <stdio.h>
#include <stdlib.h>

#define DEPTH 4

static int nodes;
static uint64_t token;

static int32_t check(int32_t status)
{
    if (status < 0) {
        fprintf(stderr, "recursive.c: %s\n", turnlock_last_error_message());
        exit(EXIT_FAILURE);
    }
    return status;
}

static void visit(const turnlock_mutex *mutex, int depth)
{
    turnlock_acquired acquired = {.size = sizeof acquired};

    check(turnlock_mutex_lock(mutex, &acquired));
    if (token == 0)
        token = acquired.fencing_token;
    if (acquired.fencing_token != token) {
        fprintf(stderr, "recursive.c: another fencing token inside\n");
        exit(EXIT_FAILURE);
    }
    nodes++;
    if (depth < DEPTH) {
        visit(mutex, depth + 1);
        visit(mutex, depth + 1);
    }
    check(turnlock_mutex_unlock(mutex));
}

int main(int argc, char **argv)
{
    turnlock_mutex_options options = {.size = sizeof options, .flags = TURNLOCK_MUTEX_RECURSIVE};
    turnlock_file *file;
    turnlock_mutex *mutex;

    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return EXIT_FAILURE;
    }
    check(turnlock_file_open(argv[1], NULL, &file));
    check(turnlock_mutex_open(file, "tree", &options, &mutex));
    visit(mutex, 1);
    /* As often unlocked as locked: it has no holder now, so there is nothing to unlock. */
    if (turnlock_mutex_unlock(mutex) != TURNLOCK_ERROR_NOT_OWNER) {
        fprintf(stderr, "recursive.c: it is still locked\n");
        return EXIT_FAILURE;
    }
    printf("%d nodes, %d deep, one fencing token\n", nodes, DEPTH);

    check(turnlock_mutex_close(mutex));
    check(turnlock_file_close(file));
    return EXIT_SUCCESS;
}
