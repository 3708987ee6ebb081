/*
 * attack.h: what the programs of this folder share. Each attacks the library in one way, through its C ABI.
 *
 * A program gets the path of its lock file (or of a folder) and perhaps the name of a scenario, prints one line with its
 * verdict, and ends with 0 if it passed. On standard error it says at what it is, for the report of one that hangs.
 */
#ifndef ATTACK_H
#define ATTACK_H

#include <turnlock.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)

/* Says what comes next. Only write(2): also for a signal handler and for a child of a program with threads. */
static inline void at(const char *what)
{
    if (write(2, "at: ", 4) < 0 || write(2, what, strlen(what)) < 0 || write(2, "\n", 1) < 0)
        _exit(120);
}

/* Ends the program with its verdict, from wherever it is. */
__attribute__((noreturn, format(printf, 3, 4))) static inline void fail_at(const char *file, int line,
                                                                           const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    dprintf(1, "FAIL %s:%d: ", file, line);
    vdprintf(1, format, arguments);
    dprintf(1, "\n");
    va_end(arguments);
    _exit(1);
}

#define FAIL(...) fail_at(__FILE__, __LINE__, __VA_ARGS__)

/* The verdict of a program that passed; the numbers in it are for people. */
#define PASS(...) (dprintf(1, "PASS " __VA_ARGS__), dprintf(1, "\n"))

/* A call that must give this very status. */
#define EXPECT(wanted, call)                                                                                        \
    do {                                                                                                            \
        int32_t came_ = (call), wanted_ = (wanted);                                                                 \
        if (came_ != wanted_)                                                                                       \
            FAIL("%s gave %d (%s) instead of %d: %s", #call, came_, turnlock_status_text(came_), wanted_,           \
                 came_ < 0 ? turnlock_last_error_message() : "");                                                   \
    } while (0)

/* A system call, or another function of the C library, that must not fail. */
#define MUST(call)                                                                                                  \
    do {                                                                                                            \
        if ((call) < 0)                                                                                             \
            FAIL("%s: %s", #call, strerror(errno));                                                                 \
    } while (0)

/* One of the pthread functions, which give an error number. */
#define MUST_0(call)                                                                                                \
    do {                                                                                                            \
        int error_ = (call);                                                                                        \
        if (error_ != 0)                                                                                            \
            FAIL("%s: %s", #call, strerror(error_));                                                                \
    } while (0)

static inline uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static inline void sleep_ns(uint64_t nanoseconds)
{
    struct timespec left = {(time_t)(nanoseconds / SECOND), (long)(nanoseconds % SECOND)};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

/* Memory that this process shares with those that it forks from now on; all zeros. */
static inline void *shared_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        FAIL("mmap: %s", strerror(errno));
    return memory;
}

static inline pthread_t start(void *(*act)(void *), void *with)
{
    pthread_t thread;
    MUST_0(pthread_create(&thread, NULL, act, with));
    return thread;
}

static inline void *join(pthread_t thread)
{
    void *result;
    MUST_0(pthread_join(thread, &result));
    return result;
}

/* Runs `act` on a thread of its own until the thread is gone. */
static inline void *on_a_thread(void *(*act)(void *), void *with)
{
    return join(start(act, with));
}

/* Waits until another thread or process sets `flag`. */
static inline void until(const volatile int *flag, const char *what)
{
    for (uint64_t began = now_ns(); !*flag; sleep_ns(MILLISECOND / 5))
        if (now_ns() - began > 20 * SECOND)
            FAIL("after 20 seconds still not so: %s", what);
}

/* With room for `participants`, if it is created now; 0 = as many as usual. */
static inline turnlock_file *open_file(const char *path, uint32_t participants)
{
    turnlock_file_options options = {.size = sizeof options, .participants = participants};
    turnlock_file *file;
    EXPECT(0, turnlock_file_open(path, &options, &file));
    return file;
}

static inline turnlock_mutex *open_mutex(turnlock_file *file, const char *name)
{
    turnlock_mutex *mutex;
    EXPECT(0, turnlock_mutex_open(file, name, NULL, &mutex));
    return mutex;
}

/* With a slot of its own, which is given up when it is closed, and none of the file's pool. */
static const turnlock_hold_options own_slot = {.size = sizeof own_slot, .label = "attack"};

static inline turnlock_hold *open_hold(turnlock_file *file)
{
    turnlock_hold *hold;
    EXPECT(0, turnlock_hold_open(file, &own_slot, &hold));
    return hold;
}

/* Acquires all of a lock exclusively. */
static inline int32_t acquire_by(turnlock_hold *hold, const void *lock, uint32_t wait, turnlock_acquired *acquired)
{
    turnlock_request request = {.size = sizeof request, .lock = lock, .wait = wait};
    return turnlock_hold_acquire(hold, &request, acquired);
}

/* How many participants there is room for. Asked by taking all the room for a moment. */
static inline int free_slots(turnlock_file *file)
{
    static turnlock_hold *taken[1024];
    int slots = 0;
    int32_t status = 0;
    while (slots < 1024 && (status = turnlock_hold_open(file, &own_slot, &taken[slots])) == 0)
        slots++;
    if (status != TURNLOCK_ERROR_PARTICIPANTS_FULL)
        FAIL("turnlock_hold_open gave %d: %s", status, turnlock_last_error_message());
    for (int slot = 0; slot < slots; slot++)
        EXPECT(0, turnlock_hold_close(taken[slot]));
    return slots;
}

/* Ends a process of our own at once, and waits until it is gone. */
static inline void kill_and_wait(pid_t process)
{
    int status;
    MUST(kill(process, SIGKILL));
    MUST(waitpid(process, &status, 0));
}

/* `fork`, of a child that dies with this thread. */
static inline pid_t fork_with_us(void)
{
    pid_t us = getpid(), process = fork();
    MUST(process);
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != us)
            _exit(122);
    }
    return process;
}

/* Starts another process that takes the lock "a" of the file at `path` and keeps it until it is killed. To be called
 * before this process uses turnlock itself, or from one that may fork. */
static inline pid_t start_holder(const char *path, uint32_t participants)
{
    volatile int *holds = shared_memory(sizeof *holds);
    pid_t holder = fork_with_us();
    if (holder == 0) {
        turnlock_mutex *mutex = open_mutex(open_file(path, participants), "a");
        EXPECT(0, turnlock_mutex_lock(mutex, NULL));
        *holds = 1;
        for (;;)
            pause();
    }
    until(holds, "another process has the lock");
    munmap((void *)holds, sizeof *holds);
    return holder;
}

#endif
