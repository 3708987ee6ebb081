/*
 * tally.c: adds to the numbers in a JSON file, beside tally.py, which does so from a pool of processes.
 *
 *     cc -std=c99 -o tally-c tally.c -lturnlock
 *     ./tally-c FOLDER TIMES
 *
 * The folder has a file `tally.json`: {"c": 0, "python": 0, "total": 0}. Each time, under the lock: read it, add one to "c"
 * and to "total", write it. The lock is the mutex "tally" in `tally.lock`, and tally.py says the same.
 */

#define _POSIX_C_SOURCE 200809L /* chdir */

#include <turnlock.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* JSON, as both programs write it. */
#define SHAPE "{\"c\": %lu, \"python\": %lu, \"total\": %lu}"

struct tally {
    unsigned long c, python, total;
};

static int32_t check(int32_t status)
{
    if (status < 0) {
        fprintf(stderr, "tally.c: %s\n", turnlock_last_error_message());
        exit(EXIT_FAILURE);
    }
    return status;
}

static struct tally read_tally(void)
{
    struct tally tally;
    FILE *file = fopen("tally.json", "r");

    if (file == NULL || fscanf(file, SHAPE, &tally.c, &tally.python, &tally.total) != 3) {
        fprintf(stderr, "tally.c: tally.json: not what is expected: " SHAPE "\n", 0ul, 0ul, 0ul);
        exit(EXIT_FAILURE);
    }
    fclose(file);
    return tally;
}

/* In place: a process that reads beside it, without the lock, sees half a file. */
static void write_tally(struct tally tally)
{
    FILE *file = fopen("tally.json", "w");

    if (file == NULL || fprintf(file, SHAPE, tally.c, tally.python, tally.total) < 0 || fclose(file) != 0) {
        perror("tally.c: tally.json");
        exit(EXIT_FAILURE);
    }
}

int main(int count, char **arguments)
{
    turnlock_file *file;
    turnlock_mutex *mutex;

    if (count != 3 || chdir(arguments[1]) != 0) {
        fprintf(stderr, "usage: tally-c FOLDER TIMES\n");
        return EXIT_FAILURE;
    }
    check(turnlock_file_open("tally.lock", NULL, &file));
    check(turnlock_mutex_open(file, "tally", NULL, &mutex));
    for (unsigned long times = strtoul(arguments[2], NULL, 10); times > 0; times--) {
        struct tally tally;

        if (check(turnlock_mutex_lock(mutex, NULL)) == TURNLOCK_OWNER_DEAD) {
            /* The file may be half written. tally.py knows how to make it anew; this one does not. */
            fprintf(stderr, "tally.c: a holder died while it wrote tally.json\n");
            check(turnlock_mutex_abandon(mutex));
            return EXIT_FAILURE;
        }
        tally = read_tally();
        tally.c++;
        tally.total++;
        write_tally(tally);
        check(turnlock_mutex_unlock(mutex));
    }
    check(turnlock_mutex_close(mutex));
    check(turnlock_file_close(file));
    return EXIT_SUCCESS;
}
