/*
 * reader.c: reads a cache in shared memory, beside other readers, while a writer in Rust (writer.rs) renews it.
 *
 *     cc -std=c99 -o reader-c reader.c -lturnlock
 *     ./reader-c FOLDER SECONDS [--die-inside]
 *
 * The cache is a file that every process maps: FOLDER/cache, 4096 numbers of 64 bits. The writer fills all of them with
 * its fencing token. So a reader that sees two different numbers has read beside a writer; and all numbers must be the
 * fencing token that comes with its own hold, which is that of the last writer.
 *
 * With --die-inside the program stops inside, as a reader, and waits to be killed.
 */

#define _POSIX_C_SOURCE 200809L /* mmap, clock_gettime */

#include <turnlock.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ME "reader.c"
#define NUMBERS 4096

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

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static const volatile uint64_t *map_cache(void)
{
    int file = open("cache", O_RDONLY);
    void *cache;
    if (file < 0)
        give_up("cache");
    cache = mmap(NULL, NUMBERS * sizeof(uint64_t), PROT_READ, MAP_SHARED, file, 0);
    if (cache == MAP_FAILED)
        give_up("cache");
    close(file);
    return cache;
}

int main(int argc, char **argv)
{
    turnlock_file_options options = {0};
    turnlock_file *file;
    turnlock_rwlock *lock;
    const volatile uint64_t *cache;
    uint64_t reads = 0, generations = 0, last = 0;
    double end;
    size_t i;

    if (argc != 3 && !(argc == 4 && strcmp(argv[3], "--die-inside") == 0)) {
        fprintf(stderr, "usage: %s FOLDER SECONDS [--die-inside]\n", argv[0]);
        return EXIT_FAILURE;
    }
    if (chdir(argv[1]) != 0)
        give_up(argv[1]);
    options.size = sizeof options;
    options.label = ME;
    check(turnlock_file_open("cache.lock", &options, &file));
    check(turnlock_rwlock_open(file, "cache", NULL, &lock));
    cache = map_cache();

    for (end = now() + atof(argv[2]); now() < end;) {
        turnlock_acquired acquired = {.size = sizeof acquired};
        /* Beside the other readers. After a moment the lock is biased to its readers: a few loads and stores. */
        if (check(turnlock_rwlock_lock_shared(lock, &acquired)) != TURNLOCK_OWNER_DEAD) {
            /* What a dead writer left half-done, only the next writer repairs. Until then there is nothing to read. */
            for (i = 0; i < NUMBERS; i++) {
                if (cache[i] != 0 && cache[i] != acquired.fencing_token) {
                    fprintf(stderr, ME ": number %zu is %" PRIu64 " beside fencing token %" PRIu64 "\n", i, cache[i],
                            acquired.fencing_token);
                    return EXIT_FAILURE;
                }
            }
            if (argc == 4 && cache[0] != 0) {
                printf(ME ": stopped inside; now: kill -9 %ld\n", (long)getpid());
                fflush(stdout);
                while (getchar() != EOF)
                    ;
                abort();
            }
            reads++;
            if (acquired.fencing_token != last) {
                last = acquired.fencing_token;
                generations++;
            }
        }
        check(turnlock_rwlock_unlock(lock));
    }
    printf(ME ": done, %" PRIu64 " reads of %" PRIu64 " generations\n", reads, generations);

    check(turnlock_rwlock_close(lock));
    check(turnlock_file_close(file));
    return EXIT_SUCCESS;
}
