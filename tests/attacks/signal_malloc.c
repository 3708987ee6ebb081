/*
 * signal_malloc.c: a signal handler that has interrupted `malloc`, and takes and gives back locks of every kind.
 *
 *     signal_malloc LOCK-FILE mutex|recursive|rwlock|permits|ranges|keys|ring|dead
 *
 * This program has its own `malloc`, `free` and the others instead of the C library's, and sends itself the signal in the midst of
 * them. The handler's calls come to none of them: it may have interrupted the real one with a lock taken, or with a list half
 * changed. The thread has locked in the file before, as the contract wants it. The handler takes more at once than the thread
 * ever did, as many as there is room for, gets every error that such a call may give, and finds a dead holder (*dead*).
 */
#include "attack.h"

enum { SLOTS = 16 };

/* --- the allocator --- */

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

static __thread volatile sig_atomic_t in_handler;
/* Of this thread: the next call of these is interrupted. */
static __thread volatile sig_atomic_t armed;

/* It prints, which takes memory. */
#undef FAIL
#define FAIL(...) (in_handler = 0, fail_at(__FILE__, __LINE__, __VA_ARGS__))

static void called(const char *function)
{
    if (in_handler)
        FAIL("the handler's call came to %s", function);
    if (!armed)
        return;
    armed = 0;
    raise(SIGUSR1);
}

void *malloc(size_t bytes)
{
    called("malloc");
    return __libc_malloc(bytes);
}

void *calloc(size_t many, size_t bytes)
{
    called("calloc");
    return __libc_calloc(many, bytes);
}

void *realloc(void *old, size_t bytes)
{
    called("realloc");
    return __libc_realloc(old, bytes);
}

void free(void *memory)
{
    called("free");
    __libc_free(memory);
}

void *memalign(size_t alignment, size_t bytes)
{
    called("memalign");
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    called("aligned_alloc");
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    called("posix_memalign");
    *memory = __libc_memalign(alignment, bytes);
    return *memory == NULL ? ENOMEM : 0;
}

/* --- what the handler does --- */

static const char *path;
static turnlock_file *file;
static turnlock_hold *other;
static turnlock_mutex *mutex, *recursive, *lost;
static turnlock_rwlock *rwlock;
static turnlock_semaphore *permits;
static turnlock_rangelock *ranges;
static turnlock_keyedlock *keys;
static turnlock_ring *ring;
static turnlock_acquired acquired = {.size = sizeof acquired};
/* How the thread had what the handler finds, when the signal came. */
static volatile sig_atomic_t handled, is_held;

#define SHORT (MILLISECOND / 2)

/* As `EXPECT`, without the text, which is not for handlers. */
#define GIVES(wanted, call)                                                                                            \
    do {                                                                                                            \
        int32_t came_ = (call);                                                                                      \
        if (came_ != (wanted))                                                                                       \
            FAIL("in the handler %s gave %d (%s)", #call, came_, turnlock_status_text(came_));                       \
    } while (0)

static void use_mutex(void)
{
    if (is_held) {
        GIVES(TURNLOCK_ERROR_DEADLOCK, turnlock_mutex_try_lock(mutex, &acquired));
        return;
    }
    GIVES(TURNLOCK_ERROR_NOT_OWNER, turnlock_mutex_unlock(mutex));
    GIVES(0, turnlock_mutex_lock(mutex, &acquired));
    GIVES(0, turnlock_lock_is_contended((turnlock_lock *)mutex));
    GIVES(TURNLOCK_ERROR_NOT_INCONSISTENT, turnlock_mutex_mark_consistent(mutex));
    GIVES(0, turnlock_mutex_abandon(mutex));
    GIVES(TURNLOCK_OWNER_DEAD, turnlock_mutex_lock_for(mutex, SECOND, &acquired));
    GIVES(0, turnlock_mutex_mark_consistent(mutex));
    GIVES(0, turnlock_mutex_unlock(mutex));
    /* Another one's. */
    GIVES(0, acquire_by(other, mutex, TURNLOCK_WAIT_FOREVER, &acquired));
    GIVES(TURNLOCK_ERROR_WOULD_BLOCK, turnlock_mutex_try_lock(mutex, &acquired));
    GIVES(TURNLOCK_ERROR_TIMED_OUT, turnlock_mutex_lock_for(mutex, SHORT, &acquired));
    uint64_t its_token;
    GIVES(0, turnlock_hold_fencing_token(other, &its_token));
    GIVES(0, turnlock_hold_is_contended(other));
    GIVES(TURNLOCK_ERROR_NOT_INCONSISTENT, turnlock_hold_mark_consistent(other));
    GIVES(TURNLOCK_ERROR_DEADLOCK, acquire_by(other, mutex, TURNLOCK_WAIT_FOREVER, &acquired));
    GIVES(TURNLOCK_ERROR_STILL_HELD, acquire_by(other, rwlock, TURNLOCK_WAIT_FOREVER, &acquired));
    GIVES(0, turnlock_hold_release(other));
    GIVES(TURNLOCK_ERROR_NOT_OWNER, turnlock_hold_release(other));
}

static void use_recursive(void)
{
    for (int times = 0; times < 3; times++)
        GIVES(0, turnlock_mutex_lock(recursive, &acquired));
    for (int times = 0; times < 3; times++)
        GIVES(0, turnlock_mutex_unlock(recursive));
}

static void use_rwlock(void)
{
    if (is_held) {
        GIVES(TURNLOCK_ERROR_DEADLOCK, turnlock_rwlock_lock_shared(rwlock, &acquired));
        return;
    }
    GIVES(0, turnlock_rwlock_lock_shared(rwlock, &acquired));
    GIVES(TURNLOCK_ERROR_NOT_UPGRADABLE, turnlock_rwlock_upgrade(rwlock, &acquired));
    GIVES(0, turnlock_rwlock_unlock(rwlock));
    GIVES(0, turnlock_rwlock_lock_upgradable(rwlock, &acquired));
    GIVES(0, turnlock_rwlock_upgrade(rwlock, &acquired));
    GIVES(0, turnlock_rwlock_downgrade(rwlock, TURNLOCK_MODE_SHARED));
    GIVES(0, turnlock_rwlock_unlock(rwlock));
    GIVES(0, turnlock_rwlock_lock_exclusive(rwlock, &acquired));
    turnlock_request request = {.size = sizeof request, .lock = (turnlock_lock *)rwlock, .mode = TURNLOCK_MODE_SHARED,
                                .wait = TURNLOCK_WAIT_NEVER};
    GIVES(TURNLOCK_ERROR_WOULD_BLOCK, turnlock_hold_acquire(other, &request, &acquired));
    GIVES(0, turnlock_rwlock_unlock(rwlock));
    request.mode = TURNLOCK_MODE_UPGRADABLE;
    GIVES(0, turnlock_hold_acquire(other, &request, &acquired));
    GIVES(0, turnlock_hold_upgrade(other, TURNLOCK_WAIT_NEVER, 0, &acquired));
    GIVES(0, turnlock_hold_downgrade(other, TURNLOCK_MODE_SHARED));
    GIVES(0, turnlock_hold_release(other));
}

/* Portions of one, until there is no slot left for another one. */
static void use_permits(void)
{
    GIVES(TURNLOCK_ERROR_PERMITS, turnlock_semaphore_acquire(permits, 1000, &acquired));
    if (is_held)
        GIVES(TURNLOCK_ERROR_DEADLOCK, turnlock_semaphore_acquire(permits, 100, &acquired));
    if (!is_held)
        GIVES(TURNLOCK_ERROR_NOT_OWNER, turnlock_semaphore_release(permits, 1));
    uint32_t had = 0;
    int32_t status;
    while ((status = turnlock_semaphore_acquire(permits, 2, &acquired)) == 0)
        had += 2;
    GIVES(TURNLOCK_ERROR_PARTICIPANTS_FULL, status);
    if (had < 16)
        FAIL("only %u permits were to be had", had);
    if (!is_held)
        GIVES(TURNLOCK_ERROR_TOO_MANY_RELEASED, turnlock_semaphore_release(permits, had + 1));
    GIVES(0, turnlock_semaphore_release(permits, 3));
    GIVES(0, turnlock_semaphore_release(permits, had - 3));
    turnlock_request request = {.size = sizeof request, .lock = (turnlock_lock *)permits, .permits = 3};
    GIVES(0, turnlock_hold_acquire(other, &request, &acquired));
    GIVES(0, turnlock_hold_release_permits(other, 1));
    GIVES(0, turnlock_hold_abandon(other));
}

static void use_ranges(void)
{
    GIVES(TURNLOCK_ERROR_EMPTY_RANGE, turnlock_rangelock_lock_exclusive(ranges, 7, 7, &acquired));
    uint64_t had = 0;
    int32_t status;
    while ((status = turnlock_rangelock_lock_exclusive(ranges, 100 + 10 * had, 105 + 10 * had, &acquired)) == 0)
        had++;
    GIVES(TURNLOCK_ERROR_PARTICIPANTS_FULL, status);
    if (had < 8)
        FAIL("only %llu ranges were to be had", (unsigned long long)had);
    GIVES(TURNLOCK_ERROR_DEADLOCK, turnlock_rangelock_lock_shared(ranges, 100, 105, &acquired));
    GIVES(TURNLOCK_ERROR_NOT_INCONSISTENT, turnlock_rangelock_mark_consistent(ranges, 100, 105));
    while (had-- > 0)
        GIVES(0, turnlock_rangelock_unlock(ranges, 100 + 10 * had, 105 + 10 * had));
    GIVES(TURNLOCK_ERROR_NOT_OWNER, turnlock_rangelock_unlock(ranges, 100, 105));
    turnlock_range range = {100, 105}, empty = {7, 7};
    turnlock_request request = {.size = sizeof request, .lock = (turnlock_lock *)ranges, .ranges = &empty, .range_count = 1};
    GIVES(TURNLOCK_ERROR_EMPTY_RANGE, turnlock_hold_acquire(other, &request, &acquired));
    request.ranges = &range;
    GIVES(0, turnlock_hold_acquire(other, &request, &acquired));
    GIVES(0, turnlock_hold_release(other));
}

static void use_keys(void)
{
    uint64_t had = 0;
    int32_t status;
    while ((status = turnlock_keyedlock_lock_exclusive(keys, &had, sizeof had, &acquired)) == 0)
        had++;
    GIVES(TURNLOCK_ERROR_PARTICIPANTS_FULL, status);
    if (had < 8)
        FAIL("only %llu keys were to be had", (unsigned long long)had);
    while (had-- > 0)
        GIVES(0, turnlock_keyedlock_unlock(keys, &had, sizeof had));
}

static void use_ring(void)
{
    if (is_held) {
        GIVES(TURNLOCK_ERROR_DEADLOCK, turnlock_ring_lock(ring, &acquired));
        return;
    }
    GIVES(0, turnlock_ring_lock(ring, &acquired));
    GIVES(0, turnlock_ring_unlock(ring));
}

/* Held by a process that was killed. */
static void use_dead(void)
{
    int32_t status = turnlock_mutex_lock_for(lost, 20 * SECOND, &acquired);
    if (status != TURNLOCK_OWNER_DEAD && status != 0)
        FAIL("the lock of the dead gave the handler %d (%s)", status, turnlock_status_text(status));
    if (status == TURNLOCK_OWNER_DEAD)
        GIVES(0, turnlock_mutex_mark_consistent(lost));
    GIVES(0, turnlock_mutex_unlock(lost));
}

static int32_t lock_mutex(void) { return turnlock_mutex_lock(mutex, NULL); }
static int32_t unlock_mutex(void) { return turnlock_mutex_unlock(mutex); }
static int32_t lock_recursive(void) { return turnlock_mutex_lock(recursive, NULL); }
static int32_t unlock_recursive(void) { return turnlock_mutex_unlock(recursive); }
static int32_t lock_rwlock(void) { return turnlock_rwlock_lock_exclusive(rwlock, NULL); }
static int32_t unlock_rwlock(void) { return turnlock_rwlock_unlock(rwlock); }
static int32_t lock_permits(void) { return turnlock_semaphore_acquire(permits, 2, NULL); }
static int32_t unlock_permits(void) { return turnlock_semaphore_release(permits, 2); }
static int32_t lock_range(void) { return turnlock_rangelock_lock_exclusive(ranges, 0, 10, NULL); }
static int32_t unlock_range(void) { return turnlock_rangelock_unlock(ranges, 0, 10); }
static int32_t lock_key(void) { return turnlock_keyedlock_lock_exclusive(keys, "a", 1, NULL); }
static int32_t unlock_key(void) { return turnlock_keyedlock_unlock(keys, "a", 1); }
static int32_t lock_ring(void) { return turnlock_ring_lock(ring, NULL); }
static int32_t unlock_ring(void) { return turnlock_ring_unlock(ring); }

static const struct use {
    const char *name;
    int32_t (*lock)(void), (*unlock)(void);
    void (*use)(void);
} uses[] = {
    {"mutex", lock_mutex, unlock_mutex, use_mutex},
    {"recursive", lock_recursive, unlock_recursive, use_recursive},
    {"rwlock", lock_rwlock, unlock_rwlock, use_rwlock},
    {"permits", lock_permits, unlock_permits, use_permits},
    {"ranges", lock_range, unlock_range, use_ranges},
    {"keys", lock_key, unlock_key, use_keys},
    {"ring", lock_ring, unlock_ring, use_ring},
    {"dead", lock_mutex, unlock_mutex, use_dead},
}, *use;

static void handler(int signal)
{
    (void)signal;
    int before = errno;
    in_handler = 1;
    use->use();
    in_handler = 0;
    handled = 1;
    errno = before;
}

/* --- the thread --- */

static void open_all(void)
{
    turnlock_semaphore_options hundred = {.size = sizeof hundred, .permits = 100};
    turnlock_mutex_options again = {.size = sizeof again, .flags = TURNLOCK_MUTEX_RECURSIVE};
    file = open_file(path, SLOTS);
    mutex = open_mutex(file, "a");
    lost = open_mutex(file, "lost");
    EXPECT(0, turnlock_mutex_open(file, "recursive", &again, &recursive));
    EXPECT(0, turnlock_rwlock_open(file, "rwlock", NULL, &rwlock));
    EXPECT(0, turnlock_semaphore_open(file, "permits", &hundred, &permits));
    EXPECT(0, turnlock_rangelock_open(file, "ranges", NULL, &ranges));
    EXPECT(0, turnlock_keyedlock_open(file, "keys", NULL, &keys));
    EXPECT(0, turnlock_ring_open(file, "ring", NULL, &ring));
    EXPECT(0, turnlock_hold_open(file, NULL, &other));
}

static void interrupt(int32_t (*call)(void))
{
    handled = 0;
    armed = 1;
    if (call != NULL)
        EXPECT(0, call());
    is_held |= call != NULL;
    if (armed)
        free(malloc(100));
    if (!handled)
        FAIL("the handler did not run");
}

static void *thread(void *unused)
{
    EXPECT(0, use->lock());
    EXPECT(0, use->unlock());
    /* What came of a call that is not for handlers, and goes with the next failure. */
    turnlock_mutex *none;
    EXPECT(TURNLOCK_ERROR_BAD_NAME, turnlock_mutex_open(file, "", NULL, &none));
    for (int round = 0; round < 10; round++) {
        interrupt(NULL);
        EXPECT(0, use->lock());
        is_held = 1;
        interrupt(NULL);
        is_held = 0;
        EXPECT(0, use->unlock());
        /* Whatever a call of the thread itself allocates is interrupted as well. */
        interrupt(use->lock);
        is_held = 0;
        EXPECT(0, use->unlock());
        interrupt(NULL);
    }
    return unused;
}

int main(int count, char **arguments)
{
    if (count != 3)
        FAIL("wrong arguments");
    path = arguments[1];
    for (size_t one = 0; one < sizeof uses / sizeof *uses; one++)
        if (strcmp(uses[one].name, arguments[2]) == 0)
            use = &uses[one];
    if (use == NULL)
        FAIL("no %s is known", arguments[2]);
    if (strcmp(use->name, "dead") == 0) {
        pid_t holder = fork_with_us();
        if (holder == 0) {
            lost = open_mutex(open_file(path, SLOTS), "lost");
            EXPECT(0, turnlock_mutex_lock(lost, NULL));
            _exit(0);
        }
        MUST(waitpid(holder, &(int){0}, 0));
    }
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    MUST(sigaction(SIGUSR1, &action, NULL));
    open_all();
    on_a_thread(thread, NULL);
    /* Nothing of the handler's is left: the hold and the main thread have theirs. */
    int slots = free_slots(file);
    if (slots != SLOTS - 2)
        FAIL("%d of %d slots are free at the end", slots, SLOTS - 2);
    PASS("%s: no call of a handler came to the allocator", use->name);
    return 0;
}
