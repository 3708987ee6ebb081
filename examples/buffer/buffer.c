/*
 * buffer.c: producers and consumers, each a process, over a bounded buffer in shared memory.
 *
 *     cc -std=c99 -o buffer buffer.c -lturnlock
 *     ./buffer FOLDER produce COUNT              puts the numbers 1 to COUNT into the buffer
 *     ./buffer FOLDER consume [--die-inside]     takes numbers out and adds them up, until the buffer is closed and empty
 *     ./buffer FOLDER close
 *
 * The buffer is FOLDER/buffer, which every process maps: room for 8 numbers, and the sum of all that were taken out. A mutex
 * protects it. Producers wait at the condition "not full", consumers at "not empty". The numbers lie in no process, so a
 * check afterwards can show that none was lost or taken twice: the sum is that of all that were put in.
 *
 * With --die-inside a consumer stops in the midst of taking a number out, with the mutex, and waits to be killed. The
 * next process that has the mutex is told. A consumer that is killed while it waits takes no notification with it.
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

#define ME "buffer.c"
#define ROOM 8

/* Volatile, so that the compiler keeps the order of the stores: a process may be killed between any two of them. */
struct buffer {
    volatile uint64_t put, taken; /* how many numbers ever were; at most ROOM more were put than taken */
    volatile uint64_t numbers[ROOM];
    volatile uint64_t sums[2]; /* sums[taken % 2] is the sum of what was taken; the other one is of no account */
    volatile uint64_t is_closed;
};

static turnlock_mutex *mutex;
static turnlock_condition *not_full, *not_empty;
static struct buffer *buffer;

static int32_t check(int32_t status)
{
    if (status < 0) {
        fprintf(stderr, ME ": %s\n", turnlock_last_error_message());
        exit(EXIT_FAILURE);
    }
    return status;
}

static void give_up(const char *what)
{
    fprintf(stderr, ME ": %s: %s\n", what, strerror(errno));
    exit(EXIT_FAILURE);
}

static struct buffer *map_buffer(void)
{
    int file = open("buffer", O_RDWR | O_CREAT, 0600);
    void *memory;
    if (file < 0 || ftruncate(file, sizeof(struct buffer)) != 0)
        give_up("buffer");
    memory = mmap(NULL, sizeof(struct buffer), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        give_up("buffer");
    close(file);
    return memory;
}

/*
 * After each call by which we have the mutex, turnlock_condition_wait too. If a process died with it there is nothing to
 * repair: one store each, to `put` or `taken`, makes a number be put in or taken out; before it nothing has happened.
 *
 * But a notification may have died with it, if it was killed after that store. So all that wait look again.
 */
static void has_mutex(int32_t status)
{
    turnlock_previous_owner dead = {.size = sizeof dead};

    if (check(status) != TURNLOCK_OWNER_DEAD)
        return;
    check(turnlock_lock_previous_owner((turnlock_lock *)mutex, &dead));
    printf(ME ": told that process %" PRIu32 " died inside; %" PRIu64 " numbers are in the buffer\n", dead.pid,
           buffer->put - buffer->taken);
    fflush(stdout);
    check(turnlock_mutex_mark_consistent(mutex));
    check(turnlock_condition_notify_all(not_full, NULL));
    check(turnlock_condition_notify_all(not_empty, NULL));
}

/* Unlocks the mutex, waits, and has the mutex again. */
static void wait_for(const turnlock_condition *condition)
{
    has_mutex(turnlock_condition_wait(condition, (turnlock_lock *)mutex, TURNLOCK_WAIT_FOREVER, 0, NULL));
}

static void produce(uint64_t count)
{
    uint64_t number;

    for (number = 1; number <= count; number++) {
        has_mutex(turnlock_mutex_lock(mutex, NULL));
        /* In a loop: another producer may have come before us since we were notified. */
        while (buffer->put - buffer->taken == ROOM)
            wait_for(not_full);
        buffer->numbers[buffer->put % ROOM] = number;
        buffer->put++;
        check(turnlock_condition_notify_one(not_empty, NULL));
        check(turnlock_mutex_unlock(mutex));
    }
    printf(ME ": done, %" PRIu64 " put in\n", count);
}

static void consume(int die_inside)
{
    uint64_t count = 0, number;
    int has_waited = 0;

    for (;;) {
        has_mutex(turnlock_mutex_lock(mutex, NULL));
        while (buffer->put == buffer->taken && !buffer->is_closed) {
            if (!has_waited) {
                printf(ME ": process %ld waits\n", (long)getpid());
                fflush(stdout);
                has_waited = 1;
            }
            wait_for(not_empty);
        }
        if (buffer->put == buffer->taken)
            break;
        number = buffer->numbers[buffer->taken % ROOM];
        buffer->sums[(buffer->taken + 1) % 2] = buffer->sums[buffer->taken % 2] + number;
        if (die_inside) {
            printf(ME ": stopped half-way through taking %" PRIu64 "; now: kill -9 %ld\n", number, (long)getpid());
            fflush(stdout);
            while (getchar() != EOF)
                ;
            abort();
        }
        buffer->taken++;
        check(turnlock_condition_notify_one(not_full, NULL));
        check(turnlock_mutex_unlock(mutex));
        count++;
    }
    check(turnlock_mutex_unlock(mutex));
    printf(ME ": done, %" PRIu64 " taken out\n", count);
}

static void close_buffer(void)
{
    has_mutex(turnlock_mutex_lock(mutex, NULL));
    buffer->is_closed = 1;
    check(turnlock_condition_notify_all(not_empty, NULL));
    check(turnlock_mutex_unlock(mutex));
    printf(ME ": done, %" PRIu64 " were put in\n", buffer->put);
}

static int usage(const char *program)
{
    fprintf(stderr, "usage: %s FOLDER produce COUNT | consume [--die-inside] | close\n", program);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    turnlock_file_options options = {0};
    turnlock_file *file;
    const char *act = argc > 2 ? argv[2] : "";
    int produces = argc == 4 && strcmp(act, "produce") == 0, closes = argc == 3 && strcmp(act, "close") == 0;
    int dies = argc == 4 && strcmp(act, "consume") == 0 && strcmp(argv[3], "--die-inside") == 0;
    int consumes = dies || (argc == 3 && strcmp(act, "consume") == 0);

    if (!produces && !consumes && !closes)
        return usage(argv[0]);
    if (chdir(argv[1]) != 0)
        give_up(argv[1]);
    options.size = sizeof options;
    options.label = ME;
    check(turnlock_file_open("buffer.lock", &options, &file));
    check(turnlock_mutex_open(file, "buffer", NULL, &mutex));
    check(turnlock_condition_open(file, "not full", 0, &not_full));
    check(turnlock_condition_open(file, "not empty", 0, &not_empty));
    buffer = map_buffer();

    if (produces)
        produce(strtoull(argv[3], NULL, 10));
    else if (consumes)
        consume(dies);
    else
        close_buffer();

    check(turnlock_condition_close(not_full));
    check(turnlock_condition_close(not_empty));
    check(turnlock_mutex_close(mutex));
    check(turnlock_file_close(file));
    return EXIT_SUCCESS;
}
