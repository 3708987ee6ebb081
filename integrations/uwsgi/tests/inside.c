/*
 * What Python cannot do by itself: to have a lock of uWSGI's own and be killed then. app.py calls it by ctypes, under uWSGI's own locks
 * and under turnlock's.
 */
#include <uwsgi.h>

extern struct uwsgi_server uwsgi;

#define EXPORTED __attribute__((visibility("default")))

static struct uwsgi_cache *cache_named(const char *name) {
    struct uwsgi_cache *cache = uwsgi_cache_by_name((char *)name);
    if (cache == NULL) abort();
    return cache;
}

static struct uwsgi_cache_item *item_of(struct uwsgi_cache *cache, uint64_t number) {
    return (struct uwsgi_cache_item *)((char *)cache->items + (sizeof(struct uwsgi_cache_item) + cache->keysize) * number);
}

EXPORTED void inside_read(const char *name) {
    uwsgi_rlock(cache_named(name)->lock);
}

EXPORTED void inside_write(const char *name) {
    uwsgi_wlock(cache_named(name)->lock);
}

EXPORTED void inside_leave(const char *name) {
    uwsgi_rwunlock(cache_named(name)->lock);
}

/* As far as a writer may have come when it is killed: an item is in the list of its hash, and on the stack of the unused ones as well. */
EXPORTED void inside_tear(const char *name, const char *key) {
    struct uwsgi_cache *cache = cache_named(name);
    uwsgi_wlock(cache->lock);
    for (uint64_t number = 1; number < cache->max_items; number++) {
        struct uwsgi_cache_item *item = item_of(cache, number);
        if (item->keysize != strlen(key) || memcmp(item->key, key, item->keysize) != 0) continue;
        cache->unused_blocks_stack[++cache->unused_blocks_stack_ptr] = number;
        kill(getpid(), SIGKILL);
    }
    abort();
}

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* For measure.py: how long so many entries take, in nanoseconds; of a user lock, or of the cache's. */
EXPORTED uint64_t inside_enter(uint64_t entries) {
    uint64_t start = now_ns();
    for (uint64_t entry = 0; entry < entries; entry++) {
        uwsgi_lock(uwsgi.user_lock[0]);
        uwsgi_unlock(uwsgi.user_lock[0]);
    }
    return now_ns() - start;
}

EXPORTED uint64_t inside_enter_to_read(const char *name, uint64_t entries) {
    struct uwsgi_lock_item *lock = cache_named(name)->lock;
    uint64_t start = now_ns();
    for (uint64_t entry = 0; entry < entries; entry++) {
        uwsgi_rlock(lock);
        uwsgi_rwunlock(lock);
    }
    return now_ns() - start;
}

EXPORTED uint64_t inside_enter_to_write(const char *name, uint64_t entries) {
    struct uwsgi_lock_item *lock = cache_named(name)->lock;
    uint64_t start = now_ns();
    for (uint64_t entry = 0; entry < entries; entry++) {
        uwsgi_wlock(lock);
        uwsgi_rwunlock(lock);
    }
    return now_ns() - start;
}
