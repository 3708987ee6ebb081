/*
 * key_destructor.c: locks at the very end of a thread and of a program: in destructors of pthread keys (made before and
 * after the library was used first), in a handler of atexit, in a destructor of the program.
 *
 *     key_destructor LOCK-FILE
 *
 * The verdict comes last, from the program's destructor.
 */
#include "attack.h"

/* One slot is the main thread's. */
enum { THREADS = 300, SLOTS = 16, FREE = SLOTS - 1 };

static turnlock_file *file;
static turnlock_mutex *mutex, *other;
static pthread_key_t early, late;
static int tested;

enum what { LOCK_AND_UNLOCK = 1, LOCK, UNLOCK };

/* What each destructor found; the test looks at it when the thread is gone. */
static int32_t locked, unlocked;
static int ran;

static void destructor(void *value)
{
    enum what what = (enum what)(intptr_t)value;
    ran++;
    if (what != UNLOCK)
        locked = turnlock_mutex_lock(mutex, NULL);
    if (what != LOCK)
        unlocked = turnlock_mutex_unlock(mutex);
}

struct task {
    pthread_key_t key;
    enum what what;
    int lock_before;
};

static void *thread(void *with)
{
    const struct task *task = with;
    if (task->lock_before)
        EXPECT(0, turnlock_mutex_lock(mutex, NULL));
    MUST_0(pthread_setspecific(task->key, (void *)(intptr_t)task->what));
    return NULL;
}

static void run(pthread_key_t key, enum what what, int lock_before)
{
    struct task task = {key, what, lock_before};
    locked = unlocked = ran = 0;
    on_a_thread(thread, &task);
    if (ran != 1)
        FAIL("the key's destructor ran %d times", ran);
}

static void with(pthread_key_t key, const char *made)
{
    at(made);
    for (int number = 0; number < THREADS; number++) {
        run(key, LOCK_AND_UNLOCK, 0);
        if (locked != 0 || unlocked != 0)
            FAIL("a first lock in the destructor of a key made %s: thread %d: lock %d (%s), unlock %d (%s)", made, number,
                 locked, turnlock_status_text(locked), unlocked, turnlock_status_text(unlocked));
    }
    int slots = free_slots(file);
    if (slots != FREE)
        FAIL("after %d threads whose first lock was in the destructor of a key made %s, %d of %d slots are free, not %d",
             THREADS, made, slots, SLOTS, FREE);

    at("a thread that unlocks in its destructor what it locked before");
    run(key, UNLOCK, 1);
    if (unlocked != 0)
        FAIL("the destructor of a key made %s cannot unlock what its thread locked: %d (%s)", made, unlocked,
             turnlock_status_text(unlocked));
    EXPECT(0, turnlock_mutex_lock_for(mutex, 2 * SECOND, NULL));
    EXPECT(0, turnlock_mutex_unlock(mutex));

    at("a thread that ends holding, from its destructor");
    for (int lock_before = 0; lock_before <= 1; lock_before++) {
        if (lock_before) {
            /* One that used the library before: its slot is one that was there already. */
            run(key, LOCK_AND_UNLOCK, 0);
            EXPECT(0, turnlock_mutex_lock(other, NULL));
            EXPECT(0, turnlock_mutex_unlock(other));
        }
        run(key, LOCK, 0);
        if (locked != 0)
            FAIL("lock in the destructor of a key made %s: %d", made, locked);
        EXPECT(TURNLOCK_OWNER_DEAD, turnlock_mutex_lock_for(mutex, 2 * SECOND, NULL));
        EXPECT(0, turnlock_mutex_mark_consistent(mutex));
        EXPECT(0, turnlock_mutex_unlock(mutex));
    }
}

static void lock_and_unlock(const char *where)
{
    at(where);
    EXPECT(0, turnlock_mutex_lock_for(mutex, 2 * SECOND, NULL));
    EXPECT(0, turnlock_mutex_unlock(mutex));
}

static void at_exit(void)
{
    lock_and_unlock("a handler of atexit");
}

__attribute__((destructor)) static void at_the_very_end(void)
{
    if (!tested)
        return;
    lock_and_unlock("a destructor of the program");
    PASS("%d threads with each key", THREADS);
}

int main(int count, char **arguments)
{
    if (count != 2)
        FAIL("wrong arguments");
    MUST_0(pthread_key_create(&early, destructor));
    file = open_file(arguments[1], SLOTS);
    mutex = open_mutex(file, "a");
    other = open_mutex(file, "other");
    MUST(atexit(at_exit));
    EXPECT(0, turnlock_mutex_lock(mutex, NULL));
    EXPECT(0, turnlock_mutex_unlock(mutex));
    with(early, "before the file was opened");
    MUST_0(pthread_key_create(&late, destructor));
    with(late, "after locks were taken");
    /* What the file keeps of a closed hold, for the next one, is given up at the end of the process. */
    turnlock_hold *hold;
    EXPECT(0, turnlock_hold_open(file, NULL, &hold));
    EXPECT(0, acquire_by(hold, other, TURNLOCK_WAIT_FOREVER, NULL));
    EXPECT(0, turnlock_hold_release(hold));
    EXPECT(0, turnlock_hold_close(hold));
    tested = 1;
    return 0;
}
