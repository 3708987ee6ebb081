/*
 * counter.c: adds to a counter in a plain file, together with other programs, one at a time.
 *
 *     cc -std=c99 -o counter-c counter.c -lturnlock
 *     ./counter-c FOLDER TURNS [--die-at N]
 *
 * The folder has a file `counter` with a number in it, 0 at first, and a file `journal`, empty at first. A turn reads
 * the counter, adds a line to the journal (who, and with which fencing token) and writes the counter plus one.
 * Programs that do this at the same time lose updates. So they share a lock, `demo.lock`, and take turns: counter.cpp,
 * counter.py, counter.sh and counter.rs do the same in the same folder.
 *
 * With --die-at N the program stops half-way through its Nth turn and waits to be killed, to show what the next one
 * is told.
 */

#define _POSIX_C_SOURCE 200809L /* chdir, getpid */

#include <turnlock.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ME "counter.c"

/* For every turnlock call: a negative status is a failure, and the library has the whole story of it. */
static int32_t check(int32_t status)
{
    if (status < 0) {
        fprintf(stderr, ME ": %s\n", turnlock_last_error_message());
        exit(EXIT_FAILURE);
    }
    return status;
}

/*
 * For the files. Ending while we have the lock is right: half a turn may stand in the files, and since we die without
 * unlocking, the next holder is told.
 */
static void give_up(const char *file)
{
    fprintf(stderr, ME ": %s: %s\n", file, strerror(errno));
    exit(EXIT_FAILURE);
}

static uint64_t read_counter(void)
{
    uint64_t count = 0;
    FILE *file = fopen("counter", "r");
    if (file == NULL)
        give_up("counter");
    if (fscanf(file, "%" SCNu64, &count) != 1) {
        fprintf(stderr, ME ": counter: not a number\n");
        exit(EXIT_FAILURE);
    }
    fclose(file);
    return count;
}

/* In place, since the number never gets shorter. */
static void write_counter(uint64_t count)
{
    FILE *file = fopen("counter", "r+");
    if (file == NULL || fprintf(file, "%" PRIu64 "\n", count) < 0 || fclose(file) != 0)
        give_up("counter");
}

static void append_to_journal(uint64_t fencing_token)
{
    FILE *file = fopen("journal", "a");
    if (file == NULL || fprintf(file, "%s %" PRIu64 "\n", ME, fencing_token) < 0 || fclose(file) != 0)
        give_up("journal");
}

static uint64_t journal_lines(void)
{
    uint64_t lines = 0;
    int byte;
    FILE *file = fopen("journal", "r");
    if (file == NULL)
        give_up("journal");
    while ((byte = getc(file)) != EOF)
        lines += byte == '\n';
    if (ferror(file))
        give_up("journal");
    fclose(file);
    return lines;
}

/*
 * The previous holder died inside, perhaps between the journal and the counter. The lock cannot know what that means
 * for our data; we do. The journal is written first, so it is right; the counter, which may even be half written, is
 * made to agree with it.
 */
static void repair(const turnlock_mutex *mutex)
{
    turnlock_previous_owner dead = {.size = sizeof dead};
    uint64_t count = journal_lines();

    write_counter(count);
    check(turnlock_lock_previous_owner((turnlock_lock *)mutex, &dead));
    printf(ME ": told that %s (process %" PRIu32 ") died inside; set the counter to %" PRIu64 "\n", dead.label,
           dead.pid, count);
    fflush(stdout);

    /* Only now: a lock whose death policy is inform would be closed by an unlock without it. */
    check(turnlock_mutex_mark_consistent(mutex));
}

/* Waits, half-way through a turn and with the lock, until killed (or until standard input ends). */
static void wait_to_be_killed(unsigned long turn, uint64_t fencing_token)
{
    printf(ME ": stopped half-way through turn %lu, with fencing token %" PRIu64 "; now: kill -9 %ld\n", turn,
           fencing_token, (long)getpid());
    fflush(stdout);
    while (getchar() != EOF)
        ;
    abort();
}

static void take_turn(const turnlock_mutex *mutex, unsigned long turn, unsigned long die_at)
{
    turnlock_acquired acquired = {.size = sizeof acquired};
    uint64_t count;

    /* Waits for our turn. The status is 0, or TURNLOCK_OWNER_DEAD: we have the lock, and its owner died. */
    if (check(turnlock_mutex_lock(mutex, &acquired)) == TURNLOCK_OWNER_DEAD)
        repair(mutex);

    count = read_counter();
    append_to_journal(acquired.fencing_token);
    if (turn == die_at)
        wait_to_be_killed(turn, acquired.fencing_token);
    write_counter(count + 1);

    check(turnlock_mutex_unlock(mutex));
}

/* A number from the command line, or the end of the program. */
static unsigned long number(const char *text)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') {
        fprintf(stderr, ME ": %s is not a number\n", text);
        exit(EXIT_FAILURE);
    }
    return value;
}

int main(int argc, char **argv)
{
    turnlock_file_options options = {0};
    turnlock_file *file;
    turnlock_mutex *mutex;
    unsigned long turns, turn, die_at = 0;

    if (argc != 3 && !(argc == 5 && strcmp(argv[3], "--die-at") == 0)) {
        fprintf(stderr, "usage: %s FOLDER TURNS [--die-at N]\n", argv[0]);
        return EXIT_FAILURE;
    }
    turns = number(argv[2]);
    if (argc == 5)
        die_at = number(argv[4]);
    if (chdir(argv[1]) != 0)
        give_up(argv[1]);

    /* The library that is loaded must speak the language of the header that we were compiled with. */
    if (turnlock_abi_version() != TURNLOCK_ABI_VERSION) {
        fprintf(stderr, ME ": compiled for another version of libturnlock than %s\n", turnlock_version());
        return EXIT_FAILURE;
    }

    /* The first process creates the file, and the lock in it. The label is what others read when we die. */
    options.size = sizeof options;
    options.label = ME;
    check(turnlock_file_open("demo.lock", &options, &file));
    check(turnlock_mutex_open(file, "counter", NULL, &mutex));

    for (turn = 1; turn <= turns; turn++)
        take_turn(mutex, turn, die_at);
    printf(ME ": done, %lu turns\n", turns);

    check(turnlock_mutex_close(mutex));
    check(turnlock_file_close(file));
    return EXIT_SUCCESS;
}
