/*
 * formats.c: two versions of a program add to one store, each in a format of its own.
 *
 *     cc -std=c99 -o formats formats.c -lturnlock
 *     ./formats FOLDER FORMAT ADDS SEED [--die-inside]
 *
 * FOLDER/store has the format that it is in, 1 or 2 (0: new), and 64 words. In format 1 a word is twice a number, in format 2 twice
 * its complement, plus 1. Programs of one format add to the store side by side, by atomic instructions; never while those of the
 * other format do. That is what the group lock is for: the format is the group. The first of a group to come in finds the store in the
 * other format, and converts it, under a mutex, since others of its group may have come in with it.
 *
 * With --die-inside the program stops half-way through its first conversion and waits to be killed. The next program that comes
 * in is told, in whichever format it works, and converts what is left.
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

#define WORDS 64
/* How many adds are made before the others have a turn. */
#define AT_ONCE 50

static char me[64] = "formats.c";
static int die_inside;

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

/* The format and the words, in a file that is made as long. */
static uint64_t *map(const char *name)
{
    size_t bytes = (1 + WORDS) * sizeof(uint64_t);
    int file = open(name, O_RDWR | O_CREAT, 0600);
    void *memory;
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
        give_up(name);
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        give_up(name);
    close(file);
    return memory;
}

static uint64_t format_of(uint64_t word)
{
    return 1 + (word & 1);
}

/*
 * Has the store be in this format. A word says by itself in which it is, and one store converts it: so this goes on where one
 * that died left off.
 */
static void convert(uint64_t *store, uint64_t format)
{
    int at;
    for (at = 1; at <= WORDS; at++) {
        uint64_t word = __atomic_load_n(&store[at], __ATOMIC_RELAXED);
        if (format_of(word) != format)
            __atomic_store_n(&store[at], ~word, __ATOMIC_RELAXED);
        if (die_inside && at == WORDS / 2) {
            printf("%s: stopped half-way through a conversion; now: kill -9 %ld\n", me, (long)getpid());
            fflush(stdout);
            while (getchar() != EOF)
                ;
            abort();
        }
    }
    __atomic_store_n(&store[0], format, __ATOMIC_RELEASE);
}

/* Comes in with its format. Others of it are inside too, and none of the other format. */
static void enter(turnlock_grouplock *lock, turnlock_mutex *mutex, uint64_t *store, uint64_t format)
{
    int is_told = check(turnlock_grouplock_lock(lock, format, NULL)) == TURNLOCK_OWNER_DEAD;
    /* Acquire: the words were converted before it. */
    if (!is_told && __atomic_load_n(&store[0], __ATOMIC_ACQUIRE) == format)
        return;
    /* One that died with the mutex died inside the group lock too, so nothing has to be repaired for that alone. */
    check(turnlock_mutex_lock(mutex, NULL));
    convert(store, format);
    if (is_told) {
        turnlock_previous_owner dead = {.size = sizeof dead};
        int32_t marked;
        check(turnlock_lock_previous_owner((turnlock_lock *)lock, &dead));
        printf("%s: told that %s (process %" PRIu32 ") died inside; the store is in format %" PRIu64 "\n", me, dead.label,
               dead.pid, format);
        fflush(stdout);
        /* Another one that was told may have done so. */
        marked = turnlock_grouplock_mark_consistent(lock);
        if (marked != TURNLOCK_ERROR_NOT_INCONSISTENT)
            check(marked);
    }
    check(turnlock_mutex_unlock(mutex));
}

int main(int argc, char **argv)
{
    turnlock_file_options options = {0};
    turnlock_mutex_options of_mutex = {0};
    turnlock_file *file;
    turnlock_grouplock *lock;
    turnlock_mutex *mutex;
    uint64_t *store, format;
    unsigned long adds, left;
    int at_once;

    die_inside = argc == 6 && strcmp(argv[5], "--die-inside") == 0;
    format = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    if ((argc != 5 && !die_inside) || format < 1 || format > 2) {
        fprintf(stderr, "usage: %s FOLDER FORMAT ADDS SEED [--die-inside]; the format is 1 or 2\n", argv[0]);
        return EXIT_FAILURE;
    }
    snprintf(me, sizeof me, "formats.c %s", argv[4]);
    if (chdir(argv[1]) != 0)
        give_up(argv[1]);
    options.size = sizeof options;
    options.label = me;
    check(turnlock_file_open("store.lock", &options, &file));
    check(turnlock_grouplock_open(file, "store", NULL, &lock));
    of_mutex.size = sizeof of_mutex;
    of_mutex.flags = TURNLOCK_MUTEX_RELEASE_ON_DEATH;
    check(turnlock_mutex_open(file, "convert", &of_mutex, &mutex));
    store = map("store");

    srand((unsigned)strtoul(argv[4], NULL, 10));
    adds = left = strtoul(argv[3], NULL, 10);
    while (left > 0) {
        enter(lock, mutex, store, format);
        for (at_once = 0; at_once < AT_ONCE && left > 0; at_once++, left--) {
            uint64_t *word = &store[1 + rand() % WORDS], before;
            /* One more; in format 2 the complement is one less. */
            if (format == 1)
                before = __atomic_fetch_add(word, 2, __ATOMIC_RELAXED);
            else
                before = __atomic_fetch_sub(word, 2, __ATOMIC_RELAXED);
            if (format_of(before) != format) {
                fprintf(stderr, "%s: a word in format %" PRIu64 ", while those of format %" PRIu64 " are inside\n", me,
                        format_of(before), format);
                return EXIT_FAILURE;
            }
        }
        check(turnlock_grouplock_unlock(lock));
    }
    printf("%s: done, %lu adds\n", me, adds);

    check(turnlock_mutex_close(mutex));
    check(turnlock_grouplock_close(lock));
    check(turnlock_file_close(file));
    return EXIT_SUCCESS;
}
