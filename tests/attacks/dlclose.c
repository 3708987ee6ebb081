/*
 * dlclose.c: the library loaded, used, unloaded; and what is left of it then.
 *
 *     dlclose LOCK-FILE LIBRARY
 *
 * The program's own handler of SIGBUS, there before the library, gets the program's own SIGBUS after it; a fork works;
 * the library can be loaded and used again. Where the main thread used the library, and where a thread did that ended.
 */
#include "attack.h"

#include <dlfcn.h>
#include <setjmp.h>

static const char *path, *library;
static sigjmp_buf back;
static volatile sig_atomic_t met;

static void handler(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    met++;
    siglongjmp(back, 1);
}

/* Touches a page that its file has no more. */
static void meet_a_truncated_file(const char *when)
{
    int descriptor = memfd_create("truncated", 0);
    MUST(descriptor);
    MUST(ftruncate(descriptor, 4096));
    volatile char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (page == MAP_FAILED)
        FAIL("mmap: %s", strerror(errno));
    MUST(ftruncate(descriptor, 0));
    sig_atomic_t before = met;
    if (sigsetjmp(back, 1) == 0)
        page[0] = 1;
    if (met != before + 1)
        FAIL("%s: the program's own handler of SIGBUS was called %d times instead of once", when, met - before);
    munmap((void *)page, 4096);
    close(descriptor);
}

static void *loaded;

static void *symbol(const char *name)
{
    void *found = dlsym(loaded, name);
    if (found == NULL)
        FAIL("dlsym: %s", dlerror());
    return found;
}

/* The function of the library that is loaded now: this program is not linked with it. */
#define CALL(function) ((__typeof__(function) *)symbol(#function))

static void *use(void *unused)
{
    turnlock_file *file;
    turnlock_mutex *mutex;
    int32_t status[] = {
        CALL(turnlock_file_open)(path, NULL, &file),
        CALL(turnlock_mutex_open)(file, "a", NULL, &mutex),
        CALL(turnlock_mutex_lock_for)(mutex, SECOND, NULL),
        CALL(turnlock_mutex_unlock)(mutex),
        CALL(turnlock_mutex_unlock)(mutex) == TURNLOCK_ERROR_NOT_OWNER ? 0 : -1,
        CALL(turnlock_mutex_close)(mutex),
        CALL(turnlock_file_close)(file),
    };
    for (size_t call = 0; call < sizeof status / sizeof *status; call++)
        if (status[call] != 0)
            FAIL("call %zu gave %d", call, status[call]);
    return unused;
}

static void load(void)
{
    loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (loaded == NULL)
        FAIL("dlopen: %s", dlerror());
}

/* Is it in memory no more? */
static int is_unloaded(void)
{
    void *again = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    if (again != NULL)
        dlclose(again);
    return again == NULL;
}

static void fork_once(void)
{
    pid_t child = fork_with_us();
    if (child == 0)
        _exit(0);
    int status;
    MUST(waitpid(child, &status, 0));
    if (status != 0)
        FAIL("a forked child ended with status %#x", status);
}

static int unloaded;

static void round_of(int in_a_thread)
{
    at("load and use");
    load();
    if (in_a_thread)
        on_a_thread(use, NULL);
    else
        use(NULL);
    at("fork with the library");
    fork_once();
    at("SIGBUS with the library");
    meet_a_truncated_file("with the library");
    at("unload");
    if (dlclose(loaded) != 0)
        FAIL("dlclose: %s", dlerror());
    unloaded += is_unloaded();
    at("SIGBUS after the library");
    meet_a_truncated_file("after dlclose");
    at("fork after the library");
    fork_once();
    at("the end of a thread after the library");
    on_a_thread((void *(*)(void *))fork_once, NULL);
}

static void *round_of_a_thread(void *unused)
{
    round_of(0);
    return unused;
}

int main(int count, char **arguments)
{
    if (count != 3)
        FAIL("wrong arguments");
    path = arguments[1];
    library = arguments[2];
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    MUST(sigaction(SIGBUS, &action, NULL));
    meet_a_truncated_file("before the library");
    for (int round = 0; round < 3; round++)
        round_of(1);
    for (int round = 0; round < 3; round++)
        on_a_thread(round_of_a_thread, NULL);
    for (int round = 0; round < 3; round++)
        round_of(0);
    PASS("9 rounds, after %d of them it was gone from memory", unloaded);
}
