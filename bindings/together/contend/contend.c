/*
 * contend.c KIND FOLDER TURNS [--die-at N]: examples/counter.c under a reader/writer lock or a semaphore; run.py has the
 * story.
 */

#define _POSIX_C_SOURCE 200809L /* chdir, getpid */

#include <turnlock.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ME "contend.c"

static int32_t check(int32_t status)
{
    if (status < 0) {
        fprintf(stderr, ME ": %s\n", turnlock_last_error_message());
        exit(EXIT_FAILURE);
    }
    return status;
}

static FILE *opened(const char *name, const char *mode)
{
    FILE *file = fopen(name, mode);
    if (file == NULL) {
        perror(name);
        exit(EXIT_FAILURE);
    }
    return file;
}

static uint64_t read_counter(void)
{
    uint64_t count = 0;
    FILE *file = opened("counter", "r");
    if (fscanf(file, "%" SCNu64, &count) != 1)
        exit(EXIT_FAILURE);
    fclose(file);
    return count;
}

static void write_counter(uint64_t count)
{
    FILE *file = opened("counter", "r+");
    fprintf(file, "%" PRIu64 "\n", count);
    fclose(file);
}

static void append(uint64_t token)
{
    FILE *file = opened("journal", "a");
    fprintf(file, ME " %" PRIu64 "\n", token);
    fclose(file);
}

static uint64_t journal_lines(void)
{
    uint64_t lines = 0;
    int byte;
    FILE *file = opened("journal", "r");
    while ((byte = getc(file)) != EOF)
        lines += byte == '\n';
    fclose(file);
    return lines;
}

static void wait_to_be_killed(void)
{
    printf(ME ": stopped inside; now: kill -9 %ld\n", (long)getpid());
    fflush(stdout);
    while (getchar() != EOF)
        ;
    abort();
}

static void write_turn(const turnlock_rwlock *lock, int dies)
{
    turnlock_acquired acquired = {.size = sizeof acquired};
    turnlock_previous_owner dead = {.size = sizeof dead};
    uint64_t count;
    if (check(turnlock_rwlock_lock_exclusive(lock, &acquired)) == TURNLOCK_OWNER_DEAD) {
        write_counter(journal_lines());
        check(turnlock_lock_previous_owner((turnlock_lock *)lock, &dead));
        printf(ME ": told that %s (process %" PRIu32 ") died inside\n", dead.label, dead.pid);
        check(turnlock_rwlock_mark_consistent(lock));
    }
    count = read_counter();
    append(acquired.fencing_token);
    if (dies)
        wait_to_be_killed();
    write_counter(count + 1);
    check(turnlock_rwlock_unlock(lock));
}

static void read_turn(const turnlock_rwlock *lock)
{
    int is_whole = check(turnlock_rwlock_lock_shared(lock, NULL)) != TURNLOCK_OWNER_DEAD;
    if (is_whole && read_counter() != journal_lines()) {
        fprintf(stderr, ME ": a reader saw half a turn\n");
        exit(EXIT_FAILURE);
    }
    check(turnlock_rwlock_unlock(lock));
}

static void permit_turn(const turnlock_semaphore *permits, int dies)
{
    uint64_t count;
    check(turnlock_semaphore_acquire(permits, 1, NULL));
    if (dies)
        wait_to_be_killed();
    count = read_counter();
    append(0);
    write_counter(count + 1);
    check(turnlock_semaphore_release(permits, 1));
}

int main(int argc, char **argv)
{
    turnlock_file_options options = {.size = sizeof options, .label = ME};
    turnlock_file *file;
    turnlock_rwlock *lock = NULL;
    turnlock_semaphore *permits = NULL;
    unsigned long turn, turns, die_at;
    if ((argc != 4 && argc != 6) || chdir(argv[2]) != 0)
        return EXIT_FAILURE;
    turns = strtoul(argv[3], NULL, 10);
    die_at = argc == 6 ? strtoul(argv[5], NULL, 10) : 0;
    check(turnlock_file_open("demo.lock", &options, &file));
    if (strcmp(argv[1], "rwlock") == 0)
        check(turnlock_rwlock_open(file, "rwlock", NULL, &lock));
    else
        check(turnlock_semaphore_open(file, "semaphore", NULL, &permits));
    for (turn = 1; turn <= turns; turn++) {
        if (lock != NULL) {
            write_turn(lock, turn == die_at);
            read_turn(lock);
        } else {
            permit_turn(permits, turn == die_at);
        }
    }
    return EXIT_SUCCESS;
}
