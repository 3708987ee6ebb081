/*
 * turnlock_vfs: a loadable extension of SQLite. Writers of a database come one after another, in the order of their arrival,
 * where SQLite by itself has each of them try again after a sleep.
 *
 * It is a VFS over the default one, which goes on doing all of the work. Only three things are added:
 *
 *  - A connection that asks for the right to write (in WAL mode the lock WAL_WRITE_LOCK, else RESERVED) takes the turn first
 *    (turn.h), without a wait. If it is another's, the answer is SQLITE_BUSY, as if that one was writing already. Without a WAL one
 *    that is told SQLITE_BUSY by SQLite's own locks, because another one commits or rolls back, goes on likewise.
 *  - SQLite then gives up its snapshot, calls the busy handler, which sleeps, and begins anew. That first sleep is left out;
 *    and where SQLite is about to take a new snapshot, the connection waits for the turn. To wait in the call before would be
 *    worthless: the snapshot would be of a time before the wait, and nothing can be written upon an old one.
 *  - Such a wait goes on as long as the connection's busy handler says: it is asked there as SQLite asks it, and the time that
 *    it would sleep goes by while the connection waits. So the time limit of the program is what it was.
 *
 * The turn ends with the right to write, or with the snapshot if nothing was written. It is never held between two calls of
 * a program that has no transaction.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "turn.h"

#define VFS_NAME "turnlock"
#define EXPORTED __attribute__((visibility("default")))

/* Of the wal-index (https://www.sqlite.org/walformat.html): its locks, and how long the first copy of its header is. */
#define WAL_WRITE_LOCK 0
#define WAL_READ_LOCK 3
#define WAL_HEADER_SIZE 48

/* A program that is told "busy" in the midst of a transaction, and begins anew within this time, waits for its turn first. */
#define RETRY_NS 100000000LL
/* How long SQLite's busy handler sleeps the first time that it is called. */
#define FIRST_SLEEP_US 1000

/* The underlying file stands behind it. */
typedef struct Connection {
    sqlite3_file base;
    const char *database;
    /* NULL until it wants to write. */
    Turn *turn;
    /* There is no turn to be had at this database: it goes on as without this VFS. */
    bool is_off;
    /* Two words of the pager: a function and its argument, which ask the connection's busy handler. */
    void **busy_handler;
    /* Region 0 of the wal-index. */
    const volatile void *wal_index;
    /* Its header as SQLite read it last, and as it was then for the snapshot. */
    unsigned char header[WAL_HEADER_SIZE];
    unsigned char snapshot[WAL_HEADER_SIZE];
    bool has_snapshot;
    /* SQLite is about to give this snapshot up at once and to take a newer one. */
    bool is_snapshot_vain;
    bool is_writing;
    /* When it was told that it cannot write now, on CLOCK_MONOTONIC; 0: not since it waited last. */
    sqlite3_int64 denied_ns;
    /* SQLite has called its busy handler since: it begins anew by itself. */
    bool begins_anew;
    /* By how much of the busy handler's sleep it is earlier then. */
    sqlite3_int64 owed_ns;
    /* It was the turn that it did not get: the wait for that stands for the busy handler's sleep. */
    bool is_turn_anothers;
} Connection;

/* A wait for the turn, while the busy handler is asked whether to go on. */
typedef struct {
    Connection *connection;
    /* The time that the busy handler has slept, or would have. */
    sqlite3_int64 slept_until_ns;
} Patience;

static sqlite3_vfs *under;
/* Methods of one file for each version of that interface; what the underlying file lacks is left out. */
static sqlite3_io_methods methods[3];

/* Of this thread: the connection that was told last that it cannot write now, and the wait that the busy handler is asked for. */
static _Thread_local Connection *denied_here;
static _Thread_local Patience *asked_here;

static sqlite3_int64 now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static sqlite3_file *real(sqlite3_file *file) {
    return (sqlite3_file *)((Connection *)file + 1);
}

#define METHODS(file) (real(file)->pMethods)

/* Goes on without turns at this database, and says so: once, as there may be many connections. */
static void switch_off(Connection *connection, const char *why) {
    static _Atomic(unsigned) said;
    connection->is_off = true;
    if (connection->turn != NULL) {
        turn_close(connection->turn);
        connection->turn = NULL;
    }
    if (atomic_fetch_add_explicit(&said, 1, memory_order_relaxed) == 0) {
        sqlite3_log(SQLITE_WARNING, "turnlock: writers are not put in order (%s)", why);
    }
}


static void end_turn(Connection *connection) {
    if (connection->turn != NULL) turn_release(connection->turn);
}

static void forget_denial(Connection *connection) {
    connection->denied_ns = 0;
    connection->begins_anew = false;
    if (denied_here == connection) denied_here = NULL;
}

static void note_denial(Connection *connection) {
    connection->denied_ns = now_ns();
    connection->begins_anew = false;
    connection->is_turn_anothers = false;
    denied_here = connection;
}

/* Opens the lock file at the first write. */
static bool can_take_turns(Connection *connection) {
    char why[512];
    if (connection->turn != NULL) return true;
    if (connection->is_off) return false;
    connection->turn = turn_open(connection->database, why, sizeof why);
    if (connection->turn == NULL) switch_off(connection, why);
    return connection->turn != NULL;
}

/* Has the connection take the turn before it asks for the right to write. SQLITE_BUSY: it is another's. */
static int take_turn(Connection *connection) {
    char why[512];
    if (!can_take_turns(connection) || turn_is_held(connection->turn)) return SQLITE_OK;
    switch (turn_try(connection->turn, why, sizeof why)) {
        case TURN_HELD:
            return SQLITE_OK;
        case TURN_TAKEN_BY_ANOTHER:
            note_denial(connection);
            connection->is_turn_anothers = true;
            return SQLITE_BUSY;
        default:
            switch_off(connection, why);
            return SQLITE_OK;
    }
}

/* Asks the busy handler, which sleeps in `sleep_for` as it believes. */
static bool is_patient(Patience *patience) {
    void **handler = patience->connection->busy_handler;
    if (handler == NULL || handler[0] == NULL) return false;
    int (*ask)(void *);
    memcpy(&ask, &handler[0], sizeof ask);
    asked_here = patience;
    int goes_on = ask(handler[1]);
    asked_here = NULL;
    return goes_on != 0;
}

static bool go_on_waiting(void *context) {
    Patience *patience = context;
    while (patience->slept_until_ns <= now_ns()) {
        sqlite3_int64 before = patience->slept_until_ns;
        if (!is_patient(patience)) return false;
        /* A handler that sleeps by itself, or not at all, is asked again the next time. */
        if (patience->slept_until_ns == before) return true;
    }
    return true;
}

/* Where SQLite is about to take a snapshot: one that has been told "busy" waits for its turn. */
static void wait_before_snapshot(Connection *connection) {
    char why[512];
    if (connection->denied_ns == 0) return;
    sqlite3_int64 now = now_ns();
    bool begins_anew = connection->begins_anew;
    bool is_retry = begins_anew || now - connection->denied_ns < RETRY_NS;
    forget_denial(connection);
    if (!is_retry || !can_take_turns(connection) || turn_is_held(connection->turn)) return;
    TurnState state = turn_try(connection->turn, why, sizeof why);
    if (state == TURN_TAKEN_BY_ANOTHER) {
        Patience patience = {connection, begins_anew ? now + connection->owed_ns : now};
        if (!begins_anew && !go_on_waiting(&patience)) return;
        state = turn_wait(connection->turn, go_on_waiting, &patience, why, sizeof why);
    }
    if (state == TURN_BROKEN) switch_off(connection, why);
}

/* The methods of a file. */

static int close_file(sqlite3_file *file) {
    Connection *connection = (Connection *)file;
    forget_denial(connection);
    int status = METHODS(file)->xClose(real(file));
    if (connection->turn != NULL) turn_close(connection->turn);
    connection->turn = NULL;
    return status;
}

static int read_file(sqlite3_file *file, void *to, int size, sqlite3_int64 offset) {
    return METHODS(file)->xRead(real(file), to, size, offset);
}

static int write_file(sqlite3_file *file, const void *from, int size, sqlite3_int64 offset) {
    return METHODS(file)->xWrite(real(file), from, size, offset);
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 size) {
    return METHODS(file)->xTruncate(real(file), size);
}

static int sync_file(sqlite3_file *file, int flags) {
    return METHODS(file)->xSync(real(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return METHODS(file)->xFileSize(real(file), size);
}

static int lock_file(sqlite3_file *file, int level) {
    Connection *connection = (Connection *)file;
    if (level == SQLITE_LOCK_SHARED) wait_before_snapshot(connection);
    if (level == SQLITE_LOCK_RESERVED) {
        int status = take_turn(connection);
        if (status != SQLITE_OK) return status;
    }
    int status = METHODS(file)->xLock(real(file), level);
    if (level == SQLITE_LOCK_RESERVED) connection->is_writing = status == SQLITE_OK;
    /* Not to read, while another one commits, either; nor to roll back what a dead writer left. Only a writer that commits keeps its
     * turn until the readers are gone. */
    if (status == SQLITE_BUSY && !connection->is_writing) note_denial(connection);
    if (status != SQLITE_OK && !connection->is_writing) end_turn(connection);
    return status;
}

static int unlock_file(sqlite3_file *file, int level) {
    Connection *connection = (Connection *)file;
    int status = METHODS(file)->xUnlock(real(file), level);
    /* Also where it has the turn by a snapshot, and wrote nothing. */
    connection->is_writing = false;
    end_turn(connection);
    return status;
}

static int check_reserved_lock(sqlite3_file *file, int *is_reserved) {
    return METHODS(file)->xCheckReservedLock(real(file), is_reserved);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    Connection *connection = (Connection *)file;
    if (operation == SQLITE_FCNTL_BUSYHANDLER) connection->busy_handler = argument;
    int status = METHODS(file)->xFileControl(real(file), operation, argument);
    if (operation == SQLITE_FCNTL_VFSNAME && status == SQLITE_OK) {
        char **name = argument;
        *name = sqlite3_mprintf(VFS_NAME "/%z", *name);
    }
    return status;
}

static int sector_size(sqlite3_file *file) {
    return METHODS(file)->xSectorSize(real(file));
}

static int device_characteristics(sqlite3_file *file) {
    return METHODS(file)->xDeviceCharacteristics(real(file));
}

static int map_shared_memory(sqlite3_file *file, int region, int size, int extend, void volatile **memory) {
    int status = METHODS(file)->xShmMap(real(file), region, size, extend, memory);
    if (status == SQLITE_OK && region == 0) ((Connection *)file)->wal_index = *memory;
    return status;
}

/* A copy that another one is writing at this moment is of no use to SQLite either: it compares the two that there are. */
static void copy_header(const Connection *connection, unsigned char *to) {
    const volatile unsigned char *bytes = connection->wal_index;
    for (int index = 0; index < WAL_HEADER_SIZE; index++) to[index] = bytes[index];
}

static bool is_header_other_than(const Connection *connection, const unsigned char *header) {
    unsigned char now[WAL_HEADER_SIZE];
    if (connection->wal_index == NULL) return false;
    copy_header(connection, now);
    return memcmp(now, header, sizeof now) != 0;
}

static int take_snapshot(Connection *connection, sqlite3_file *file, int first, int count, int flags) {
    wait_before_snapshot(connection);
    int status = METHODS(file)->xShmLock(real(file), first, count, flags);
    if (status == SQLITE_OK) {
        connection->has_snapshot = true;
        memcpy(connection->snapshot, connection->header, sizeof connection->snapshot);
        /* SQLite read the header before this call, and looks behind it whether it is the same: after a wait it is not. */
        connection->is_snapshot_vain = is_header_other_than(connection, connection->snapshot);
    }
    return status;
}

static int leave_snapshot(Connection *connection, sqlite3_file *file, int first, int count, int flags) {
    bool keeps_turn = connection->is_snapshot_vain || connection->is_writing;
    connection->has_snapshot = false;
    connection->is_snapshot_vain = false;
    int status = METHODS(file)->xShmLock(real(file), first, count, flags);
    if (!keeps_turn) end_turn(connection);
    return status;
}

/* One without a snapshot recovers the wal-index or checkpoints: no writer, and not to be kept waiting behind those. */
static int begin_to_write(Connection *connection, sqlite3_file *file, int flags) {
    if (connection->has_snapshot) {
        int status = take_turn(connection);
        if (status != SQLITE_OK) return status;
    }
    int status = METHODS(file)->xShmLock(real(file), WAL_WRITE_LOCK, 1, flags);
    connection->is_writing = status == SQLITE_OK;
    /* SQLite finds out by itself that its snapshot is too old, gives the lock up and begins anew. */
    if (connection->has_snapshot && (status == SQLITE_BUSY || (status == SQLITE_OK && is_header_other_than(connection, connection->snapshot)))) {
        note_denial(connection);
    }
    if (status != SQLITE_OK) end_turn(connection);
    return status;
}

static int lock_shared_memory(sqlite3_file *file, int first, int count, int flags) {
    Connection *connection = (Connection *)file;
    bool is_lock = (flags & SQLITE_SHM_LOCK) != 0;
    bool is_shared = (flags & SQLITE_SHM_SHARED) != 0;
    if (is_shared && first >= WAL_READ_LOCK) {
        return is_lock ? take_snapshot(connection, file, first, count, flags) : leave_snapshot(connection, file, first, count, flags);
    }
    if (first == WAL_WRITE_LOCK && count == 1 && !is_shared) {
        if (is_lock) return begin_to_write(connection, file, flags);
        int status = METHODS(file)->xShmLock(real(file), first, count, flags);
        connection->is_writing = false;
        end_turn(connection);
        return status;
    }
    return METHODS(file)->xShmLock(real(file), first, count, flags);
}

/* SQLite calls it between its readings of the two copies of the header. */
static void shared_memory_barrier(sqlite3_file *file) {
    Connection *connection = (Connection *)file;
    METHODS(file)->xShmBarrier(real(file));
    if (connection->wal_index != NULL && !connection->has_snapshot) copy_header(connection, connection->header);
}

static int unmap_shared_memory(sqlite3_file *file, int remove) {
    Connection *connection = (Connection *)file;
    connection->wal_index = NULL;
    connection->has_snapshot = connection->is_snapshot_vain = false;
    return METHODS(file)->xShmUnmap(real(file), remove);
}

static int fetch_page(sqlite3_file *file, sqlite3_int64 offset, int size, void **page) {
    return METHODS(file)->xFetch(real(file), offset, size, page);
}

static int give_page_back(sqlite3_file *file, sqlite3_int64 offset, void *page) {
    return METHODS(file)->xUnfetch(real(file), offset, page);
}

static const sqlite3_io_methods all_methods = {
    .xClose = close_file,
    .xRead = read_file,
    .xWrite = write_file,
    .xTruncate = truncate_file,
    .xSync = sync_file,
    .xFileSize = file_size,
    .xLock = lock_file,
    .xUnlock = unlock_file,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = file_control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = device_characteristics,
    .xShmMap = map_shared_memory,
    .xShmLock = lock_shared_memory,
    .xShmBarrier = shared_memory_barrier,
    .xShmUnmap = unmap_shared_memory,
    .xFetch = fetch_page,
    .xUnfetch = give_page_back,
};

/* The VFS. */

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *got) {
    (void)vfs;
    int opened = 0;
    bool has_turns = (flags & SQLITE_OPEN_MAIN_DB) != 0 && name != NULL;
    if (!has_turns) return under->xOpen(under, name, file, flags, got);
    Connection *connection = (Connection *)file;
    memset(connection, 0, sizeof *connection);
    /* If this fails, what is to be closed is the underlying file's to say. */
    int status = under->xOpen(under, name, real(file), flags, &opened);
    if (got != NULL) *got = opened;
    if (METHODS(file) == NULL) return status;
    int version = METHODS(file)->iVersion;
    connection->base.pMethods = &methods[version < 1 ? 0 : version > 3 ? 2 : version - 1];
    /* SQLite keeps the name until the file is closed. */
    connection->database = name;
    connection->is_off = (opened & SQLITE_OPEN_READONLY) != 0;
    return status;
}

/* A sleep of SQLite: that of a busy handler, or one that the program asked for. */
static int sleep_for(sqlite3_vfs *vfs, int microseconds) {
    (void)vfs;
    if (asked_here != NULL) {
        asked_here->slept_until_ns += microseconds * 1000LL;
        return microseconds;
    }
    Connection *connection = denied_here;
    denied_here = NULL;
    if (connection != NULL) {
        /* It waits for its turn when it begins anew, however long it sleeps before. */
        bool sleeps_later = connection->is_turn_anothers || microseconds <= FIRST_SLEEP_US;
        connection->begins_anew = true;
        connection->owed_ns = sleeps_later ? microseconds * 1000LL : 0;
        if (sleeps_later) return microseconds;
    }
    return under->xSleep(under, microseconds);
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int sync_folder) {
    (void)vfs;
    return under->xDelete(under, name, sync_folder);
}

static int access_file(sqlite3_vfs *vfs, const char *name, int flags, int *is_so) {
    (void)vfs;
    return under->xAccess(under, name, flags, is_so);
}

static int full_path_name(sqlite3_vfs *vfs, const char *name, int size, char *full) {
    (void)vfs;
    return under->xFullPathname(under, name, size, full);
}

static void *open_library(sqlite3_vfs *vfs, const char *name) {
    (void)vfs;
    return under->xDlOpen(under, name);
}

static void library_error(sqlite3_vfs *vfs, int size, char *text) {
    (void)vfs;
    under->xDlError(under, size, text);
}

static void (*find_symbol(sqlite3_vfs *vfs, void *library, const char *name))(void) {
    (void)vfs;
    return under->xDlSym(under, library, name);
}

static void close_library(sqlite3_vfs *vfs, void *library) {
    (void)vfs;
    under->xDlClose(under, library);
}

static int randomness(sqlite3_vfs *vfs, int size, char *bytes) {
    (void)vfs;
    return under->xRandomness(under, size, bytes);
}

static int current_time(sqlite3_vfs *vfs, double *day) {
    (void)vfs;
    return under->xCurrentTime(under, day);
}

static int last_error(sqlite3_vfs *vfs, int size, char *text) {
    (void)vfs;
    return under->xGetLastError(under, size, text);
}

static int current_time_int64(sqlite3_vfs *vfs, sqlite3_int64 *milliseconds) {
    (void)vfs;
    return under->xCurrentTimeInt64(under, milliseconds);
}

static int set_system_call(sqlite3_vfs *vfs, const char *name, sqlite3_syscall_ptr call) {
    (void)vfs;
    return under->xSetSystemCall(under, name, call);
}

static sqlite3_syscall_ptr get_system_call(sqlite3_vfs *vfs, const char *name) {
    (void)vfs;
    return under->xGetSystemCall(under, name);
}

static const char *next_system_call(sqlite3_vfs *vfs, const char *name) {
    (void)vfs;
    return under->xNextSystemCall(under, name);
}

static sqlite3_vfs turnlock_vfs = {
    .zName = VFS_NAME,
    .xOpen = open_file,
    .xDelete = delete_file,
    .xAccess = access_file,
    .xFullPathname = full_path_name,
    .xDlOpen = open_library,
    .xDlError = library_error,
    .xDlSym = find_symbol,
    .xDlClose = close_library,
    .xRandomness = randomness,
    .xSleep = sleep_for,
    .xCurrentTime = current_time,
    .xGetLastError = last_error,
    .xCurrentTimeInt64 = current_time_int64,
    .xSetSystemCall = set_system_call,
    .xGetSystemCall = get_system_call,
    .xNextSystemCall = next_system_call,
};

static int register_vfs(const sqlite3_api_routines *routines, char **message, int as_default) {
    SQLITE_EXTENSION_INIT2(routines);
    sqlite3_vfs *before = sqlite3_vfs_find(VFS_NAME);
    if (before == NULL) {
        under = sqlite3_vfs_find(NULL);
        if (under == NULL) {
            *message = sqlite3_mprintf("turnlock: SQLite has no VFS by default, so there is none to be put on top of");
            return SQLITE_ERROR;
        }
        turnlock_vfs.iVersion = under->iVersion > 3 ? 3 : under->iVersion;
        turnlock_vfs.szOsFile = (int)sizeof(Connection) + under->szOsFile;
        turnlock_vfs.mxPathname = under->mxPathname;
        for (int version = 1; version <= 3; version++) {
            methods[version - 1] = all_methods;
            methods[version - 1].iVersion = version;
        }
        before = &turnlock_vfs;
    }
    int status = sqlite3_vfs_register(before, as_default);
    return status == SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : status;
}

/* What SQLite calls when turnlock_vfs is loaded: the VFS is the default one for every database that is opened from then on. */
EXPORTED int sqlite3_turnlockvfs_init(sqlite3 *database, char **message, const sqlite3_api_routines *routines) {
    (void)database;
    return register_vfs(routines, message, 1);
}

/* The same by its name, for programs that name the VFS with each database: file:PATH?vfs=turnlock. */
EXPORTED int sqlite3_turnlockvfs_by_name_init(sqlite3 *database, char **message, const sqlite3_api_routines *routines) {
    (void)database;
    return register_vfs(routines, message, 0);
}
