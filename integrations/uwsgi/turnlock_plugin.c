/*
 * A plugin of uWSGI that keeps all of its locks in a lock file: `--plugin turnlock --turnlock FILE`.
 *
 * uWSGI reaches its locks by the functions of `uwsgi.lock_ops`, and has a list of all of them, `uwsgi.registered_locks`. Which functions
 * those are `uwsgi_setup_locking` decides (core/lock.c), from a list of names that no plugin can add to. So uWSGI makes its locks as ever,
 * and the plugin replaces them, and the functions, when the master initialises its plugins: nothing is locked then, and no worker is
 * forked yet. A lock that is made later is made by uWSGI's function and replaced at once (`init_lock`).
 *
 * Workers are forked, and so use the handles of the master as participants of their own. A lock belongs to a thread.
 *
 *   uWSGI's lock               in the lock file
 *   rw == 0                    a mutex. uWSGI takes some of these by its functions for reader/writer locks ("snmp", "legion_..."):
 *                              alone then, whichever function it is
 *   rw != 0                    a rwlock
 */
#include <uwsgi.h>

#include "torn_cache.h"

#include <dlfcn.h>
#include <link.h>
#include <turnlock.h>

#include "built_for.h"

/* How many locks more than there are now have room in a file that is made: what is configured later is to fit as well. */
#define MORE_LOCKS 64
#define FEWEST_PARTICIPANTS 256
#define MOST_PARTICIPANTS 4096
/* Of a process, beside those that serve requests: what the application and uWSGI itself have (the cache's sweeper, collectors, ...). */
#define OTHER_THREADS 8
/* A lock that cannot be had for want of a slot, a descriptor or memory is asked for again after this time. */
#define NAP_NS 10000000
/* How long a waiter lets those go on that are running already. With a longer patience two workers that have a lock for a millisecond each
 * lose a fifth of their throughput; with none each of the shortest sections costs a wake-up. */
#define PATIENCE_NS 30000
/* How many rwlocks a thread may have several times at once. */
#define MOST_NESTED 8

typedef enum { SHARED, EXCLUSIVE } Mode;

/*
 * A lock of uWSGI's. In memory of each process, not shared: where the lock file was deleted, a process opens the new one by itself.
 */
typedef struct Lock {
    /* A turnlock_mutex or a turnlock_rwlock, as `rw` of its uwsgi_lock_item says. */
    void *handle;
    char name[64];
    struct Lock *next;
} Lock;

extern struct uwsgi_server uwsgi;
extern pid_t masterpid;

static char *path;
static turnlock_file *file;
static Lock *locks;
static unsigned lock_count;
/* uWSGI's own, which still make what is replaced then. */
static struct uwsgi_lock_ops own;

/* What this thread has of a rwlock beyond the first time. */
static __thread struct {
    const struct uwsgi_lock_item *item;
    unsigned count;
} nested[MOST_NESTED];
static __thread unsigned nested_locks;

static void *handle_of(const Lock *lock) {
    return __atomic_load_n(&lock->handle, __ATOMIC_ACQUIRE);
}

static int32_t acquire_once(const struct uwsgi_lock_item *item, Mode mode) {
    void *handle = handle_of(item->lock_ptr);
    if (!item->rw) return turnlock_mutex_lock(handle, NULL);
    return mode == EXCLUSIVE ? turnlock_rwlock_lock_exclusive(handle, NULL) : turnlock_rwlock_lock_shared(handle, NULL);
}

static int32_t release_once(const struct uwsgi_lock_item *item) {
    void *handle = handle_of(item->lock_ptr);
    return item->rw ? turnlock_rwlock_unlock(handle) : turnlock_mutex_unlock(handle);
}

/* Ends a process that would wait for itself, or for those that wait for it, for ever. What it has goes to those that wait. */
static void end_process(const struct uwsgi_lock_item *item, const char *why) {
    uwsgi_log("[turnlock] pid %d cannot have lock \"%s\", and ends: %s\n", (int)getpid(), item->id, why);
    /* Not exit: handlers would lock, in the midst of this. */
    _exit(1);
}

static void nap(void) {
    nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

/* Goes on with the lock of the same name in the new file, where the lock file was deleted. */
static void open_anew(Lock *lock, int rw, void *old) {
    turnlock_lock *reopened;
    if (turnlock_lock_reopen(old, &reopened) < 0) {
        uwsgi_log("[turnlock] %s\n", turnlock_last_error_message());
        nap();
        return;
    }
    void *expected = old;
    /* With `handle_of`: who finds the handle finds what it points to. */
    if (__atomic_compare_exchange_n(&lock->handle, &expected, reopened, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        uwsgi_log("[turnlock] %s is another file now: pid %d goes on with \"%s\" there\n", path, (int)getpid(), lock->name);
        return; /* The old handle stays open: other threads may be in calls with it. */
    }
    if (rw) turnlock_rwlock_close((turnlock_rwlock *)reopened);
    else turnlock_mutex_close((turnlock_mutex *)reopened);
}

/* The lock is held alone, and its last such holder died: whatever is to be done about that. */
static void recover(struct uwsgi_lock_item *item) {
    Lock *lock = item->lock_ptr;
    turnlock_previous_owner dead = {.size = sizeof dead};
    if (turnlock_lock_previous_owner(handle_of(lock), &dead) < 0) dead.pid = 0;
    const char *emptied = torn_cache_empty(item);
    uwsgi_log("[turnlock] pid %u died while it had lock \"%s\": pid %d has it now%s%s%s\n", dead.pid, item->id, (int)getpid(),
              emptied == NULL ? "" : ", and has emptied the cache \"", emptied == NULL ? "" : emptied, emptied == NULL ? "" : "\"");
#ifndef FAULT_NOT_MARKED_CONSISTENT
    if (item->rw) turnlock_rwlock_mark_consistent(handle_of(lock));
#endif
}

/* Whether this thread, which has the rwlock, has it exclusively. */
static int has_exclusively(const struct uwsgi_lock_item *item) {
    turnlock_participant_info holder = {.size = sizeof holder};
    size_t count;
    return turnlock_lock_holders(handle_of(item->lock_ptr), 1, &holder, &count) >= 0 && count == 1 && holder.mode == TURNLOCK_MODE_EXCLUSIVE;
}

/*
 * The thread has the lock already. An application takes a shared area's (`uwsgi.sharedarea_wlock`) and then calls functions that take it
 * again: they are counted.
 */
static void nest(const struct uwsgi_lock_item *item, Mode mode) {
    if (!item->rw) end_process(item, "this thread has it already, and would wait for itself");
    if (mode == EXCLUSIVE && !has_exclusively(item)) end_process(item, "this thread reads under it, and would wait for itself");
    unsigned place = 0;
    while (place < nested_locks && nested[place].item != item) place++;
    if (place == MOST_NESTED) end_process(item, "this thread has too many locks several times");
    if (place == nested_locks) {
        nested[place].item = item;
        nested[place].count = 0;
        nested_locks++;
    }
    nested[place].count++;
}

/* Whether the thread has the rwlock still, since it took it several times. */
static int leave_nested(const struct uwsgi_lock_item *item) {
    for (unsigned place = 0; place < nested_locks; place++) {
        if (nested[place].item != item) continue;
        if (--nested[place].count == 0) nested[place] = nested[--nested_locks];
        return 1;
    }
    return 0;
}

/* What is to be done about a status other than 0. Returns whether the lock is had now. */
static int settle(struct uwsgi_lock_item *item, Mode mode, int32_t status) {
    static int said;
    Lock *lock = item->lock_ptr;
    switch (status) {
    case TURNLOCK_OWNER_DEAD:
        if (!item->rw || mode == EXCLUSIVE) {
            recover(item);
            return 1;
        }
        /* A reader cannot repair anything beside others. It does so as a writer, and reads then; of several the first one does. */
        turnlock_rwlock_unlock(handle_of(lock));
        while ((status = acquire_once(item, EXCLUSIVE)) != TURNLOCK_OK && !settle(item, EXCLUSIVE, status)) {
        }
        turnlock_rwlock_unlock(handle_of(lock));
        return 0;
    case TURNLOCK_ERROR_DEADLOCK:
        nest(item, mode);
        return 1;
    case TURNLOCK_ERROR_CIRCULAR_WAIT:
        /* Without the master there would be no server. It has no lock for long; the others of the circle are told as well. */
        if (getpid() != masterpid) end_process(item, turnlock_last_error_message());
        nap();
        return 0;
    case TURNLOCK_ERROR_REPLACED:
        open_anew(lock, item->rw, handle_of(lock));
        return 0;
    case TURNLOCK_ERROR_PARTICIPANTS_FULL:
    case TURNLOCK_ERROR_NO_MEMORY:
    case TURNLOCK_ERROR_SYSTEM:
        if (!__atomic_exchange_n(&said, 1, __ATOMIC_RELAXED))
            uwsgi_log("[turnlock] pid %d waits for lock \"%s\": %s\n", (int)getpid(), item->id, turnlock_last_error_message());
        nap();
        return 0;
    default:
        end_process(item, turnlock_last_error_message());
        return 0;
    }
}

static void acquire(struct uwsgi_lock_item *item, Mode mode) {
    int32_t status;
    while ((status = acquire_once(item, mode)) != TURNLOCK_OK && !settle(item, mode, status)) {
    }
    /* For uWSGI's statistics. */
    item->pid = uwsgi.mypid;
}

static void release(struct uwsgi_lock_item *item) {
#ifndef FAULT_NESTED_UNLOCKS
    if (nested_locks > 0 && leave_nested(item)) return;
#endif
    /* Before it is unlocked: the next one writes its own. */
    item->pid = 0;
    int32_t status = release_once(item);
    /* What it does not have uWSGI unlocks at times, after an error. */
    if (status < 0 && status != TURNLOCK_ERROR_NOT_OWNER)
        uwsgi_log("[turnlock] lock \"%s\" was unlocked: %s\n", item->id, turnlock_last_error_message());
}

static void lock_exclusive(struct uwsgi_lock_item *item) {
    acquire(item, EXCLUSIVE);
}

static void lock_shared(struct uwsgi_lock_item *item) {
    acquire(item, SHARED);
}

/* A process that has the lock, 0 if none has. One that died has not. */
static pid_t check(struct uwsgi_lock_item *item) {
    turnlock_participant_info holders[8] = {{.size = sizeof holders[0]}};
    size_t room = sizeof holders / sizeof *holders, count = 0;
    if (turnlock_lock_holders(handle_of(item->lock_ptr), room, holders, &count) < 0) return 0;
    for (size_t i = 0; i < count && i < room; i++)
        if (holders[i].life != TURNLOCK_LIFE_DEAD) return (pid_t)holders[i].pid;
    return 0;
}

static void give_up(const char *what) {
    uwsgi_log("[turnlock] %s: %s\n", what, turnlock_last_error_message());
    exit(1);
}

static void give_name(Lock *lock, const char *id) {
    int length = snprintf(lock->name, sizeof lock->name, "uwsgi/%s", id);
    int is_taken = length < 0 || (size_t)length >= sizeof lock->name;
    for (char *c = lock->name; *c != 0; c++)
        if (*c <= ' ' || *c > '~') *c = '-';
    for (const Lock *other = locks; other != NULL; other = other->next)
        if (strcmp(other->name, lock->name) == 0) is_taken = 1;
    if (!is_taken) return;
    char number[16];
    size_t digits = (size_t)snprintf(number, sizeof number, "~%u", lock_count), end = strlen(lock->name);
    if (end + digits >= sizeof lock->name) end = sizeof lock->name - 1 - digits;
    memcpy(lock->name + end, number, digits + 1);
}

/* Replaces a lock that uWSGI has made. What it had in its place stays, unused. */
static void replace(struct uwsgi_lock_item *item) {
    Lock *lock = uwsgi_calloc(sizeof *lock);
    int32_t status;
    give_name(lock, item->id);
    if (item->rw) {
        /* What a dead writer left in a cache is repaired: if the one dies that does so, the next one is told as well. */
        turnlock_rwlock_options options = {.size = sizeof options, .flags = TURNLOCK_RWLOCK_INFORM_ON_DEATH, .patience_ns = PATIENCE_NS};
        status = turnlock_rwlock_open(file, lock->name, &options, (turnlock_rwlock **)&lock->handle);
    } else {
        turnlock_mutex_options options = {.size = sizeof options, .flags = TURNLOCK_MUTEX_RELEASE_ON_DEATH, .patience_ns = PATIENCE_NS};
        status = turnlock_mutex_open(file, lock->name, &options, (turnlock_mutex **)&lock->handle);
    }
    if (status < 0) give_up(lock->name);
    lock->next = locks;
    locks = lock;
    lock_count++;
    item->lock_ptr = lock;
    /* The master need not look for locks of the dead (uwsgi_deadlock_check): the next one that comes is told. */
    item->can_deadlock = 0;
}

static struct uwsgi_lock_item *init_lock(char *id) {
    struct uwsgi_lock_item *item = own.lock_init(id);
    replace(item);
    return item;
}

static struct uwsgi_lock_item *init_rwlock(char *id) {
    struct uwsgi_lock_item *item = own.rwlock_init(id);
    replace(item);
    return item;
}

static void open_file(void) {
    uint32_t wanted = (uint32_t)(uwsgi.numproc + uwsgi.mules_cnt + 2) * (uint32_t)(uwsgi.threads + OTHER_THREADS);
    turnlock_file_options options = {
        .size = sizeof options,
        .participants = wanted < FEWEST_PARTICIPANTS ? FEWEST_PARTICIPANTS : wanted > MOST_PARTICIPANTS ? MOST_PARTICIPANTS : wanted,
        .locks = MORE_LOCKS,
        /* The workers are several processes. The second one would wait up to 30 ms for the kernel (membarrier) at its first lock. */
        .flags = TURNLOCK_FILE_FULL_FENCES,
    };
    for (const struct uwsgi_lock_item *item = uwsgi.registered_locks; item != NULL; item = item->next) options.locks++;
    int32_t status = turnlock_file_open(path, &options, &file);
    if (status == TURNLOCK_ERROR_FILE_TOO_SMALL) {
        /* Made for fewer workers or locks, and perhaps in use. It may do all the same. */
        uwsgi_log("[turnlock] %s\n", turnlock_last_error_message());
        options.participants = options.locks = 0;
        status = turnlock_file_open(path, &options, &file);
    }
    if (status < 0) give_up(path);
}

static int init(void) {
    if (path == NULL) {
        uwsgi_log("[turnlock] uWSGI's own locks are used: no --turnlock FILE was given\n");
        return 0;
    }
    if (uwsgi.lock_engine != NULL) {
        uwsgi_log("[turnlock] --turnlock and --lock-engine exclude each other: leave one of them out\n");
        exit(1);
    }
    open_file();
    own = uwsgi.lock_ops;
    for (struct uwsgi_lock_item *item = uwsgi.registered_locks; item != NULL; item = item->next) replace(item);
    uwsgi.lock_ops = (struct uwsgi_lock_ops){
        .lock_init = init_lock,
        .lock_check = check,
        .lock = lock_exclusive,
        .unlock = release,
        .rwlock_init = init_rwlock,
        .rwlock_check = check,
        .rlock = lock_shared,
        .wlock = lock_exclusive,
        .rwunlock = release,
    };
    uwsgi_log("lock engine: turnlock, %u locks in %s\n", lock_count, path);
    return 0;
}

/* A file that root has made, where workers are to run as another user (--master-as-root, --drop-after-init, --drop-after-apps). */
static void before_privileges_drop(void) {
    if (file != NULL && geteuid() == 0 && chown(path, uwsgi.uid, uwsgi.gid) != 0) uwsgi_error("[turnlock] chown()");
}

/* The layout of uWSGI's structs is that of one build: a plugin of another one would write into whatever is there. */
static int is_for_this_uwsgi(void) {
    char *flags = uwsgi_get_cflags();
    int is = flags != NULL && strcmp(flags, built_for) == 0;
    free(flags);
    Dl_info found;
    const ElfW(Sym) *symbol = NULL;
    return is && dladdr1(&uwsgi, &found, (void **)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL && symbol->st_size == sizeof uwsgi;
}

static void on_load(void) {
    if (!is_for_this_uwsgi()) {
        uwsgi_log("[turnlock] the plugin was built for another uWSGI than this one: build it anew (integrations/uwsgi/build.sh)\n");
        exit(1);
    }
    if (turnlock_abi_version() != TURNLOCK_ABI_VERSION) {
        uwsgi_log("[turnlock] the plugin was built for ABI %d of libturnlock, and this is %u\n", TURNLOCK_ABI_VERSION, turnlock_abi_version());
        exit(1);
    }
}

static struct uwsgi_option options[] = {
    {"turnlock", required_argument, 0, "keep all locks in this lock file of turnlock's", uwsgi_opt_set_str, &path, 0},
    {0},
};

__attribute__((visibility("default"))) struct uwsgi_plugin turnlock_plugin = {
    .name = "turnlock",
    .options = options,
    .on_load = on_load,
    .init = init,
    .before_privileges_drop = before_privileges_drop,
};
