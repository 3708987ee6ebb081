/* What a writer leaves of a cache of uWSGI's when it is killed. */
#ifndef TURNLOCK_UWSGI_TORN_CACHE_H
#define TURNLOCK_UWSGI_TORN_CACHE_H

struct uwsgi_lock_item;

/*
 * If the lock is that of a cache: empties that cache, and returns its name; else returns NULL. The caller has the lock exclusively, and the
 * last one that had it so died.
 */
const char *torn_cache_empty(const struct uwsgi_lock_item *lock);

#endif
