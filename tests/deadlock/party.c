/*
 * party.c: a process that takes locks as it is told, and says what came of it.
 *
 *     party LOCK-FILE LABEL
 *
 * It reads lines: `take mutex|shared|exclusive|upgradable NAME`, `upgrade NAME`, `take range NAME START END`, `take key NAME KEY`,
 * `leave` (gives back all, the last first). It says `ready`, `taken`, `left`, or `error NUMBER MESSAGE`.
 */
#include <turnlock.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, WORD = 64 };

struct held {
    char kind[WORD];
    void *lock;
    uint64_t start, end;
    char key[WORD];
};

static turnlock_file *file;
static struct held all[MOST];
static int count;

static void say(int32_t status)
{
    if (status < 0)
        printf("error %" PRId32 " %s\n", status, turnlock_last_error_message());
    else
        printf("taken\n");
    fflush(stdout);
}

static int32_t take(struct held *held, const char *name)
{
    int32_t status;
    if (strcmp(held->kind, "mutex") == 0) {
        status = turnlock_mutex_open(file, name, NULL, (turnlock_mutex **)&held->lock);
        return status < 0 ? status : turnlock_mutex_lock(held->lock, NULL);
    }
    if (strcmp(held->kind, "range") == 0) {
        status = turnlock_rangelock_open(file, name, NULL, (turnlock_rangelock **)&held->lock);
        return status < 0 ? status : turnlock_rangelock_lock_exclusive(held->lock, held->start, held->end, NULL);
    }
    if (strcmp(held->kind, "key") == 0) {
        status = turnlock_keyedlock_open(file, name, NULL, (turnlock_keyedlock **)&held->lock);
        return status < 0 ? status : turnlock_keyedlock_lock_exclusive(held->lock, held->key, strlen(held->key), NULL);
    }
    status = turnlock_rwlock_open(file, name, NULL, (turnlock_rwlock **)&held->lock);
    if (status < 0)
        return status;
    if (strcmp(held->kind, "shared") == 0)
        return turnlock_rwlock_lock_shared(held->lock, NULL);
    if (strcmp(held->kind, "upgradable") == 0)
        return turnlock_rwlock_lock_upgradable(held->lock, NULL);
    return turnlock_rwlock_lock_exclusive(held->lock, NULL);
}

static int32_t give_back(struct held *held)
{
    if (strcmp(held->kind, "mutex") == 0)
        return turnlock_mutex_unlock(held->lock);
    if (strcmp(held->kind, "range") == 0)
        return turnlock_rangelock_unlock(held->lock, held->start, held->end);
    if (strcmp(held->kind, "key") == 0)
        return turnlock_keyedlock_unlock(held->lock, held->key, strlen(held->key));
    return turnlock_rwlock_unlock(held->lock);
}

int main(int argc, char **argv)
{
    turnlock_file_options options = {.size = sizeof options};
    char line[256], name[WORD];
    if (argc < 3)
        return EXIT_FAILURE;
    options.label = argv[2];
    if (turnlock_file_open(argv[1], &options, &file) < 0)
        return EXIT_FAILURE;
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "leave", 5) == 0) {
            while (count > 0)
                if (give_back(&all[--count]) < 0)
                    return EXIT_FAILURE;
            printf("left\n");
            fflush(stdout);
        } else if (strncmp(line, "upgrade", 7) == 0) {
            say(turnlock_rwlock_upgrade(all[count - 1].lock, NULL));
        } else if (count < MOST) {
            struct held *held = &all[count];
            int32_t status;
            memset(held, 0, sizeof *held);
            if (sscanf(line, "take range %63s %" SCNu64 " %" SCNu64, name, &held->start, &held->end) == 3)
                strcpy(held->kind, "range");
            else if (sscanf(line, "take key %63s %63s", name, held->key) == 2)
                strcpy(held->kind, "key");
            else if (sscanf(line, "take %63s %63s", held->kind, name) != 2)
                return EXIT_FAILURE;
            status = take(held, name);
            count += status >= 0;
            say(status);
        }
    }
    return EXIT_SUCCESS;
}
