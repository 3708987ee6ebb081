/*
 * relay.c: a relay in which several programs pass the turn round.
 *
 *     cc -std=c99 -o relay-c relay.c -lturnlock
 *     ./relay-c FOLDER LEGS [--pace MICROSECONDS]
 *
 * The folder has a text file, `text`, to which every program adds lines: one for each leg, in turn. A line says with
 * which fencing token, who, and the how manieth leg of that program it is:
 *
 *     4711 relay.c leg 12
 *
 * Whose turn it is says a turn ring in `relay.lock`. Unlike a mutex, which serves the first to come, a ring goes round:
 * a member is waited for, and gets its next turn after every other member had one. relay.py and relay.rs
 * do the same in the same folder. One that dies is passed over; started again, it is back in its place.
 *
 * A line is written in two halves, with a pause of MICROSECONDS between them (none by default), so that one can die there:
 * see `repair`.
 */

#define _POSIX_C_SOURCE 200809L /* chdir, ftruncate, nanosleep, pread */

#include <turnlock.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ME "relay.c"

/* For every turnlock call: a negative status is a failure, and the library has the whole story of it. */
static int32_t check(int32_t status)
{
    if (status < 0) {
        fprintf(stderr, ME ": %s\n", turnlock_last_error_message());
        exit(EXIT_FAILURE);
    }
    return status;
}

/*
 * For the text. Ending while it is our turn is right: half a line may stand in the text, and since we die without passing
 * the turn on, the next one is told.
 */
static void give_up(const char *file)
{
    fprintf(stderr, ME ": %s: %s\n", file, strerror(errno));
    exit(EXIT_FAILURE);
}

static void append(int text, const char *half)
{
    size_t length = strlen(half);
    ssize_t written = write(text, half, length);
    if (written >= 0 && (size_t)written < length)
        errno = ENOSPC;
    if (written < 0 || (size_t)written < length)
        give_up("text");
}

static void wait_a_moment(unsigned long microseconds)
{
    struct timespec pause;
    pause.tv_sec = (time_t)(microseconds / 1000000);
    pause.tv_nsec = (long)(microseconds % 1000000) * 1000;
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR)
        ;
}

/* Cuts off a last line that has no end. Gives how many bytes that was. */
static long cut_unfinished_line(int text)
{
    char end[200]; /* no line is longer */
    struct stat about;
    off_t start;
    ssize_t length;
    long unfinished = 0;

    if (fstat(text, &about) != 0)
        give_up("text");
    start = about.st_size < (off_t)sizeof end ? 0 : about.st_size - (off_t)sizeof end;
    length = pread(text, end, sizeof end, start);
    if (length < 0)
        give_up("text");
    while (unfinished < length && end[length - 1 - unfinished] != '\n')
        unfinished++;
    if (ftruncate(text, start + length - unfinished) != 0)
        give_up("text");
    return unfinished;
}

/*
 * The one before us died in its turn, perhaps in the middle of a line. The ring cannot know what that means for our text; we
 * do: a line without an end is cut off.
 */
static void repair(const turnlock_ring *ring, int text)
{
    turnlock_previous_owner dead = {.size = sizeof dead};
    long cut = cut_unfinished_line(text);

    check(turnlock_lock_previous_owner((turnlock_lock *)ring, &dead));
    printf(ME ": told that %s (process %" PRIu32 ") died in its turn; cut %ld bytes\n", dead.label, dead.pid, cut);
    fflush(stdout);

    /* Only now: passing the turn on without it would close the ring for everyone. */
    check(turnlock_ring_mark_consistent(ring));
}

static void take_turn(const turnlock_ring *ring, int text, unsigned long leg, unsigned long pace)
{
    turnlock_acquired acquired = {.size = sizeof acquired};
    char half[100];

    /* Waits for our turn. The status is 0, or TURNLOCK_OWNER_DEAD: it is our turn, and the last holder died. */
    if (check(turnlock_ring_lock(ring, &acquired)) == TURNLOCK_OWNER_DEAD)
        repair(ring, text);

    snprintf(half, sizeof half, "%" PRIu64 " " ME, acquired.fencing_token);
    append(text, half);
    if (pace > 0)
        wait_a_moment(pace);
    snprintf(half, sizeof half, " leg %lu\n", leg);
    append(text, half);

    check(turnlock_ring_unlock(ring));
}

/* A number from the command line, or the end of the program. */
static unsigned long number(const char *text)
{
    char *end;
    unsigned long value;

    errno = 0;
    value = strtoul(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') {
        fprintf(stderr, ME ": %s is not a number\n", text);
        exit(EXIT_FAILURE);
    }
    return value;
}

int main(int argc, char **argv)
{
    turnlock_file_options options = {0};
    turnlock_ring_options how = {0};
    turnlock_file *file;
    turnlock_ring *ring;
    unsigned long legs, leg, pace = 0;
    int text;

    if (argc != 3 && !(argc == 5 && strcmp(argv[3], "--pace") == 0)) {
        fprintf(stderr, "usage: %s FOLDER LEGS [--pace MICROSECONDS]\n", argv[0]);
        return EXIT_FAILURE;
    }
    legs = number(argv[2]);
    if (argc == 5)
        pace = number(argv[4]);
    if (chdir(argv[1]) != 0)
        give_up(argv[1]);

    /* The library that is loaded must speak the language of the header that we were compiled with. */
    if (turnlock_abi_version() != TURNLOCK_ABI_VERSION) {
        fprintf(stderr, ME ": compiled for another version of libturnlock than %s\n", turnlock_version());
        return EXIT_FAILURE;
    }

    text = open("text", O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (text < 0)
        give_up("text");

    /* The first process creates the file, and the ring in it. The label is what others read when we die. */
    options.size = sizeof options;
    options.label = ME;
    check(turnlock_file_open("relay.lock", &options, &file));

    /* As a member: from our first turn on the ring waits for us, until we leave it or die. */
    how.size = sizeof how;
    how.flags = TURNLOCK_RING_MEMBER;
    check(turnlock_ring_open(file, "relay", &how, &ring));

    for (leg = 1; leg <= legs; leg++)
        take_turn(ring, text, leg, pace);

    /* Else the others would wait for us until the program has ended. */
    check(turnlock_ring_leave(ring));
    printf(ME ": done, %lu legs\n", legs);

    if (close(text) != 0)
        give_up("text");
    check(turnlock_ring_close(ring));
    check(turnlock_file_close(file));
    return EXIT_SUCCESS;
}
