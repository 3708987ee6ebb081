/*
 * event_loop.c: waits for a lock in an event loop, beside a clock that goes on ticking.
 *
 *     cc -std=c99 -o event_loop event_loop.c -lturnlock
 *     ./event_loop FOLDER TURNS
 *
 * The loop is epoll(7)'s, the clock a timerfd. A turn is one acquisition of the mutex "turns" in FOLDER/event_loop.lock. The program
 * never waits in a call of turnlock: it begins an acquisition, and finishes it when the hold's descriptor is readable. Start it several
 * times: they take turns.
 */

#define _POSIX_C_SOURCE 200809L /* chdir, struct itimerspec */

#include <turnlock.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define TICK_NS 1000000 /* a millisecond */

static int32_t check(int32_t status)
{
    if (status < 0) {
        fprintf(stderr, "event_loop.c: %s\n", turnlock_last_error_message());
        exit(EXIT_FAILURE);
    }
    return status;
}

static int check_system(int result, const char *what)
{
    if (result < 0) {
        perror(what);
        exit(EXIT_FAILURE);
    }
    return result;
}

static void watch(int loop, int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.fd = descriptor}};

    check_system(epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

int main(int count, char **arguments)
{
    struct itimerspec each_tick = {{0, TICK_NS}, {0, TICK_NS}};
    turnlock_request request = {.size = sizeof request};
    unsigned long turns, done = 0, ticks = 0;
    turnlock_file *file;
    turnlock_mutex *mutex;
    turnlock_hold *hold;
    int32_t readable;
    int loop, clock;

    if (count != 3 || chdir(arguments[1]) != 0) {
        fprintf(stderr, "usage: event_loop FOLDER TURNS\n");
        return EXIT_FAILURE;
    }
    turns = strtoul(arguments[2], NULL, 10);
    check(turnlock_file_open("event_loop.lock", NULL, &file));
    check(turnlock_mutex_open(file, "turns", NULL, &mutex));
    check(turnlock_hold_open(file, NULL, &hold));
    check(turnlock_hold_fd(hold, &readable));
    loop = check_system(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
    clock = check_system(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "timerfd_create");
    check_system(timerfd_settime(clock, 0, &each_tick, NULL), "timerfd_settime");
    watch(loop, clock);
    watch(loop, readable);
    printf("event_loop.c: begins\n");
    fflush(stdout);
    request.lock = (turnlock_lock *)mutex;
    if (turns > 0)
        check(turnlock_hold_begin_acquire(hold, &request));
    while (done < turns) {
        struct epoll_event event;

        if (check_system(epoll_wait(loop, &event, 1, -1), "epoll_wait") == 0)
            continue;
        if (event.data.fd == clock) {
            uint64_t times;

            if (read(clock, &times, sizeof times) == sizeof times)
                ticks += times;
            continue;
        }
        if (check(turnlock_hold_finish_acquire(hold, NULL)) == TURNLOCK_OWNER_DEAD)
            check(turnlock_hold_mark_consistent(hold)); /* There is nothing to repair here. */
        /* The turn: what is done under the lock, briefly, since the loop waits for it. */
        done++;
        check(turnlock_hold_release(hold));
        if (done < turns)
            check(turnlock_hold_begin_acquire(hold, &request));
    }
    printf("event_loop.c: done, %lu turns, %lu ticks\n", done, ticks);
    close(clock);
    close(loop);
    check(turnlock_hold_close(hold));
    check(turnlock_mutex_close(mutex));
    check(turnlock_file_close(file));
    return EXIT_SUCCESS;
}
