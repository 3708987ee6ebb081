/*
 * out_of_memory.c: no memory, at each allocation that a call makes: at that one alone, and from it on.
 *
 *     out_of_memory LOCK-FILE
 *
 * Each call is made by a process of its own, and malloc, which this program has instead of the C library's, gives nothing
 * once or from then on. The process does not abort; the call succeeds or fails with a status; after it, with memory
 * again, everything works, nothing is locked and every slot is free.
 */
#include "attack.h"

enum { SLOTS = 16, WORST = 2000, ENOUGH = 8 };

/* --- the allocator --- */

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

/* Of this thread: does it count its allocations now; which one fails first, from 1; and do those after it? */
static __thread int armed;
static __thread unsigned allocations, first_to_fail;
static __thread int all_after;

static int fails(void)
{
    if (!armed)
        return 0;
    allocations++;
    if (first_to_fail == 0 || allocations < first_to_fail || (allocations > first_to_fail && !all_after))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t many, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(many, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes)
{
    void *came = memalign(alignment, bytes);
    if (came == NULL)
        return ENOMEM;
    *memory = came;
    return 0;
}

/* --- the calls --- */

static const char *path;
static turnlock_file *file;
static turnlock_mutex *mutex;
static turnlock_hold *hold_of_it;

struct call {
    const char *name;
    void (*before)(void);
    int32_t (*act)(void);
    void (*after)(int32_t status);
    int held; /* by another process, for a while */
};

static void open_up(void)
{
    file = open_file(path, SLOTS);
    mutex = open_mutex(file, "a");
}

static void attach(void)
{
    open_up();
    turnlock_mutex *side = open_mutex(file, "side");
    EXPECT(0, turnlock_mutex_lock_for(side, SECOND, NULL));
    EXPECT(0, turnlock_mutex_unlock(side));
}

static void take(void)
{
    open_up();
    EXPECT(0, turnlock_mutex_lock_for(mutex, SECOND, NULL));
}

static void give_back(int32_t status)
{
    EXPECT(0, status);
    EXPECT(0, turnlock_mutex_unlock(mutex));
}

static void create_anew(void)
{
    MUST(unlink(path));
}

static void unlock_if_locked(int32_t status)
{
    if (status == TURNLOCK_OWNER_DEAD)
        EXPECT(0, turnlock_mutex_mark_consistent(mutex));
    if (status >= 0)
        EXPECT(0, turnlock_mutex_unlock(mutex));
}

static int32_t call_file_open(void)
{
    turnlock_file_options options = {.size = sizeof options, .participants = SLOTS};
    return turnlock_file_open(path, &options, &file);
}

static int32_t call_mutex_open(void)
{
    return turnlock_mutex_open(file, "a", NULL, &mutex);
}

static int32_t call_mutex_create(void)
{
    return turnlock_mutex_open(file, "one that is not there", NULL, &mutex);
}

static int32_t call_lock(void)
{
    return turnlock_mutex_lock(mutex, NULL);
}

static int32_t call_lock_for(void)
{
    return turnlock_mutex_lock_for(mutex, 2 * MILLISECOND, NULL);
}

static int32_t call_try_lock(void)
{
    return turnlock_mutex_try_lock(mutex, NULL);
}

static int32_t call_unlock(void)
{
    return turnlock_mutex_unlock(mutex);
}

static int32_t call_hold_open(void)
{
    return turnlock_hold_open(file, NULL, &hold_of_it);
}

static void open_hold_too(void)
{
    open_up();
    hold_of_it = open_hold(file);
}

static int32_t call_hold_acquire(void)
{
    turnlock_request request = {.size = sizeof request, .lock = (turnlock_lock *)mutex, .wait = TURNLOCK_WAIT_AT_MOST, .time_ns = SECOND};
    return turnlock_hold_acquire(hold_of_it, &request, NULL);
}

static void release_hold(int32_t status)
{
    if (status >= 0)
        EXPECT(0, turnlock_hold_release(hold_of_it));
    EXPECT(0, turnlock_hold_close(hold_of_it));
}

static turnlock_keyedlock *keys;

static void open_parts(void)
{
    open_hold_too();
    EXPECT(0, turnlock_keyedlock_open(file, "keys", NULL, &keys));
}

static int32_t call_hold_acquire_parts(void)
{
    turnlock_key both[] = {{"a", 1}, {"b", 1}};
    turnlock_request request = {.size = sizeof request, .lock = (turnlock_lock *)keys, .keys = both, .key_count = 2};
    return turnlock_hold_acquire(hold_of_it, &request, NULL);
}

static void acquire_by_hold(void)
{
    open_hold_too();
    EXPECT(0, call_hold_acquire());
}

static int32_t call_hold_release(void)
{
    return turnlock_hold_release(hold_of_it);
}

static int32_t call_holders(void)
{
    static turnlock_participant_info holders[SLOTS];
    size_t count;
    holders[0].size = sizeof holders[0];
    return turnlock_lock_holders((turnlock_lock *)mutex, SLOTS, holders, &count);
}

static int32_t call_waiters(void)
{
    static turnlock_participant_info waiters[SLOTS];
    size_t count;
    waiters[0].size = sizeof *waiters;
    return turnlock_lock_waiters((turnlock_lock *)mutex, SLOTS, waiters, &count);
}

static int32_t call_is_contended(void)
{
    return turnlock_lock_is_contended((turnlock_lock *)mutex);
}

static int32_t call_message(void)
{
    int32_t status = turnlock_mutex_unlock(mutex);
    (void)turnlock_last_error_message();
    return status;
}

static int32_t call_bad_name(void)
{
    return turnlock_mutex_open(file, "", NULL, &mutex);
}

static void just_open(void)
{
    file = open_file(path, SLOTS);
}

static int given;

static void give_a_memfd(void)
{
    MUST(given = memfd_create("attack", 0));
}

static int32_t call_open_descriptor(void)
{
    turnlock_file_options options = {.size = sizeof options, .participants = SLOTS};
    return turnlock_file_open_descriptor(given, &options, &file);
}

static void name_one_to_remove(void)
{
    open_up();
    turnlock_mutex *gone = open_mutex(file, "to be removed");
    EXPECT(0, turnlock_mutex_close(gone));
}

static int32_t call_remove_lock(void)
{
    return turnlock_file_remove_lock(file, "to be removed");
}

static const struct call calls[] = {
    {"turnlock_file_open", NULL, call_file_open, NULL, 0},
    {"turnlock_file_open, creating it", create_anew, call_file_open, NULL, 0},
    {"turnlock_mutex_open", just_open, call_mutex_open, NULL, 0},
    {"turnlock_mutex_open, creating it", just_open, call_mutex_create, NULL, 0},
    {"turnlock_mutex_open, a bad name", just_open, call_bad_name, NULL, 0},
    {"turnlock_mutex_lock, a first lock", open_up, call_lock, unlock_if_locked, 0},
    {"turnlock_mutex_lock, waiting", attach, call_lock, unlock_if_locked, 1},
    {"turnlock_mutex_lock, a first one and waiting", open_up, call_lock, unlock_if_locked, 1},
    {"turnlock_mutex_lock_for, in vain", attach, call_lock_for, unlock_if_locked, 1},
    {"turnlock_mutex_try_lock, in vain", attach, call_try_lock, unlock_if_locked, 1},
    {"turnlock_mutex_unlock", take, call_unlock, NULL, 0},
    {"turnlock_mutex_unlock of nothing", attach, call_unlock, NULL, 0},
    {"turnlock_last_error_message", attach, call_message, NULL, 0},
    {"turnlock_lock_holders", attach, call_holders, NULL, 1},
    {"turnlock_lock_holders, none", attach, call_holders, NULL, 0},
    {"turnlock_lock_waiters", attach, call_waiters, NULL, 1},
    {"turnlock_lock_is_contended", take, call_is_contended, give_back, 0},
    {"turnlock_hold_open", open_up, call_hold_open, NULL, 0},
    {"turnlock_hold_acquire", open_hold_too, call_hold_acquire, release_hold, 0},
    {"turnlock_hold_acquire, waiting", open_hold_too, call_hold_acquire, release_hold, 1},
    {"turnlock_hold_acquire of several parts", open_parts, call_hold_acquire_parts, release_hold, 0},
    {"turnlock_hold_release", acquire_by_hold, call_hold_release, NULL, 0},
    {"turnlock_file_open_descriptor, an empty memfd", give_a_memfd, call_open_descriptor, NULL, 0},
    {"turnlock_file_remove_lock", name_one_to_remove, call_remove_lock, NULL, 0},
};

struct result {
    volatile int done, allocations, status, holds;
};

static struct result *result;

static void *caller(void *with)
{
    const struct call *call = with;
    if (call->before)
        call->before();
    allocations = 0;
    first_to_fail = (unsigned)result->allocations;
    all_after = result->status;
    armed = 1;
    int32_t status = call->act();
    armed = 0;
    result->allocations = (int)allocations;
    result->status = status;
    if (call->after)
        call->after(status);
    return NULL;
}

/* In a process of its own: holds the lock for a moment after the call began. */
static void hold(void)
{
    turnlock_mutex *held = open_mutex(open_file(path, SLOTS), "a");
    EXPECT(0, turnlock_mutex_lock_for(held, SECOND, NULL));
    result->holds = 1;
    sleep_ns(8 * MILLISECOND);
    EXPECT(0, turnlock_mutex_unlock(held));
    _exit(0);
}

/* In a process of its own: does everything work? */
static void look(const char *call, unsigned which)
{
    open_up();
    int32_t status = turnlock_mutex_lock_for(mutex, SECOND, NULL);
    if (status != 0)
        FAIL("after %s with allocation %u failing, the lock gave %d (%s)", call, which, status,
             turnlock_status_text(status));
    EXPECT(0, turnlock_mutex_unlock(mutex));
    EXPECT(0, turnlock_mutex_close(mutex));
    EXPECT(0, turnlock_file_close(file));
    int slots = free_slots(open_file(path, SLOTS));
    if (slots != SLOTS)
        FAIL("after %s with allocation %u failing, %d of %d slots are free", call, which, slots, SLOTS);
    _exit(0);
}

static void act(const struct call *call, unsigned which, int and_after)
{
    result->allocations = (int)which;
    result->status = and_after;
    on_a_thread(caller, (void *)call);
    result->done = 1;
    /* With memory again, here, where it failed: */
    if (call->held)
        sleep_ns(8 * MILLISECOND);
    turnlock_file *again = open_file(path, SLOTS);
    turnlock_mutex *opened = open_mutex(again, "a");
    if (strcmp(call->name, "turnlock_mutex_unlock") == 0 && result->status < 0)
        EXPECT(TURNLOCK_OWNER_DEAD, turnlock_mutex_lock_for(opened, SECOND, NULL));
    else
        EXPECT(0, turnlock_mutex_lock_for(opened, SECOND, NULL));
    EXPECT(0, turnlock_mutex_unlock(opened));
    _exit(0);
}

/* How many allocations there were; and what became of the process that made the call. */
static int try_it(const struct call *call, unsigned which, int and_after, char *ended, size_t room)
{
    memset(result, 0, sizeof *result);
    pid_t holder = 0;
    if (call->held) {
        holder = fork_with_us();
        if (holder == 0)
            hold();
        until(&result->holds, "the other process holds");
    }
    pid_t process = fork_with_us();
    if (process == 0) {
        alarm(10);
        act(call, which, and_after);
    }
    int status;
    MUST(waitpid(process, &status, 0));
    if (holder != 0)
        MUST(waitpid(holder, &(int){0}, 0));
    ended[0] = '\0';
    if (WIFSIGNALED(status))
        snprintf(ended, room, WTERMSIG(status) == SIGALRM ? "hung" : "ended by signal %d", WTERMSIG(status));
    else if (status != 0)
        snprintf(ended, room, "was wrong after it (see above)");
    return result->allocations;
}

static void check_from_outside(const char *call, unsigned which)
{
    pid_t process = fork_with_us();
    if (process == 0)
        look(call, which);
    int status;
    MUST(waitpid(process, &status, 0));
    if (status != 0)
        FAIL("after %s with allocation %u failing: see above", call, which);
}

int main(int count, char **arguments)
{
    if (count != 2)
        FAIL("wrong arguments");
    path = arguments[1];
    result = shared_memory(sizeof *result);
    MUST(setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}));
    pid_t first = fork_with_us();
    if (first == 0) {
        open_up();
        _exit(0);
    }
    MUST(waitpid(first, &(int){0}, 0));
    unsigned made = 0, bad = 0, failed = 0;
    char ended[80], story[4096] = "";
    for (size_t number = 0; number < sizeof calls / sizeof *calls; number++) {
        const struct call *call = &calls[number];
        at(call->name);
        int needed = try_it(call, 0, 0, ended, sizeof ended);
        if (ended[0] != '\0')
            FAIL("%s, with all the memory it wants, %s", call->name, ended);
        check_from_outside(call->name, 0);
        unsigned bad_here = 0;
        char how[80] = "";
        if (needed > WORST)
            FAIL("%s makes %d allocations", call->name, needed);
        /* Enough is enough: a process that aborts takes its time. */
        for (unsigned which = 1; which <= (unsigned)needed && bad_here < ENOUGH; which++)
            for (int and_after = 0; and_after <= 1; and_after++) {
                try_it(call, which, and_after, ended, sizeof ended);
                made++;
                failed += result->done && result->status < 0;
                if (ended[0] != '\0') {
                    bad_here++;
                    memcpy(how, ended, sizeof how);
                }
                check_from_outside(call->name, which);
            }
        if (bad_here > 0) {
            size_t length = strlen(story);
            snprintf(story + length, sizeof story - length, "%s%s (%d allocations): %s%u times, %s", length ? "; " : "",
                     call->name, needed, bad_here < ENOUGH ? "" : "at least ", bad_here, how);
        }
        bad += bad_here;
    }
    if (bad > 0)
        FAIL("%u of %u: %s", bad, made, story);
    PASS("%u times no memory: the call failed in %u, and succeeded in %u", made, failed, made - failed);
}
