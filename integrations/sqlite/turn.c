#include "turn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <turnlock.h>
#include <unistd.h>

/* How many connections may write at one database, each with a slot of its own. */
#define MOST_WRITERS 1024
/* How long a writer lets those go on that are running already. Without it each of the shortest transactions of many writers costs a
 * wake-up. */
#define PATIENCE_NS 30000
/* A writer whose turns are shorter than this pauses before it queues behind a single other one, which writes on meanwhile, without a
 * wake-up for each transaction. SQLite alone sleeps for 1 ms there. */
#ifndef SHORT_NS
#define SHORT_NS 500000
#endif
#ifndef PAUSE_NS
#define PAUSE_NS 1000000
#endif
/* One that waits for longer in the queue is there with others; or the machine is busy, and a wake-up the smaller part. */
#ifndef ALONE_NS
#define ALONE_NS 250000
#endif

/* The lock file of one database, as this process has it open: once, however many of its connections use it. */
typedef struct Shared {
    struct Shared *next;
    char *path;
    /* Open on the lock file, with a shared flock(2) for as long as this process uses it. */
    int descriptor;
    turnlock_file *file;
    turnlock_mutex *mutex;
    int users;
    /* A child of fork is given no hold of its parent's, and must not give up what is its parent's either. */
    pid_t process;
} Shared;

struct Turn {
    Shared *shared;
    turnlock_hold *hold;
    bool is_held;
    int64_t held_since_ns;
    /* How long it had its last turn. */
    int64_t last_turn_ns;
    /* Whether it was alone in the queue when it queued last. */
    bool pauses;
};

/* A wait of this thread, for the function that the library asks meanwhile. */
typedef struct {
    GoOnWaiting go_on;
    void *context;
} Wait;
static _Thread_local Wait *wait_here;

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static Shared *list;

static int32_t should_stop_waiting(void *context) {
    (void)context;
    return wait_here != NULL && !wait_here->go_on(wait_here->context);
}

static bool is_at(int descriptor, const char *path) {
    struct stat here, there;
    return fstat(descriptor, &here) == 0 && stat(path, &there) == 0 && here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* Opens the lock file, with a shared flock, and with the mode and the owner of its database, as SQLite has its own files. */
static int open_shared(const char *path, const struct stat *database) {
    for (;;) {
        int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, database->st_mode & 0660);
        if (descriptor < 0) return -1;
        /* One that may not is given what is its own, as SQLite does. */
        if (geteuid() == 0 && fchown(descriptor, database->st_uid, database->st_gid) != 0) errno = 0;
        if (flock(descriptor, LOCK_SH) != 0) {
            close(descriptor);
            return -1;
        }
        /* The last one of the others may have removed it meanwhile. */
        if (is_at(descriptor, path)) return descriptor;
        close(descriptor);
    }
}

/* Something else that lies there is another's to remove. */
static bool is_ours(const Shared *shared) {
    struct stat file;
    return shared->file != NULL || (fstat(shared->descriptor, &file) == 0 && file.st_size == 0);
}

static void close_shared(Shared *shared) {
    /* Not held: none is left that has a turn. */
    if (shared->mutex != NULL) turnlock_mutex_close(shared->mutex);
    if (shared->file != NULL) turnlock_file_close(shared->file);
    /* `file` still says that it was one. */
    if (shared->descriptor >= 0) {
        /* Alone: the next one makes a new file, and looks whether the one that it has opened is still there. */
        if (shared->process == getpid() && is_ours(shared) && flock(shared->descriptor, LOCK_EX | LOCK_NB) == 0 &&
            is_at(shared->descriptor, shared->path)) {
            unlink(shared->path);
        }
        close(shared->descriptor);
    }
    free(shared->path);
    free(shared);
}

static void say(char *why, int room, const char *path, const char *what) {
    snprintf(why, (size_t)room, "%s: %s", path, what);
}

static Shared *new_shared(const char *database, char *path, char *why, int room) {
    Shared *shared = calloc(1, sizeof *shared);
    struct stat of_database;
    if (shared == NULL || stat(database, &of_database) != 0) {
        say(why, room, database, strerror(errno));
        free(shared);
        free(path);
        return NULL;
    }
    *shared = (Shared){.path = path, .users = 1, .process = getpid(), .descriptor = open_shared(path, &of_database)};
    if (shared->descriptor < 0) {
        say(why, room, path, strerror(errno));
        close_shared(shared);
        return NULL;
    }
    bool for_group = (of_database.st_mode & 0060) == 0060;
    turnlock_file_options file_options = {
        .size = sizeof file_options,
        .participants = MOST_WRITERS,
        .locks = 1,
        .mode = for_group ? 0660 : 0600,
        /* Writers are several processes as a rule. The second one would wait up to 30 ms for the kernel (membarrier) at its first write. */
        .flags = TURNLOCK_FILE_FULL_FENCES,
        .should_stop_waiting = should_stop_waiting,
    };
    /* A dead writer needs no repair: SQLite rolls back what it left. */
    turnlock_mutex_options mutex_options = {.size = sizeof mutex_options, .flags = TURNLOCK_MUTEX_RELEASE_ON_DEATH, .patience_ns = PATIENCE_NS};
    if (turnlock_file_open_descriptor(shared->descriptor, &file_options, &shared->file) < 0 ||
        turnlock_mutex_open(shared->file, "writer", &mutex_options, &shared->mutex) < 0) {
        say(why, room, path, turnlock_last_error_message());
        close_shared(shared);
        return NULL;
    }
    return shared;
}

static Shared *find_shared(const char *database, char *why, int room) {
    size_t length = strlen(database) + sizeof "-turnlock";
    char *path = malloc(length);
    if (path == NULL) {
        say(why, room, database, strerror(errno));
        return NULL;
    }
    snprintf(path, length, "%s-turnlock", database);
    for (Shared *shared = list; shared != NULL; shared = shared->next) {
        if (shared->process == getpid() && strcmp(shared->path, path) == 0 && is_at(shared->descriptor, path)) {
            free(path);
            shared->users++;
            return shared;
        }
    }
    Shared *shared = new_shared(database, path, why, room);
    if (shared != NULL) {
        shared->next = list;
        list = shared;
    }
    return shared;
}

static void leave_shared(Shared *shared) {
    if (--shared->users > 0) return;
    Shared **link = &list;
    while (*link != shared) link = &(*link)->next;
    *link = shared->next;
    close_shared(shared);
}

Turn *turn_open(const char *database, char *why, int room) {
    Turn *turn = calloc(1, sizeof *turn);
    if (turn == NULL) {
        say(why, room, database, strerror(errno));
        return NULL;
    }
    pthread_mutex_lock(&list_lock);
    turn->shared = find_shared(database, why, room);
    if (turn->shared != NULL && turnlock_hold_open(turn->shared->file, NULL, &turn->hold) < 0) {
        say(why, room, turn->shared->path, turnlock_last_error_message());
        leave_shared(turn->shared);
        turn->shared = NULL;
    }
    pthread_mutex_unlock(&list_lock);
    /* Nothing is known of its transactions yet: they are not taken to be short. */
    turn->last_turn_ns = SHORT_NS;
    turn->pauses = true;
    if (turn->shared != NULL) return turn;
    free(turn);
    return NULL;
}

void turn_close(Turn *turn) {
    turn_release(turn);
    pthread_mutex_lock(&list_lock);
    turnlock_hold_close(turn->hold);
    leave_shared(turn->shared);
    pthread_mutex_unlock(&list_lock);
    free(turn);
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static TurnState acquire(Turn *turn, uint32_t wait, char *why, int room) {
    turnlock_request request = {.size = sizeof request, .lock = (turnlock_lock *)turn->shared->mutex, .wait = wait};
    int32_t status = turnlock_hold_acquire(turn->hold, &request, NULL);
    if (status >= 0) {
        turn->is_held = true;
        turn->held_since_ns = now_ns();
        return TURN_HELD;
    }
    if (status == TURNLOCK_ERROR_WOULD_BLOCK || status == TURNLOCK_ERROR_INTERRUPTED) return TURN_TAKEN_BY_ANOTHER;
    say(why, room, turn->shared->path, turnlock_last_error_message());
    return TURN_BROKEN;
}

TurnState turn_try(Turn *turn, char *why, int room) {
    return acquire(turn, TURNLOCK_WAIT_NEVER, why, room);
}

TurnState turn_wait(Turn *turn, GoOnWaiting go_on, void *context, char *why, int room) {
    Wait wait = {go_on, context};
    if (turn->pauses && turn->last_turn_ns < SHORT_NS) nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    int64_t came = now_ns();
    wait_here = &wait;
    TurnState state = acquire(turn, TURNLOCK_WAIT_FOREVER, why, room);
    wait_here = NULL;
    if (state == TURN_HELD) turn->pauses = turn->held_since_ns - came < ALONE_NS;
    return state;
}

void turn_release(Turn *turn) {
    if (!turn->is_held) return;
    turn->is_held = false;
    /* A turn may end without a write, where SQLite begins anew, and says little then: a long one is forgotten by halves. */
    int64_t this_turn_ns = now_ns() - turn->held_since_ns, before_ns = turn->last_turn_ns / 2;
    turn->last_turn_ns = this_turn_ns > before_ns ? this_turn_ns : before_ns;
    turnlock_hold_release(turn->hold);
}

bool turn_is_held(const Turn *turn) {
    return turn->is_held;
}
