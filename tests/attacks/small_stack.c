/*
 * small_stack.c: how much stack each call needs.
 *
 *     small_stack LOCK-FILE BYTES ALTERNATIVE
 *
 * Each call is made once on a thread with a stack of so many bytes, all of which are painted, below the call, before it:
 * what is not paint any more afterwards was used. Prints a line with all of them: NAME=BYTES. On the last line, a first
 * lock in a signal handler on an alternative stack of ALTERNATIVE bytes, and what the kernel asks for its signal frame.
 */
#include "attack.h"

enum { SLOTS = 16, PAGE = 4096, PAINT = 0xa5 };

static const char *path;
static turnlock_file *file;
static turnlock_mutex *mutex, *free_one;
static turnlock_hold *hold;
static size_t stack_bytes, alternative_bytes;
static char *stack;

/* Memory with a page below it that cannot be accessed. */
static char *guarded(size_t bytes)
{
    char *memory = mmap(NULL, PAGE + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED)
        FAIL("mmap: %s", strerror(errno));
    MUST(mprotect(memory, PAGE, PROT_NONE));
    return memory + PAGE;
}

static void attach(void)
{
    EXPECT(0, turnlock_mutex_lock(free_one, NULL));
    EXPECT(0, turnlock_mutex_unlock(free_one));
}

static void lock(void)
{
    EXPECT(0, turnlock_mutex_lock(free_one, NULL));
}

static void after_lock(void)
{
    EXPECT(0, turnlock_mutex_unlock(free_one));
}

static void in_vain(void)
{
    EXPECT(TURNLOCK_ERROR_TIMED_OUT, turnlock_mutex_lock_for(mutex, 100 * MILLISECOND, NULL));
}

static void reap(void)
{
    EXPECT(TURNLOCK_OWNER_DEAD, turnlock_mutex_lock(mutex, NULL));
}

static void after_reap(void)
{
    EXPECT(0, turnlock_mutex_mark_consistent(mutex));
    EXPECT(0, turnlock_mutex_unlock(mutex));
}

static void unlock_nothing(void)
{
    EXPECT(TURNLOCK_ERROR_NOT_OWNER, turnlock_mutex_unlock(mutex));
    (void)turnlock_last_error_message();
}

static void create_file(void)
{
    EXPECT(0, turnlock_file_open(path, &(turnlock_file_options){.size = sizeof(turnlock_file_options), .participants = SLOTS}, &file));
}

static void open_again(void)
{
    turnlock_file *again;
    EXPECT(0, turnlock_file_open(path, NULL, &again));
    EXPECT(0, turnlock_file_close(again));
}

static int given;

static void give_a_memfd(void)
{
    MUST(given = memfd_create("attack", 0));
}

static void open_by_descriptor(void)
{
    turnlock_file *again;
    EXPECT(0, turnlock_file_open_descriptor(given, NULL, &again));
    EXPECT(0, turnlock_file_close(again));
}

static void name_one_to_remove(void)
{
    turnlock_mutex *gone;
    EXPECT(0, turnlock_mutex_open(file, "gone", NULL, &gone));
    EXPECT(0, turnlock_mutex_close(gone));
}

static void remove_lock(void)
{
    EXPECT(0, turnlock_file_remove_lock(file, "gone"));
}

static void create_mutexes(void)
{
    EXPECT(0, turnlock_mutex_open(file, "a", NULL, &mutex));
    EXPECT(0, turnlock_mutex_open(file, "free", NULL, &free_one));
}

static void ask_who(void)
{
    static turnlock_participant_info waiters[SLOTS], holder = {.size = sizeof holder};
    size_t count;
    waiters[0].size = sizeof *waiters;
    EXPECT(0, turnlock_lock_holders((turnlock_lock *)mutex, 1, &holder, &count));
    EXPECT(0, turnlock_lock_waiters((turnlock_lock *)mutex, SLOTS, waiters, &count));
}

static void ask_contended(void)
{
    EXPECT(0, turnlock_lock_is_contended((turnlock_lock *)free_one));
}

static void open_a_hold(void)
{
    EXPECT(0, turnlock_hold_open(file, NULL, &hold));
}

static void acquire_it(void)
{
    EXPECT(0, acquire_by(hold, free_one, TURNLOCK_WAIT_FOREVER, NULL));
}

static void release_it(void)
{
    EXPECT(0, turnlock_hold_release(hold));
}

static void close_hold(void)
{
    EXPECT(0, turnlock_hold_close(hold));
}

struct call {
    void (*before)(void), (*act)(void), (*after)(void);
    size_t used;
};

static size_t used_of(const char *memory, size_t bytes)
{
    size_t left = 0;
    while (left < bytes && memory[left] == (char)PAINT)
        left++;
    return bytes - left;
}

__attribute__((noinline)) static void measure(struct call *call)
{
    char *here = __builtin_frame_address(0);
    size_t below = (size_t)(here - stack) - 256; /* not our own frame, nor that of memset */
    memset(stack, PAINT, below);
    call->act();
    call->used = used_of(stack, below);
}

static void *thread(void *with)
{
    struct call *call = with;
    if (call->before)
        call->before();
    measure(call);
    if (call->after)
        call->after();
    return NULL;
}

static void run(const char *name, void (*before)(void), void (*act)(void), void (*after)(void))
{
    at(name);
    struct call call = {before, act, after, 0};
    pthread_attr_t with;
    pthread_t thread_of_it;
    MUST_0(pthread_attr_init(&with));
    MUST_0(pthread_attr_setstack(&with, stack, stack_bytes));
    MUST_0(pthread_create(&thread_of_it, &with, thread, &call));
    join(thread_of_it);
    MUST_0(pthread_attr_destroy(&with));
    dprintf(1, "%s=%zu\n", name, call.used);
}

static volatile int32_t in_handler = 99;

static void handler(int signal)
{
    (void)signal;
    in_handler = turnlock_mutex_lock(free_one, NULL);
    if (in_handler == 0)
        in_handler = turnlock_mutex_unlock(free_one);
}

/* On a thread of its own, with the usual stack: this is a first lock. */
static void *signalled(void *unused)
{
    /* What the kernel saves there depends on the processor: 12 KiB where it has AMX. */
    size_t kernels = (size_t)sysconf(_SC_MINSIGSTKSZ);
    size_t bytes = alternative_bytes + (kernels + PAGE - 1) / PAGE * PAGE;
    char *alternative = guarded(bytes);
    memset(alternative, PAINT, bytes);
    MUST(sigaltstack(&(stack_t){.ss_sp = alternative, .ss_size = bytes}, NULL));
    MUST(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handler, .sa_flags = SA_ONSTACK}, NULL));
    MUST(raise(SIGUSR1));
    if (in_handler != 0)
        FAIL("in the handler: %d (%s)", in_handler, turnlock_status_text(in_handler));
    size_t used = used_of(alternative, bytes);
    dprintf(1, "handler=%zu\nthe kernel asks for %zu besides\n", used > kernels ? used - kernels : 0, kernels);
    MUST(sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL));
    return unused;
}

int main(int count, char **arguments)
{
    if (count != 4)
        FAIL("wrong arguments");
    path = arguments[1];
    stack_bytes = (size_t)atol(arguments[2]);
    alternative_bytes = (size_t)atol(arguments[3]);
    stack = guarded(stack_bytes);
    run("create_file", NULL, create_file, NULL);
    run("create_mutexes", NULL, create_mutexes, NULL);
    run("open_again", NULL, open_again, NULL);
    run("open_by_descriptor", give_a_memfd, open_by_descriptor, NULL);
    run("remove_lock", name_one_to_remove, remove_lock, NULL);
    run("first_lock", NULL, lock, after_lock);
    run("biased_lock", attach, lock, after_lock);
    run("unlock", lock, after_lock, NULL);
    run("is_contended", lock, ask_contended, after_lock);
    run("unlock_nothing", attach, unlock_nothing, NULL);
    run("hold_open", NULL, open_a_hold, NULL);
    run("hold_acquire", NULL, acquire_it, NULL);
    run("hold_release", NULL, release_it, NULL);
    run("hold_close", NULL, close_hold, NULL);
    pid_t holder = start_holder(path, SLOTS);
    run("holder_and_waiters", NULL, ask_who, NULL);
    run("wait_in_vain", NULL, in_vain, NULL);
    kill_and_wait(holder);
    run("wait_and_reap", NULL, reap, after_reap);
    dprintf(1, "PASS every call on a stack of %zu bytes\n", stack_bytes);
    at("a first lock on an alternative signal stack");
    on_a_thread(signalled, NULL);
}
