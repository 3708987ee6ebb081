/*
 * stepping.h: delivers a signal to a child after every instruction of what it does.
 *
 * The child does the same again and again, leaves a trap to its parent before and after it (`trap`), and its handler counts in
 * `shared` what it got. The parent, by ptrace, steps through it once, and then has a signal delivered after so many
 * instructions, another number each time.
 */
#ifndef STEPPING_H
#define STEPPING_H

#include "attack.h"

#include <sched.h>
#include <sys/ptrace.h>
#include <sys/user.h>

/* How many points there are at most: every instruction, or where there are more, those that are met for the first time (the
 * rest is loops), or where there are more of these, some of them in equal distances. */
enum { POINTS = 3000, INSTRUCTIONS = 2000000 };

/* What the child is at, for the parent. */
enum phase { OUTSIDE = 1, STEPPED, OVER };

static struct shared {
    volatile enum phase phase;
    volatile int succeeded, deadlock; /* what the handler got */
} *shared;

/* Tells the parent what comes now. */
static void trap(enum phase phase)
{
    shared->phase = phase;
    __asm__ volatile("int3" ::: "memory");
}

static pid_t child;

/* Before there is a child: it will run on the processor of its parent, so that a step wakes up no other one, which would take twice as
 * long. */
static void stay_on_this_processor(void)
{
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    MUST(sched_setaffinity(0, sizeof here, &here));
}

static void until_trapped(enum __ptrace_request how)
{
    int status;
    MUST(waitpid(child, &status, 0));
    /* It was blocked when it was sent: delivered now. */
    while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGUSR1) {
        MUST(ptrace(how, child, NULL, (void *)(intptr_t)SIGUSR1));
        MUST(waitpid(child, &status, 0));
    }
    if (!WIFSTOPPED(status))
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 121); /* it has given the verdict */
    if (WSTOPSIG(status) != SIGTRAP) {
        struct user_regs_struct registers;
        ptrace(PTRACE_GETREGS, child, NULL, &registers);
        FAIL("signal %d at %#llx", WSTOPSIG(status), registers.rip);
    }
}

/* Has it go on until it is stopped by a trap; `signal` is delivered first. */
static void go_on(enum __ptrace_request how, int signal)
{
    if (ptrace(how, child, NULL, (void *)(intptr_t)signal) < 0)
        FAIL("ptrace: %s", strerror(errno));
    until_trapped(how);
}

static uint64_t address(void)
{
    struct user_regs_struct registers;
    MUST(ptrace(PTRACE_GETREGS, child, NULL, &registers));
    return registers.rip;
}

static void go_to(enum phase phase)
{
    do
        go_on(PTRACE_CONT, 0);
    while (shared->phase != phase);
}

/* Goes on to the trap after the section, or to where `place` is; 0 if it does not come there. By a breakpoint, which is
 * much cheaper than steps. */
static int run_to(uint64_t place)
{
    errno = 0;
    long code = ptrace(PTRACE_PEEKTEXT, child, (void *)place, NULL);
    if (errno != 0)
        FAIL("ptrace: %s", strerror(errno));
    MUST(ptrace(PTRACE_POKETEXT, child, (void *)place, (void *)((code & ~0xffL) | 0xcc)));
    go_on(PTRACE_CONT, 0);
    MUST(ptrace(PTRACE_POKETEXT, child, (void *)place, (void *)code));
    struct user_regs_struct registers;
    MUST(ptrace(PTRACE_GETREGS, child, NULL, &registers));
    if (registers.rip != place + 1)
        return 0;
    registers.rip = place;
    MUST(ptrace(PTRACE_SETREGS, child, NULL, &registers));
    return 1;
}

static uint64_t *way;

/* Of each instruction, which one before it (or itself) is the last that was never met before it. */
static uint32_t *landmark;

/* Notes the way from one trap to the other. How many instructions that is. */
static uint32_t note_the_way(void)
{
    way = malloc(INSTRUCTIONS * sizeof *way);
    landmark = malloc(INSTRUCTIONS * sizeof *landmark);
    static uint64_t met[1 << 22];
    uint32_t count = 0, last = 0;
    until_trapped(PTRACE_CONT);
    if (shared->phase != OUTSIDE)
        FAIL("the victim is not where it should be");
    for (; shared->phase != OVER; count++) {
        if (count == INSTRUCTIONS)
            FAIL("more than %d instructions", INSTRUCTIONS);
        way[count] = address();
        uint64_t hash = way[count] * UINT64_C(0x9e3779b97f4a7c15) >> 42;
        while (met[hash] != 0 && met[hash] != way[count])
            hash = (hash + 1) & ((1 << 22) - 1);
        if (met[hash] == 0)
            last = count;
        met[hash] = way[count];
        landmark[count] = last;
        go_on(PTRACE_SINGLESTEP, 0);
    }
    return count;
}

/* Before which instructions a signal comes. How many they are. */
static uint32_t choose_points(uint32_t count, uint32_t *points)
{
    uint32_t chosen = 0;
    for (uint32_t place = 0; place < count; place++)
        if (count <= POINTS || landmark[place] == place)
            points[chosen++] = place;
    if (chosen <= POINTS)
        return chosen;
    for (uint32_t point = 0; point < POINTS; point++)
        points[point] = points[(uint64_t)point * chosen / POINTS];
    return POINTS;
}

/* Each point is visited so many times in succession: what a handler does may depend on what it did the last time. */
static void step_through(const char *which, int visits)
{
    at("the way without a signal");
    static uint32_t places[INSTRUCTIONS];
    uint32_t count = note_the_way(), points = choose_points(count, places), strayed = 0, runs = 1;
    at("a signal after so many instructions");
    int before = 0;
    for (uint32_t visit = 0; visit < visits * points; visit++) {
        uint32_t steps = places[visit / visits];
        go_to(OUTSIDE);
        if (landmark[steps] > 0 && !run_to(way[landmark[steps]])) {
            strayed++; /* another way than the first time */
            continue;
        }
        for (uint32_t step = landmark[steps]; step < steps && shared->phase != OVER; step++)
            go_on(PTRACE_SINGLESTEP, 0);
        if (shared->phase == OVER) {
            strayed++;
            continue;
        }
        int deadlocks = shared->deadlock, successes = shared->succeeded;
        go_on(PTRACE_CONT, SIGUSR1);
        if (shared->phase != OVER)
            FAIL("a trap in the midst of it, %u instructions after its beginning", steps);
        if (shared->deadlock + shared->succeeded != deadlocks + successes + 1)
            FAIL("the handler did not run once, %u instructions after the beginning", steps);
        runs += (shared->deadlock > deadlocks) != before;
        before = shared->deadlock > deadlocks;
    }
    if (shared->deadlock == 0 || shared->succeeded == 0)
        FAIL("%s: of %u signals %d met a lock that was free, %d one that was taken", which, points, shared->succeeded,
             shared->deadlock);
    if (strayed > visits * points / 2)
        FAIL("%s: of %u points among %u instructions %u strayed", which, points, count, strayed);
    PASS("%s: %u instructions, %u points: %d met a free lock, %d a taken one, %u strayed; %u changes", which, count, points,
         shared->succeeded, shared->deadlock, strayed, runs - 1);
}

#endif
