/*
 * records.c: edits the records of one file, together with other processes, each record by one at a time.
 *
 *     cc -std=c99 -o records records.c -lturnlock
 *     ./records FOLDER EDITS SEED [--die-inside]
 *
 * FOLDER/records has 64 records of 8 numbers each, all 0 at first. An edit takes a range of 1 to 8 records, adds 1 to every
 * number of them, one after the other, and lets the range go. Edits of ranges that do not overlap happen at the same time.
 * The program counts its own edits of each record in FOLDER/edits.SEED, so that a check afterwards can show that none
 * is lost: all 8 numbers of a record are what the programs' counts add up to.
 *
 * With --die-inside the program stops half-way through its first edit and waits to be killed. The program that takes
 * one of its records next, and all of them, is told: it makes the numbers of each agree.
 */

#define _POSIX_C_SOURCE 200809L /* mmap */

#include <turnlock.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RECORDS 64
#define NUMBERS 8

static char me[64] = "records.c";

static int32_t check(int32_t status)
{
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", me, turnlock_last_error_message());
        exit(EXIT_FAILURE);
    }
    return status;
}

static void give_up(const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", me, what, strerror(errno));
    exit(EXIT_FAILURE);
}

/* So many numbers of a file, which is made that long. */
static volatile uint64_t *map(const char *name, size_t numbers)
{
    int file = open(name, O_RDWR | O_CREAT, 0600);
    void *memory;
    if (file < 0 || ftruncate(file, (off_t)(numbers * sizeof(uint64_t))) != 0)
        give_up(name);
    memory = mmap(NULL, numbers * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        give_up(name);
    close(file);
    return memory;
}

/*
 * One died that edited some of all the records, and had them alone, as we do now. An edit that was begun is completed:
 * the first number of a record is written first.
 */
static void repair(turnlock_rangelock *lock, volatile uint64_t *records)
{
    turnlock_previous_owner dead = {.size = sizeof dead};
    int record, number, repaired = 0;

    for (record = 0; record < RECORDS; record++) {
        volatile uint64_t *first = &records[record * NUMBERS];
        for (number = 1; number < NUMBERS; number++) {
            if (first[number] != first[0]) {
                first[number] = first[0];
                repaired++;
            }
        }
    }
    check(turnlock_lock_previous_owner((turnlock_lock *)lock, &dead));
    printf("%s: told that %s (process %" PRIu32 ") died inside; repaired %d numbers\n", me, dead.label, dead.pid,
           repaired);
    fflush(stdout);
    check(turnlock_rangelock_mark_consistent(lock, 0, TURNLOCK_RANGE_END));
}

int main(int argc, char **argv)
{
    turnlock_file_options options = {0};
    turnlock_file *file;
    turnlock_rangelock *lock;
    volatile uint64_t *records, *edits;
    unsigned long left;
    unsigned seed;
    int die_inside = argc == 5 && strcmp(argv[4], "--die-inside") == 0;

    if (argc != 4 && !die_inside) {
        fprintf(stderr, "usage: %s FOLDER EDITS SEED [--die-inside]\n", argv[0]);
        return EXIT_FAILURE;
    }
    snprintf(me, sizeof me, "records.c %s", argv[3]);
    if (chdir(argv[1]) != 0)
        give_up(argv[1]);
    options.size = sizeof options;
    options.label = me;
    check(turnlock_file_open("records.lock", &options, &file));
    check(turnlock_rangelock_open(file, "records", NULL, &lock));
    records = map("records", RECORDS * NUMBERS);
    {
        char name[64];
        snprintf(name, sizeof name, "edits.%s", argv[3]);
        edits = map(name, RECORDS);
    }

    seed = (unsigned)strtoul(argv[3], NULL, 10);
    srand(seed);
    for (left = strtoul(argv[2], NULL, 10); left > 0; left--) {
        uint64_t start = (uint64_t)rand() % RECORDS, end = start + 1 + (uint64_t)rand() % 8, record;
        int number;
        if (end > RECORDS)
            end = RECORDS;
        /* In other ranges others edit meanwhile. */
        if (check(turnlock_rangelock_lock_exclusive(lock, start, end, NULL)) == TURNLOCK_OWNER_DEAD) {
            /* A holder died in a part of it, which may be more than we have: to repair it, take all. */
            check(turnlock_rangelock_unlock(lock, start, end));
            if (check(turnlock_rangelock_lock_exclusive(lock, 0, TURNLOCK_RANGE_END, NULL)) == TURNLOCK_OWNER_DEAD)
                repair(lock, records);
            check(turnlock_rangelock_unlock(lock, 0, TURNLOCK_RANGE_END));
            left++;
            continue;
        }
        for (record = start; record < end; record++) {
            edits[record]++;
            for (number = 0; number < NUMBERS; number++) {
                records[record * NUMBERS + (uint64_t)number]++;
                if (die_inside && number == NUMBERS / 2) {
                    printf("%s: stopped half-way through record %" PRIu64 "; now: kill -9 %ld\n", me, record,
                           (long)getpid());
                    fflush(stdout);
                    while (getchar() != EOF)
                        ;
                    abort();
                }
            }
        }
        check(turnlock_rangelock_unlock(lock, start, end));
    }
    printf("%s: done, %s edits\n", me, argv[2]);

    check(turnlock_rangelock_close(lock));
    check(turnlock_file_close(file));
    return EXIT_SUCCESS;
}
