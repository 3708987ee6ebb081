/*
 * A writer that dies may leave the lists of a cache half-done, an item in no list or in two, or a value half-written in the place of
 * another one (`uwsgi_cache_set2` writes over it). Nothing says which item that is. So the cache is made as `uwsgi_cache_init`
 * (core/cache.c) makes one, without a look at what is in it. How often it was full, hit and missed stays.
 */
#include <uwsgi.h>

#include "torn_cache.h"

extern struct uwsgi_server uwsgi;

static void empty(struct uwsgi_cache *cache) {
    size_t item = sizeof(struct uwsgi_cache_item) + cache->keysize;
    memset(cache->hashtable, 0, sizeof(uint64_t) * cache->hashsize);
    for (uint64_t i = 0; i < cache->max_items; i++) memset((char *)cache->items + item * i, 0, sizeof(struct uwsgi_cache_item));
    /* Item 0 is none: 0 is the end of a list. */
    for (uint64_t i = 1; i < cache->max_items; i++) cache->unused_blocks_stack[i] = i;
    cache->unused_blocks_stack_ptr = cache->max_items - 1;
    if (cache->blocks_bitmap != NULL) {
        memset(cache->blocks_bitmap, 0, cache->blocks_bitmap_size);
        uint8_t rest = cache->blocks % 8;
        if (rest > 0) cache->blocks_bitmap[cache->blocks_bitmap_size - 1] = 0xff >> rest;
        cache->blocks_bitmap_pos = 0;
    }
    cache->n_items = 0;
    cache->next_scan = 0;
    cache->lru_head = cache->lru_tail = 0;
    if (cache->use_last_modified) cache->last_modified_at = uwsgi_now();
}

const char *torn_cache_empty(const struct uwsgi_lock_item *lock) {
    for (struct uwsgi_cache *cache = uwsgi.caches; cache != NULL; cache = cache->next) {
        if (cache->lock != lock) continue;
#ifndef FAULT_TORN_CACHE_STAYS
        empty(cache);
#endif
        return cache->name;
    }
    return NULL;
}
