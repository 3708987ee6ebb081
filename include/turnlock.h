/*
 * turnlock: a lock service that is nothing but a memory-mapped file.
 *
 * Open a file, open a mutex in it by name, lock and unlock it. Every program that does the same with the same file
 * takes turns with all the others, first come first served (after a millisecond of patience, if a mutex is not created
 * strict), whatever it is written in. Link with -lturnlock.
 *
 * The contract, in short:
 * - A function returns a status: TURNLOCK_OK, a positive number for success with something to know, a negative one for
 *   failure: `rc < 0` is always the failure test. turnlock_status_text(rc) is a sentence for it,
 *   turnlock_last_error_message() the whole story of this thread's last failure.
 * - Inputs come first, outputs last. Outputs are written on success only. Options and `acquired` may be NULL.
 * - Handles may be used from any thread. A handle that was closed answers TURNLOCK_ERROR_CLOSED for a long while.
 * - A lock belongs to the thread that took it, or to the hold (turnlock_hold) by which it was acquired, which any thread
 *   may release. A forked child is another participant without doing anything; it does not have its parent's locks, nor
 *   can it use its parent's holds.
 * - Every handle of a lock may be cast to turnlock_lock, for what locks of every kind have, and for a hold's request.
 * - TURNLOCK_OWNER_DEAD (1) means that you have the lock, and that its last holder died inside. Repair the data and mark
 *   them consistent before you unlock, unless the lock was created with TURNLOCK_..._RELEASE_ON_DEATH (or by
 *   a binding, as a rule).
 * - Structs have their size first, so that they can grow: set it before the call, in those that are filled in too.
 *
 * Where a call may come from:
 * - A signal handler may lock, try, wait with a limit, unlock, upgrade, downgrade, abandon, mark consistent and ask whether
 *   its lock is contended, acquire permits and release them, and nothing else; in files in which its thread has taken a lock
 *   before (turnlock_hold_of_thread makes it so in advance), and no mutex by messages. It may have interrupted malloc:
 *   none of these calls uses it, whatever it gives, nor where a further range, key or portion of permits takes a further slot.
 *   By a hold that is open it may acquire (one range or key, not several at once), release (whatever it is), upgrade, downgrade,
 *   abandon, mark consistent, ask for the fencing token and whether it is contended, on the same terms; where it has interrupted
 *   a call by the same hold it is answered by TURNLOCK_ERROR_HOLD_BUSY, or TURNLOCK_ERROR_DEADLOCK. It neither opens nor
 *   closes nor cancels a hold.
 *   What it locks it unlocks before it returns. A lock that its thread has, or is acquiring or unlocking at that moment, is
 *   answered by TURNLOCK_ERROR_DEADLOCK; so is a range, a key or permits that conflict with what the thread has or is about to
 *   have, or, while the thread is in a call on the same lock, that are not to be had at once. A child that is forked in a
 *   handler may not return into a turnlock call, but for a wait, which ends with TURNLOCK_ERROR_INTERRUPTED in the child.
 * - No function is a cancellation point: a pthread_cancel stays pending until the call is over. To end a wait from
 *   another thread: turnlock_hold_cancel; from the waiting one: should_stop_waiting of turnlock_file_options.
 * - Handlers of pthread_atfork and atexit, static destructors and destructors of thread keys may lock and unlock (handlers
 *   of a fork that were registered before the library was loaded: without waiting for another thread). A thread that
 *   ends is a dead owner of what it still has when all of its keys' destructors have run once.
 * - Any thread with 16 KiB of stack, if the library is optimised (docs/reliability.md says how much each call needs).
 *   Where memory runs out a call fails with TURNLOCK_ERROR_NO_MEMORY and nothing is done.
 * - Once loaded the library stays loaded: dlclose changes nothing.
 *
 * Contents, with the number of functions (140 in all):
 * - Versions (3): which library is loaded
 * - Statuses (2): what functions return, and what was wrong
 * - Lock files (7): open, close, remove a lock, what was transferred to a descriptor
 * - What locks of every kind have (12): holders, waiters, settings, reset
 * - Mutexes (8): one at a time, first come first served
 * - Reader/writer locks (18): several that read, or one that writes
 * - Semaphores (8): so many at a time
 * - Range locks (10): one at a time in each part of a range of numbers
 * - Keyed locks (10): one at a time for each key
 * - Group locks (8): all of one group, none of another
 * - Turn rings (9): each in turn
 * - Conditions (5): wait with a lock until notified
 * - Events (6): wait until it is set
 * - Barriers (6): wait for one another
 * - Onces (7): one does it, once
 * - Requests (0): what a hold is to acquire
 * - Holds (21): what any thread may release
 *
 * Made from the Rust sources by `TURNLOCK_BLESS=1 cargo test --test header`; do not edit.
 */

#ifndef TURNLOCK_H
#define TURNLOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* Versions ---------------------------------------------------------------------------------------------- */

/**
 * The version of turnlock that this header is of.
 */
#define TURNLOCK_VERSION "0.1.0"

/**
 * The first number of that version.
 */
#define TURNLOCK_VERSION_MAJOR 0

/**
 * The second.
 */
#define TURNLOCK_VERSION_MINOR 1

/**
 * The third.
 */
#define TURNLOCK_VERSION_PATCH 0

/**
 * All three as one number, larger for a later version.
 */
#define TURNLOCK_VERSION_NUMBER (TURNLOCK_VERSION_MAJOR * 1000000 + TURNLOCK_VERSION_MINOR * 1000 + TURNLOCK_VERSION_PATCH)

/**
 * The ABI version that this header describes. It changes only when a program compiled against an older header could
 * break; the shared library's soname carries the same number.
 */
#define TURNLOCK_ABI_VERSION 4

/**
 * The ABI version of the library that is loaded: compare it with TURNLOCK_ABI_VERSION.
 */
uint32_t turnlock_abi_version(void);

/**
 * The version of the library that is loaded, as text, such as "0.1.0". Valid for ever.
 */
const char *turnlock_version(void);

/**
 * The version of the library that is loaded, as a number to compare with TURNLOCK_VERSION_NUMBER: major x 1,000,000 +
 * minor x 1,000 + patch.
 */
uint32_t turnlock_version_number(void);

/* Statuses ---------------------------------------------------------------------------------------------- */

/**
 * Done.
 */
#define TURNLOCK_OK 0

/**
 * The lock is yours, and the previous holder died inside: look at what it left before you trust the data.
 */
#define TURNLOCK_OWNER_DEAD 1

/**
 * Another participant waits for the lock that the caller holds.
 */
#define TURNLOCK_CONTENDED 2

/**
 * Another participant has done it before: there is nothing to do.
 */
#define TURNLOCK_DONE 3

/**
 * An argument is NULL, out of range or contradicts another.
 */
#define TURNLOCK_ERROR_INVALID_ARGUMENT (-1)

/**
 * Another participant has the lock, and the call was asked not to wait.
 */
#define TURNLOCK_ERROR_WOULD_BLOCK (-2)

/**
 * The time limit passed before the turn, or what was waited for, came. A place in a queue was given up.
 */
#define TURNLOCK_ERROR_TIMED_OUT (-3)

/**
 * Another thread cancelled the wait. The place in the queue was given up.
 */
#define TURNLOCK_ERROR_CANCELLED (-4)

/**
 * The caller already has the lock, so waiting for it would never end.
 */
#define TURNLOCK_ERROR_DEADLOCK (-5)

/**
 * The caller does not have the lock.
 */
#define TURNLOCK_ERROR_NOT_OWNER (-6)

/**
 * A holder died and the next one unlocked without `mark_consistent`: the lock stays closed until a reset.
 */
#define TURNLOCK_ERROR_NOT_RECOVERABLE (-7)

/**
 * The handle was closed before.
 */
#define TURNLOCK_ERROR_CLOSED (-8)

/**
 * Every participant slot of the file is taken.
 */
#define TURNLOCK_ERROR_PARTICIPANTS_FULL (-9)

/**
 * Every named lock of the file is taken.
 */
#define TURNLOCK_ERROR_LOCKS_FULL (-10)

/**
 * A lock's name is empty, longer than 63 bytes, not UTF-8, or has a NUL in it.
 */
#define TURNLOCK_ERROR_BAD_NAME (-11)

/**
 * The path names something that is not a turnlock file. It was left as it is.
 */
#define TURNLOCK_ERROR_NOT_A_LOCK_FILE (-12)

/**
 * The file has another format version, byte order or layout. It was left as it is.
 */
#define TURNLOCK_ERROR_VERSION (-13)

/**
 * The file is damaged: truncated, overwritten, or it holds an impossible value.
 */
#define TURNLOCK_ERROR_DAMAGED (-14)

/**
 * The path now names another file than the one that is open.
 */
#define TURNLOCK_ERROR_REPLACED (-15)

/**
 * The operating system does not allow it, or the file's permissions are unsafe.
 */
#define TURNLOCK_ERROR_PERMISSION (-16)

/**
 * The file, or the lock in it, does not exist and was not to be created; or no participant holds the lock, or ever
 * died holding it.
 */
#define TURNLOCK_ERROR_NOT_FOUND (-17)

/**
 * The file lies on a file system that cannot carry a lock file, a network one for example.
 */
#define TURNLOCK_ERROR_FILESYSTEM (-18)

/**
 * No room on the disk.
 */
#define TURNLOCK_ERROR_NO_SPACE (-19)

/**
 * A call to the operating system failed in a way that has no number of its own.
 */
#define TURNLOCK_ERROR_SYSTEM (-20)

/**
 * The name belongs to a lock of another kind or algorithm, or one with another patience or death policy than was asked for.
 */
#define TURNLOCK_ERROR_KIND (-21)

/**
 * The hold is in another call at this moment: of another thread, or of the thread that a signal handler has interrupted.
 */
#define TURNLOCK_ERROR_HOLD_BUSY (-22)

/**
 * A defect of turnlock itself, caught before it could reach the caller.
 */
#define TURNLOCK_ERROR_INTERNAL (-23)

/**
 * The handle cannot be closed, nor a hold acquire anything, while something is held through it.
 */
#define TURNLOCK_ERROR_STILL_HELD (-24)

/**
 * `mark_consistent` on a lock whose previous holder did not die.
 */
#define TURNLOCK_ERROR_NOT_INCONSISTENT (-25)

/**
 * The file exists and is smaller than the capacities asked for.
 */
#define TURNLOCK_ERROR_FILE_TOO_SMALL (-26)

/**
 * The kernel refuses what turnlock needs: the message says what.
 */
#define TURNLOCK_ERROR_UNSUPPORTED (-27)

/**
 * A wait was ended by what the file's options have asked between sleeps (a signal came, as a rule). The place in the
 * queue was given up.
 */
#define TURNLOCK_ERROR_INTERRUPTED (-28)

/**
 * No memory. Nothing was done.
 */
#define TURNLOCK_ERROR_NO_MEMORY (-29)

/**
 * The lock cannot be removed: a participant uses it, or is still to be told of a death.
 */
#define TURNLOCK_ERROR_IN_USE (-30)

/**
 * The thread has the recursive lock as often as it can.
 */
#define TURNLOCK_ERROR_RECURSION_LIMIT (-31)

/**
 * An upgrade of what is not held upgradable, or a downgrade to what is not less than it is held as.
 */
#define TURNLOCK_ERROR_NOT_UPGRADABLE (-32)

/**
 * Only an exclusive holder can do that, and the lock is held beside others.
 */
#define TURNLOCK_ERROR_NOT_EXCLUSIVE (-33)

/**
 * No permits, or more than the semaphore has, were asked for.
 */
#define TURNLOCK_ERROR_PERMITS (-34)

/**
 * More permits were to be given back than the caller has.
 */
#define TURNLOCK_ERROR_TOO_MANY_RELEASED (-35)

/**
 * The range is empty, or its end lies before its start.
 */
#define TURNLOCK_ERROR_EMPTY_RANGE (-36)

/**
 * The barrier is broken: a party died or gave up, or a participant broke it. It stays so until a reset.
 */
#define TURNLOCK_ERROR_BROKEN_BARRIER (-37)

/**
 * A wait without a limit closed a circle: participants that wait for one another, none of which would ever go on. The caller
 * waits no more and still holds what it holds: it releases that, for the others. `turnlock_last_error_message` says who they
 * are, what they hold and what they wait for.
 */
#define TURNLOCK_ERROR_CIRCULAR_WAIT (-38)

/**
 * The lock was unlocked, and its lease had ended before: another host may have had it in the meantime.
 */
#define TURNLOCK_ERROR_LEASE_ENDED (-39)

/**
 * A one-line sentence for any status, known or not. Valid for ever, never NULL.
 */
const char *turnlock_status_text(int32_t status);

/**
 * What was wrong in the calling thread's last failed turnlock call, in full: which path, what was expected, what to
 * do; of a time-out or a failed try, who has the lock and since when. Valid until this thread calls turnlock again. Never
 * NULL.
 */
const char *turnlock_last_error_message(void);

/* Lock files -------------------------------------------------------------------------------------------- */

/**
 * `turnlock_file_options.flags`: do not create the file.
 */
#define TURNLOCK_FILE_MUST_EXIST 1

/**
 * `turnlock_file_options.flags`: share a file that is created with `group`, and give it mode 0660 if `mode` is 0.
 */
#define TURNLOCK_FILE_GROUP 2

/**
 * `turnlock_file_options.flags`: do without membarrier, if no participant is attached now: locks that no other
 * participant wants cost a full fence then also while one process alone uses the file, and the second one that comes
 * waits for nothing. For files that a process without membarrier (by a filter that is installed later, say) is to use
 * together with others. The file keeps it until the next boot.
 */
#define TURNLOCK_FILE_FULL_FENCES 4

/**
 * `turnlock_file_options.flags`: no wait through this handle, or through a lock that was opened from it, ends with
 * TURNLOCK_ERROR_CIRCULAR_WAIT. Where it closes a circle of waits it goes on, and another one of the circle may be told.
 */
#define TURNLOCK_FILE_NO_DEADLOCK_ERRORS 8

/**
 * A lock file that is open. Any thread may use it.
 */
typedef struct turnlock_file turnlock_file;

/**
 * How to open, or create, a lock file. Set `size` to `sizeof(struct turnlock_file_options)` and everything else that
 * you do not care about to 0.
 */
typedef struct turnlock_file_options {
  /**
   * `sizeof(struct turnlock_file_options)`.
   */
  size_t size;
  /**
   * How many participants may take part at once, 1 to 4096; 0 = 128. A file that exists must have at least as many
   * as a number given here.
   */
  uint32_t participants;
  /**
   * How many named locks, 1 to 4096; 0 = 64. A file that exists must have at least as many as a number given here.
   */
  uint32_t locks;
  /**
   * The permission bits of a file that is created; 0 = 0600 (0660 with a group). None for others.
   */
  uint32_t mode;
  /**
   * With TURNLOCK_FILE_GROUP: the number of the group that a file that is created is given to.
   */
  uint32_t group;
  /**
   * TURNLOCK_FILE_... or'ed together.
   */
  uint32_t flags;
  /**
   * How many participants, those in the lowest slots, can take locks by messages (TURNLOCK_ALGORITHM_RICART_AGRAWALA and
   * others), at most 16; 0 = none. A file that exists must have mailboxes for at least as many as a number given here.
   */
  uint32_t mailboxes;
  /**
   * What this process calls itself in `turnlock status` and in the owner-dead notice, up to 63 bytes of UTF-8;
   * NULL = the program's name.
   */
  const char *label;
  /**
   * NULL, or a function that a thread asks between its sleeps while it waits through this handle, or through a lock
   * opened from it: when a signal handler has interrupted a sleep, and every 20 to 70 milliseconds. Not 0: the wait
   * ends with TURNLOCK_ERROR_INTERRUPTED and leaves nothing in the queue. It is called on the waiting thread, takes
   * no lock of this file, and neither throws nor jumps.
   */
  int32_t (*should_stop_waiting)(void *context);
  /**
   * What `should_stop_waiting` is called with.
   */
  void *context;
  /**
   * How many of the latest events the file keeps (which participant asked, acquired, released, died, and when), for
   * `turnlock trace` and `turnlock report`: 64 to 16777216, rounded up to a power of two, of 32 bytes each; 0 =
   * none: then nothing is recorded. A file that exists must have a recording of at least as many as a number given
   * here. In a file with a recording no acquisition goes by the fast path.
   */
  uint32_t recorded_events;
  /**
   * 0.
   */
  uint32_t reserved;
} turnlock_file_options;

/**
 * Opens the lock file at `path`, or creates it, and puts a handle into `file`. `options` may be NULL. A file that is
 * open already in this process gives another handle of the same; close each.
 *
 * The first lock that the second process takes in a file waits some milliseconds for the kernel, once, whatever its time limit
 * (see TURNLOCK_FILE_FULL_FENCES).
 *
 * TURNLOCK_ERROR_NOT_A_LOCK_FILE, _VERSION, _DAMAGED: something else lies there, and was left as it is. _FILESYSTEM,
 * _PERMISSION, _NOT_FOUND, _NO_SPACE, _FILE_TOO_SMALL, _INVALID_ARGUMENT, _UNSUPPORTED, _SYSTEM: as they say.
 *
 * The caller promises:
 * `path` is a NUL-terminated string, `options` NULL or a struct whose `size` is right, `file` NULL or writable.
 */
int32_t turnlock_file_open(const char *path,
                           const struct turnlock_file_options *options,
                           struct turnlock_file **file);

/**
 * Opens the lock file that `descriptor` is open on, for reading and writing, or makes one of it if it is empty (a memfd,
 * say), and puts a handle into `file`. The file is opened anew: the descriptor stays yours, and may be closed. `/proc`
 * must be mounted, and the file's mode must allow this process to open it; a file without a name keeps the mode that it
 * has, unless `options` says another.
 *
 * Errors as `turnlock_file_open`; TURNLOCK_ERROR_INVALID_ARGUMENT: not a descriptor, or not open for both.
 *
 * The caller promises:
 * `options` is NULL or a struct whose `size` is right, `file` NULL or writable. While the call runs, `descriptor` is
 * not closed.
 */
int32_t turnlock_file_open_descriptor(int32_t descriptor,
                                      const struct turnlock_file_options *options,
                                      struct turnlock_file **file);

/**
 * Removes the lock called `name`, of whatever kind: its place in the file is free for another lock. Handles that are
 * open to it fail from then on with TURNLOCK_ERROR_NOT_FOUND, in every process; close them as ever. A lock of the same
 * name that is created later is a new lock, and its fencing tokens are larger.
 *
 * TURNLOCK_ERROR_IN_USE: a participant holds it, waits for it or is a member of its ring, or a holder died and no
 * other was told yet; _NOT_RECOVERABLE: it is closed, reset it first; _NOT_FOUND, _BAD_NAME, _PARTICIPANTS_FULL
 * (removing takes a slot), _DAMAGED, _REPLACED.
 *
 * The caller promises:
 * `file` is a file handle, `name` a NUL-terminated string.
 */
int32_t turnlock_file_remove_lock(const struct turnlock_file *file,
                                  const char *name);

/**
 * Closes a file handle. Locks and holds opened from it stay open. With the last of all these the calling
 * thread detaches from its slot; other threads do when they end.
 *
 * The caller promises:
 * `file` is NULL or a handle of `turnlock_file_open` or `turnlock_file_open_descriptor`; no other thread is inside a call with it.
 */
int32_t turnlock_file_close(struct turnlock_file *file);

/**
 * Puts the file's path, with its folder resolved, into `path`, which has room for `capacity` bytes, as far as it fits and
 * NUL-terminated; and into `length` how many bytes it has without the NUL. It was cut if `length` is not less than
 * `capacity`; with capacity 0 `path` may be NULL. The bytes are those of the file system, not UTF-8 as a rule.
 *
 * The caller promises:
 * `file` is a file handle, `path` is writable for `capacity` bytes, `length` is NULL or writable.
 */
int32_t turnlock_file_path(const struct turnlock_file *file,
                           size_t capacity,
                           char *path,
                           size_t *length);

/**
 * Releases what holds have that were transferred to the open file which this process has as `descriptor`, whichever of
 * those that share it calls: of the lock called `name`, or of all if it is NULL. What they were told of a death counts as
 * repaired; where it is not, close the descriptor instead. Puts into `unlocked`, which may be NULL, how many acquisitions
 * those were: 0 if nothing is held by it.
 *
 * TURNLOCK_ERROR_INVALID_ARGUMENT: `descriptor` is none of this lock file that is open for reading; _NOT_FOUND: the file
 * has no lock called `name`; _DAMAGED: the file was truncated, or another process is stopped in the midst of this;
 * _SYSTEM.
 *
 * The caller promises:
 * `file` is a file handle, `name` NULL or a NUL-terminated string, `unlocked` NULL or writable. While the call runs,
 * `descriptor` is not closed.
 */
int32_t turnlock_file_unlock_transferred(const struct turnlock_file *file,
                                         int32_t descriptor,
                                         const char *name,
                                         size_t *unlocked);

/**
 * Puts into `count` how many acquisitions of the lock called `name` are held by the open file that this process has as
 * `descriptor`. A caller that waits for a lock that its own descriptor holds waits for ever: ask before. Changes
 * nothing.
 *
 * Errors as `turnlock_file_unlock_transferred`.
 *
 * The caller promises:
 * `file` is a file handle, `name` a NUL-terminated string, `count` NULL or writable. While the call runs, `descriptor` is
 * not closed.
 */
int32_t turnlock_file_count_transferred(const struct turnlock_file *file,
                                        int32_t descriptor,
                                        const char *name,
                                        size_t *count);

/* What locks of every kind have ------------------------------------------------------------------------- */

/**
 * `turnlock_participant_info.life`: it could not be looked at, since no descriptor of the file can be opened now.
 */
#define TURNLOCK_LIFE_UNKNOWN 0

/**
 * `turnlock_participant_info.life`: it is alive.
 */
#define TURNLOCK_LIFE_ALIVE 1

/**
 * `turnlock_participant_info.life`: it is alive, and stopped by SIGSTOP or a debugger.
 */
#define TURNLOCK_LIFE_STOPPED 2

/**
 * `turnlock_participant_info.life`: it is dead; the next one that has to wait for it removes it.
 */
#define TURNLOCK_LIFE_DEAD 3

/**
 * `turnlock_participant_info.state`: it has the lock.
 */
#define TURNLOCK_STATE_HOLDING 1

/**
 * `turnlock_participant_info.state`: its patience is over, and it is in line; on a ring, it waits for its turn.
 */
#define TURNLOCK_STATE_QUEUED 2

/**
 * `turnlock_participant_info.state`: it has backed off: it still has patience and lets others pass.
 */
#define TURNLOCK_STATE_BACKED_OFF 3

/**
 * `turnlock_participant_info.state`: it is a member of the ring and does not wait now.
 */
#define TURNLOCK_STATE_RING_MEMBER 4

/**
 * `turnlock_participant_info.activity`: nothing is known, or it does not wait.
 */
#define TURNLOCK_ACTIVITY_UNKNOWN 0

/**
 * `turnlock_participant_info.activity`: it runs, or could.
 */
#define TURNLOCK_ACTIVITY_RUNNING 1

/**
 * `turnlock_participant_info.activity`: it sleeps until it is woken.
 */
#define TURNLOCK_ACTIVITY_SLEEPING 2

/**
 * `turnlock_participant_info.activity`: it is stopped, and is passed over when its turn comes.
 */
#define TURNLOCK_ACTIVITY_STOPPED 3

/**
 * `turnlock_participant_info.activity`: it was passed over, and queues again when it goes on.
 */
#define TURNLOCK_ACTIVITY_PASSED_OVER 4

/**
 * `turnlock_lock_death_policy`: the next holder is told, and marks consistent what a dead one left; else the lock is closed.
 */
#define TURNLOCK_DEATH_POLICY_INFORM 0

/**
 * `turnlock_lock_death_policy`: the next holder is told, and has nothing to mark consistent.
 */
#define TURNLOCK_DEATH_POLICY_RELEASE 1

/**
 * A mode, of a request and in `turnlock_participant_info.mode`: it has, or wants, the lock alone.
 */
#define TURNLOCK_MODE_EXCLUSIVE 0

/**
 * A mode: beside others that have it shared, and one that has it upgradable; of a semaphore, beside
 * as many as there is room for; of a group lock, beside others of its group.
 */
#define TURNLOCK_MODE_SHARED 1

/**
 * A mode: as shared, and it may become exclusive.
 */
#define TURNLOCK_MODE_UPGRADABLE 2

/**
 * `turnlock_participant_info.mode`: upgradable, and waiting to be exclusive.
 */
#define TURNLOCK_MODE_UPGRADING 3

/**
 * `turnlock_participant_info.flags`: it entered without asking anyone, so it has held the lock at least for as long as
 * `duration_ns` says.
 */
#define TURNLOCK_INFO_AT_LEAST 1

/**
 * `turnlock_participant_info.flags`: `pid` and `thread` are numbers of another PID namespace than the caller's.
 */
#define TURNLOCK_INFO_OTHER_PID_NAMESPACE 2

/**
 * `turnlock_participant_info.flags`: it waits and cannot see deaths, since it can open no descriptor of the file.
 */
#define TURNLOCK_INFO_BLIND 4

/**
 * `turnlock_participant_info.flags`: `key` is its whole key.
 */
#define TURNLOCK_INFO_WHOLE_KEY 8

/**
 * A flag of `turnlock_lock_link`: the lock is linked.
 */
#define TURNLOCK_LOCK_IS_LINKED 1

/**
 * A flag of `turnlock_lock_link`: it is home; else another host may have it, and no program is admitted. Of a semaphore: this host has a
 * permit.
 */
#define TURNLOCK_LOCK_IS_HOME 2

/**
 * A flag of `turnlock_lock_link`: an agent is attached to it.
 */
#define TURNLOCK_LOCK_HAS_AGENT 4

/**
 * A lock of any kind: every handle of a lock may be cast to it, `(turnlock_lock *)mutex`. It is the same handle, to be closed by
 * the function of its kind.
 */
typedef struct turnlock_lock turnlock_lock;

/**
 * A participant at a lock. Set `size` to `sizeof(struct turnlock_participant_info)` before the call; the rest is filled
 * in.
 */
typedef struct turnlock_participant_info {
  /**
   * `sizeof(struct turnlock_participant_info)`.
   */
  size_t size;
  /**
   * Of a holder: the fencing token it has. Else 0.
   */
  uint64_t fencing_token;
  /**
   * For how long it has held or waited, in nanoseconds; 0 if it came just now, or where that is not known.
   */
  uint64_t duration_ns;
  /**
   * Its slot in the file.
   */
  uint32_t slot;
  /**
   * Its process, as its own PID namespace numbers it.
   */
  uint32_t pid;
  /**
   * Its thread, likewise.
   */
  uint32_t thread;
  /**
   * TURNLOCK_LIFE_...
   */
  uint32_t life;
  /**
   * TURNLOCK_STATE_...
   */
  uint32_t state;
  /**
   * TURNLOCK_MODE_...: what it has of the lock, or wants.
   */
  uint32_t mode;
  /**
   * TURNLOCK_INFO_... or'ed together.
   */
  uint32_t flags;
  /**
   * Of a waiter: TURNLOCK_ACTIVITY_...
   */
  uint32_t activity;
  /**
   * What it calls itself: UTF-8, NUL-terminated.
   */
  char label[64];
  /**
   * The name of its program: UTF-8, NUL-terminated.
   */
  char program[64];
  /**
   * Of a range lock: the first number of its range; of a keyed lock: the upper half of its key's hash; of a group lock: its
   * group. Else 0.
   */
  uint64_t first;
  /**
   * Of a range lock: the last number of its range, which belongs to it; of a keyed lock: the lower half of its key's hash.
   * Else 0.
   */
  uint64_t last;
  /**
   * Of a semaphore: how many permits it has, or wants. Else 0.
   */
  uint32_t permits;
  /**
   * Of a keyed lock: how many bytes of `key` there are. Else 0.
   */
  uint32_t key_size;
  /**
   * Of a keyed lock: the first bytes of its key, at most 47; 0 follows. Without TURNLOCK_INFO_WHOLE_KEY in `flags` the key is
   * longer, or, if `key_size` is 0, empty or not known.
   */
  uint8_t key[48];
} turnlock_participant_info;

/**
 * The last holder of a lock that died. Set `size` to `sizeof(struct turnlock_previous_owner)` before the call; the
 * rest is filled in.
 */
typedef struct turnlock_previous_owner {
  /**
   * `sizeof(struct turnlock_previous_owner)`.
   */
  size_t size;
  /**
   * The fencing token it held.
   */
  uint64_t fencing_token;
  /**
   * Its process, as its own PID namespace numbered it.
   */
  uint32_t pid;
  /**
   * Its thread, likewise.
   */
  uint32_t thread;
  /**
   * What it called itself: UTF-8, NUL-terminated.
   */
  char label[64];
} turnlock_previous_owner;

/**
 * What came with an acquisition. Set `size` to `sizeof(struct turnlock_acquired)` before the call; the rest is filled
 * in.
 */
typedef struct turnlock_acquired {
  /**
   * `sizeof(struct turnlock_acquired)`.
   */
  size_t size;
  /**
   * Larger than that of every acquisition of this lock before.
   */
  uint64_t fencing_token;
  /**
   * If the previous holder died: the fencing token it had. Else 0.
   */
  uint64_t previous_owner_fencing_token;
  /**
   * If the previous holder died: its process. Else 0.
   */
  uint32_t previous_owner_pid;
  /**
   * 1 if the previous holder died inside (the call returned TURNLOCK_OWNER_DEAD), else 0.
   */
  uint32_t previous_owner_died;
} turnlock_acquired;

/**
 * After TURNLOCK_ERROR_REPLACED: opens the lock of the same name in the file that the path names by now, and puts a
 * handle of the same kind into `reopened`. File and lock are created, with the capacities, permissions and options of these,
 * if they are not there. The old handle stays open: close it. A holder in the old file keeps no participant out of
 * the new one. Errors as `turnlock_file_open` and `turnlock_mutex_open`.
 *
 * The caller promises:
 * `lock` is a handle of a lock; `reopened` is NULL or writable.
 */
int32_t turnlock_lock_reopen(const struct turnlock_lock *lock,
                             struct turnlock_lock **reopened);

/**
 * Puts into `policy` what a holder's death means here, as the lock's creator said: TURNLOCK_DEATH_POLICY_... Permits of a
 * semaphore just come back: TURNLOCK_DEATH_POLICY_RELEASE.
 *
 * The caller promises:
 * `lock` is a handle of a lock; `policy` is NULL or writable.
 */
int32_t turnlock_lock_death_policy(const struct turnlock_lock *lock,
                                   uint32_t *policy);

/**
 * Puts into `patience_ns` how long waiters let others pass at this lock, as its creator said, in nanoseconds: 0 is
 * strict first come first served, or a ring.
 *
 * The caller promises:
 * `lock` is a handle of a lock; `patience_ns` is NULL or writable.
 */
int32_t turnlock_lock_patience(const struct turnlock_lock *lock,
                               uint64_t *patience_ns);

/**
 * The holders of the lock, and as what they hold it (`mode`, `permits`, `first`, `last`). Fills in the first
 * `capacity` elements of the array `holders`, and puts into `count` how many have it, which may be more. Set the
 * `size` of the first element; the others are taken to be as large, and their `size` is set. With capacity 0 `holders`
 * may be NULL.
 *
 * A look at one moment: they may have unlocked by the time the call returns; a dead holder is shown, as dead, until the next
 * participant comes. Does not wait and takes no slot. _DAMAGED, _INVALID_ARGUMENT, _NOT_FOUND if the lock was removed.
 *
 * The caller promises:
 * `lock` is a handle of a lock; `holders` is writable for `capacity` structs of the first one's size; `count` is NULL or
 * writable.
 */
int32_t turnlock_lock_holders(const struct turnlock_lock *lock,
                              size_t capacity,
                              struct turnlock_participant_info *holders,
                              size_t *count);

/**
 * The waiters for the lock, and for what of it they wait: first the queue, its head first, then the waiters that have
 * backed off. Of a ring the other participants on it, in the order of their turns: waiters, and members that do not
 * wait now (TURNLOCK_STATE_RING_MEMBER). Otherwise as `turnlock_lock_holders`.
 *
 * The caller promises:
 * `lock` is a handle of a lock; the rest as `turnlock_lock_holders`.
 */
int32_t turnlock_lock_waiters(const struct turnlock_lock *lock,
                              size_t capacity,
                              struct turnlock_participant_info *waiters,
                              size_t *count);

/**
 * Whether another participant waits while the calling thread holds the lock, or some of it: TURNLOCK_CONTENDED, or
 * TURNLOCK_OK. For a long holder, that may unlock for a moment where another participant waits. A signal handler may
 * call it.
 *
 * Of a mutex: one look where no participant waits, at the bias word if the lock was taken by its bias, else at the
 * hints of the holder's own cell. It misses a waiter that came some microseconds ago and spins, and may miss one that
 * still has patience and has backed off. Where it says yes, a participant waited a moment ago. Of other kinds: one
 * load for each slot in use.
 *
 * TURNLOCK_ERROR_NOT_OWNER if this thread has nothing of the lock.
 *
 * The caller promises:
 * `lock` is a handle of a lock.
 */
int32_t turnlock_lock_is_contended(const struct turnlock_lock *lock);

/**
 * The last holder of this lock that died; of reader/writer locks, range locks and keyed locks: exclusively.
 * TURNLOCK_ERROR_NOT_FOUND if none ever did.
 *
 * The caller promises:
 * `lock` is a handle of a lock; `owner` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_lock_previous_owner(const struct turnlock_lock *lock, struct turnlock_previous_owner *owner);

/**
 * Opens a lock that is not recoverable again, in its turn and beside no other holder, after the data were repaired or
 * given up. Of a range lock or a keyed lock: marks all parts consistent that dead participants left; of a group lock, all that
 * dead members left. A semaphore, a
 * condition and an event are left as they are; a barrier is opened anew, and a once is to be done again. Errors as `turnlock_mutex_lock`, but for _NOT_RECOVERABLE.
 *
 * The caller promises:
 * `lock` is a handle of a lock.
 */
int32_t turnlock_lock_reset(const struct turnlock_lock *lock);

/**
 * `turnlock_lock_reset` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
 *
 * The caller promises:
 * `lock` is a handle of a lock.
 */
int32_t turnlock_lock_try_reset(const struct turnlock_lock *lock);

/**
 * `turnlock_lock_reset`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
 *
 * The caller promises:
 * `lock` is a handle of a lock.
 */
int32_t turnlock_lock_reset_for(const struct turnlock_lock *lock, uint64_t nanoseconds);

/**
 * Puts into `link` what is known of a linked lock at this moment: TURNLOCK_LOCK_IS_LINKED, _IS_HOME and _HAS_AGENT, or'ed together; 0 if
 * it is not linked.
 *
 * TURNLOCK_ERROR_INVALID_ARGUMENT: `link` is NULL; _NOT_FOUND, _DAMAGED.
 *
 * The caller promises:
 * `lock` is a handle of a lock, `link` NULL or writable.
 */
int32_t turnlock_lock_link(const struct turnlock_lock *lock,
                           uint32_t *link);

/**
 * Whether this host has the lock still, for its holder, by whichever thread or hold: TURNLOCK_OK, or TURNLOCK_ERROR_LEASE_ENDED once the
 * lease of a linked lock has ended, from when on another host may have it. Always TURNLOCK_OK where there is no lease. One load, and one
 * look at the clock if there is one. A signal handler may call it.
 *
 * It says what was so a moment ago: what goes out to others needs the fencing token besides.
 *
 * The caller promises:
 * `lock` is a handle of a lock.
 */
int32_t turnlock_lock_still_owner(const struct turnlock_lock *lock);

/* Mutexes ----------------------------------------------------------------------------------------------- */

/**
 * `turnlock_mutex_options.algorithm`: Lamport's bakery, first come first served.
 */
#define TURNLOCK_ALGORITHM_BAKERY 1

/**
 * `turnlock_mutex_options.algorithm`: Lamport's queue by messages, in a file with mailboxes. A participant that takes it has a
 * thread from then on that answers messages. A try gives up at once if a participant is inside, and else waits for the
 * answers of the others, at most a second; so does a limit that is shorter.
 */
#define TURNLOCK_ALGORITHM_LAMPORT_QUEUE 5

/**
 * `turnlock_mutex_options.algorithm`: a token on a mesh, by messages (Ricart and Agrawala, Suzuki and Kasami), likewise.
 */
#define TURNLOCK_ALGORITHM_RICART_AGRAWALA 6

/**
 * `turnlock_mutex_options.algorithm`: Misra's two tokens on a ring, by messages, likewise.
 */
#define TURNLOCK_ALGORITHM_TOKEN_RING 7

/**
 * `turnlock_mutex_options.algorithm`: Lamport's bakery by messages, likewise.
 */
#define TURNLOCK_ALGORITHM_MESSAGE_BAKERY 8

/**
 * `turnlock_mutex_options.flags`: do not create the lock.
 */
#define TURNLOCK_MUTEX_MUST_EXIST 1

/**
 * `turnlock_mutex_options.flags`: no patience, whatever `patience_ns` says: strict first come first served. One that exists
 * and has patience is TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_MUTEX_STRICT 2

/**
 * `turnlock_mutex_options.flags`: a holder's death needs no repair: the next holder is told (TURNLOCK_OWNER_DEAD) and has
 * nothing to mark consistent. One that exists and was created otherwise is TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_MUTEX_RELEASE_ON_DEATH 4

/**
 * `turnlock_mutex_options.flags`: a holder's death needs a repair, marked by `turnlock_mutex_mark_consistent`: what a
 * mutex gets that is created without any of these flags. One that exists and was created otherwise is
 * TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_MUTEX_INFORM_ON_DEATH 16

/**
 * `turnlock_mutex_options.flags`: as TURNLOCK_MUTEX_RELEASE_ON_DEATH if the lock is created now and neither of the two
 * above is given; one that exists keeps what it has. For a caller that does not look at TURNLOCK_OWNER_DEAD.
 */
#define TURNLOCK_MUTEX_RELEASE_BY_DEFAULT 32

/**
 * `turnlock_mutex_options.flags`: a thread that has the lock may take it again, up to 65,535 times, and it is unlocked when
 * the thread has unlocked it as often. A participant takes it once. It is the lock that is recursive, if it is created now;
 * one that exists and is not is TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_MUTEX_RECURSIVE 8

/**
 * `turnlock_mutex_options.flags`: the lock must be linked: its holders are of one host at a time, and no program enters before an
 * agent of this host has brought it home (docs/hosts.md). For what creates it: programs open it without this flag. One that exists and is
 * not linked is TURNLOCK_ERROR_KIND; one by messages TURNLOCK_ERROR_INVALID_ARGUMENT.
 */
#define TURNLOCK_MUTEX_LINKED 64

/**
 * A mutex in a lock file: one at a time, first come first served after a moment of patience. Any thread may use the
 * handle; the lock belongs to the thread (or the hold) that took it.
 */
typedef struct turnlock_mutex turnlock_mutex;

/**
 * How to open, or create, a mutex. Set `size` to `sizeof(struct turnlock_mutex_options)` and everything else that you
 * do not care about to 0.
 */
typedef struct turnlock_mutex_options {
  /**
   * `sizeof(struct turnlock_mutex_options)`.
   */
  size_t size;
  /**
   * TURNLOCK_ALGORITHM_...: which it must be. 0 = whichever it is, and TURNLOCK_ALGORITHM_BAKERY if it is created now.
   */
  uint32_t algorithm;
  /**
   * TURNLOCK_MUTEX_... or'ed together.
   */
  uint32_t flags;
  /**
   * How long a waiter lets others pass before it is queued for good, in nanoseconds. After it waiters are served in the
   * order of their arrival: what is left to wait is, for each one ahead, a wake-up and a section. 0 = whatever the lock
   * has (`turnlock_lock_patience`), and 1 millisecond if it is created now; else a lock that exists and has another is
   * TURNLOCK_ERROR_KIND.
   */
  uint64_t patience_ns;
} turnlock_mutex_options;

/**
 * Opens the mutex called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
 * handle into `mutex`. `options` may be NULL.
 *
 * TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, or to one with other settings than
 * `options` ask for), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
 *
 * The caller promises:
 * `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `mutex`
 * NULL or writable.
 */
int32_t turnlock_mutex_open(const struct turnlock_file *file,
                            const char *name,
                            const struct turnlock_mutex_options *options,
                            struct turnlock_mutex **mutex);

/**
 * Closes a mutex handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread has the lock.
 *
 * The caller promises:
 * `mutex` is NULL or a mutex handle; no other thread is inside a call with it.
 */
int32_t turnlock_mutex_close(struct turnlock_mutex *mutex);

/**
 * Takes the lock, waiting for the turn as long as it takes. 0, or TURNLOCK_OWNER_DEAD: the lock is yours and the
 * previous holder died inside, so repair the data and call `turnlock_mutex_mark_consistent`. `acquired` may be NULL.
 *
 * TURNLOCK_ERROR_DEADLOCK if this thread has it already; _RECURSION_LIMIT if it is recursive and the thread has it 65,535
 * times; _NOT_RECOVERABLE; _CANCELLED; _INTERRUPTED if `should_stop_waiting` of the file's options ended the wait; _NOT_FOUND
 * if the lock was removed; _PARTICIPANTS_FULL at a thread's first lock; _NO_MEMORY; _DAMAGED, _REPLACED if something happened to the
 * file; _PERMISSION, _SYSTEM if it can no longer be opened to see whether those before us are alive, say because no descriptor
 * is free.
 *
 * The caller promises:
 * `mutex` is a mutex handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_mutex_lock(const struct turnlock_mutex *mutex,
                            struct turnlock_acquired *acquired);

/**
 * Takes the lock if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK. Otherwise as `turnlock_mutex_lock`.
 *
 * The caller promises:
 * As `turnlock_mutex_lock`.
 */
int32_t turnlock_mutex_try_lock(const struct turnlock_mutex *mutex,
                                struct turnlock_acquired *acquired);

/**
 * Takes the lock, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT and the place in the queue is
 * given up. Otherwise as `turnlock_mutex_lock`.
 *
 * The caller promises:
 * As `turnlock_mutex_lock`.
 */
int32_t turnlock_mutex_lock_for(const struct turnlock_mutex *mutex,
                                uint64_t nanoseconds,
                                struct turnlock_acquired *acquired);

/**
 * Unlocks the mutex. Unlocking after TURNLOCK_OWNER_DEAD without `turnlock_mutex_mark_consistent` closes the lock
 * for everyone until a reset, if deaths are informed of there (its death policy is *inform*).
 *
 * TURNLOCK_ERROR_NOT_OWNER if this thread does not have it; _DAMAGED, _REPLACED if it is seen that the file was overwritten
 * or replaced meanwhile (it is unlocked all the same).
 *
 * The caller promises:
 * `mutex` is a mutex handle.
 */
int32_t turnlock_mutex_unlock(const struct turnlock_mutex *mutex);

/**
 * Unlocks as a dying owner does, since the data were left half-done (an exception, say): the next holder
 * is told. TURNLOCK_ERROR_NOT_OWNER if this thread does not have it.
 *
 * The caller promises:
 * `mutex` is a mutex handle.
 */
int32_t turnlock_mutex_abandon(const struct turnlock_mutex *mutex);

/**
 * Says, while holding the lock after TURNLOCK_OWNER_DEAD, that the data are well again.
 * TURNLOCK_ERROR_NOT_INCONSISTENT if no holder died; _NOT_OWNER.
 *
 * The caller promises:
 * `mutex` is a mutex handle.
 */
int32_t turnlock_mutex_mark_consistent(const struct turnlock_mutex *mutex);

/* Reader/writer locks ----------------------------------------------------------------------------------- */

/**
 * `turnlock_rwlock_options.flags`: do not create the lock.
 */
#define TURNLOCK_RWLOCK_MUST_EXIST 1

/**
 * `turnlock_rwlock_options.flags`: no patience, whatever `patience_ns` says: strict first come first served. One that
 * exists and has patience is TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_RWLOCK_STRICT 2

/**
 * `turnlock_rwlock_options.flags`: the death of a writer needs no repair: the next one that it concerns is told
 * (TURNLOCK_OWNER_DEAD) and has nothing to mark consistent. One that exists and was created otherwise is
 * TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_RWLOCK_RELEASE_ON_DEATH 4

/**
 * `turnlock_rwlock_options.flags`: the death of a writer needs a repair, marked by `turnlock_rwlock_mark_consistent`: what a
 * rwlock gets that is created without any of these flags. One that exists and was created otherwise is
 * TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_RWLOCK_INFORM_ON_DEATH 16

/**
 * `turnlock_rwlock_options.flags`: as TURNLOCK_RWLOCK_RELEASE_ON_DEATH if the lock is created now and neither of the two
 * above is given; one that exists keeps what it has. For a caller that does not look at TURNLOCK_OWNER_DEAD.
 */
#define TURNLOCK_RWLOCK_RELEASE_BY_DEFAULT 32

/**
 * `turnlock_rwlock_options.flags`: the lock must be linked: its writers are of one host at a time, its readers of several, and no program enters
 * before an agent of this host has brought it home (docs/hosts.md). For what creates it: programs open it without this flag. One that exists
 * and is not linked is TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_RWLOCK_LINKED 64

/**
 * A reader/writer lock in a lock file: several that read, or one that writes. Each participant waits for the earlier
 * ones that stand in its way, whether these hold the lock or wait for it too. Any thread may use the handle; the lock
 * belongs to the thread (or the hold) that took it, once at a time.
 */
typedef struct turnlock_rwlock turnlock_rwlock;

/**
 * How to open, or create, a rwlock. Set `size` to `sizeof(struct turnlock_rwlock_options)` and everything else that you
 * do not care about to 0.
 */
typedef struct turnlock_rwlock_options {
  /**
   * `sizeof(struct turnlock_rwlock_options)`.
   */
  size_t size;
  /**
   * TURNLOCK_RWLOCK_... or'ed together.
   */
  uint32_t flags;
  /**
   * How long a waiter lets others pass before it is queued for good, in nanoseconds. 0 = whatever the lock has, and 1
   * millisecond if it is created now; else a lock that exists and has another is TURNLOCK_ERROR_KIND.
   */
  uint64_t patience_ns;
} turnlock_rwlock_options;

/**
 * Opens the rwlock called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
 * handle into `rwlock`. `options` may be NULL.
 *
 * TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, or to one with other settings than
 * `options` ask for), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
 *
 * The caller promises:
 * `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `rwlock` NULL
 * or writable.
 */
int32_t turnlock_rwlock_open(const struct turnlock_file *file,
                             const char *name,
                             const struct turnlock_rwlock_options *options,
                             struct turnlock_rwlock **rwlock);

/**
 * Closes a rwlock handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread has the lock.
 *
 * The caller promises:
 * `rwlock` is NULL or a rwlock handle; no other thread is inside a call with it.
 */
int32_t turnlock_rwlock_close(struct turnlock_rwlock *rwlock);

/**
 * Takes the lock shared, beside others that do, waiting for earlier writers as long as it takes. Its fencing token
 * is that of the last writer: two readers with the same one read the same. TURNLOCK_OWNER_DEAD as long as no holder
 * has marked consistent what a dead writer left.
 *
 * Errors as `turnlock_mutex_lock`; TURNLOCK_ERROR_DEADLOCK if this thread has it in any mode.
 *
 * The caller promises:
 * `rwlock` is a rwlock handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_rwlock_lock_shared(const struct turnlock_rwlock *rwlock,
                                    struct turnlock_acquired *acquired);

/**
 * `turnlock_rwlock_lock_shared` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
 *
 * The caller promises:
 * As `turnlock_rwlock_lock_shared`.
 */
int32_t turnlock_rwlock_try_lock_shared(const struct turnlock_rwlock *rwlock,
                                        struct turnlock_acquired *acquired);

/**
 * `turnlock_rwlock_lock_shared`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT and the place in
 * the queue is given up.
 *
 * The caller promises:
 * As `turnlock_rwlock_lock_shared`.
 */
int32_t turnlock_rwlock_lock_shared_for(const struct turnlock_rwlock *rwlock,
                                        uint64_t nanoseconds,
                                        struct turnlock_acquired *acquired);

/**
 * Takes the lock exclusively, waiting for every participant that came before as long as it takes. 0, or
 * TURNLOCK_OWNER_DEAD: the lock is yours and the last writer died inside, so repair the data and call
 * `turnlock_rwlock_mark_consistent`.
 *
 * Errors as `turnlock_mutex_lock`; TURNLOCK_ERROR_DEADLOCK if this thread has it in any mode.
 *
 * The caller promises:
 * As `turnlock_rwlock_lock_shared`.
 */
int32_t turnlock_rwlock_lock_exclusive(const struct turnlock_rwlock *rwlock,
                                       struct turnlock_acquired *acquired);

/**
 * `turnlock_rwlock_lock_exclusive` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
 *
 * The caller promises:
 * As `turnlock_rwlock_lock_shared`.
 */
int32_t turnlock_rwlock_try_lock_exclusive(const struct turnlock_rwlock *rwlock,
                                           struct turnlock_acquired *acquired);

/**
 * `turnlock_rwlock_lock_exclusive`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT and the place
 * in the queue is given up.
 *
 * The caller promises:
 * As `turnlock_rwlock_lock_shared`.
 */
int32_t turnlock_rwlock_lock_exclusive_for(const struct turnlock_rwlock *rwlock,
                                           uint64_t nanoseconds,
                                           struct turnlock_acquired *acquired);

/**
 * Takes the lock upgradable: beside those that have it shared, with the right to make that exclusive
 * (`turnlock_rwlock_upgrade`), which one at a time has.
 *
 * Errors as `turnlock_mutex_lock`; TURNLOCK_ERROR_DEADLOCK if this thread has it in any mode.
 *
 * The caller promises:
 * As `turnlock_rwlock_lock_shared`.
 */
int32_t turnlock_rwlock_lock_upgradable(const struct turnlock_rwlock *rwlock,
                                        struct turnlock_acquired *acquired);

/**
 * `turnlock_rwlock_lock_upgradable` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
 *
 * The caller promises:
 * As `turnlock_rwlock_lock_shared`.
 */
int32_t turnlock_rwlock_try_lock_upgradable(const struct turnlock_rwlock *rwlock,
                                            struct turnlock_acquired *acquired);

/**
 * `turnlock_rwlock_lock_upgradable`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT and the
 * place in the queue is given up.
 *
 * The caller promises:
 * As `turnlock_rwlock_lock_shared`.
 */
int32_t turnlock_rwlock_lock_upgradable_for(const struct turnlock_rwlock *rwlock,
                                            uint64_t nanoseconds,
                                            struct turnlock_acquired *acquired);

/**
 * Unlocks, in whichever mode it is held. To unlock what is held exclusively after TURNLOCK_OWNER_DEAD without
 * `turnlock_rwlock_mark_consistent` closes the lock for everyone until a reset, if deaths are informed of there (its death policy
 * is *inform*).
 *
 * TURNLOCK_ERROR_NOT_OWNER if this thread does not have it; _DAMAGED, _REPLACED if it is seen that the file was overwritten
 * or replaced meanwhile (it is unlocked all the same).
 *
 * The caller promises:
 * `rwlock` is a rwlock handle.
 */
int32_t turnlock_rwlock_unlock(const struct turnlock_rwlock *rwlock);

/**
 * Makes an upgradable hold exclusive, in its place in the queue: no other participant writes in between, and none
 * comes in any more. Waits for the readers that are inside. `acquired` has the fencing token that the holder has from
 * then on. With an error the lock is held upgradable as before.
 *
 * TURNLOCK_ERROR_NOT_UPGRADABLE if it is not held upgradable; _NOT_OWNER; _CANCELLED, _INTERRUPTED; _WOULD_BLOCK if the lock is linked and
 * its lease has ended, or has no fencing token left.
 *
 * The caller promises:
 * As `turnlock_rwlock_lock_shared`.
 */
int32_t turnlock_rwlock_upgrade(const struct turnlock_rwlock *rwlock,
                                struct turnlock_acquired *acquired);

/**
 * `turnlock_rwlock_upgrade` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
 *
 * The caller promises:
 * As `turnlock_rwlock_lock_shared`.
 */
int32_t turnlock_rwlock_try_upgrade(const struct turnlock_rwlock *rwlock, struct turnlock_acquired *acquired);

/**
 * `turnlock_rwlock_upgrade`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
 *
 * The caller promises:
 * As `turnlock_rwlock_lock_shared`.
 */
int32_t turnlock_rwlock_upgrade_for(const struct turnlock_rwlock *rwlock,
                                    uint64_t nanoseconds,
                                    struct turnlock_acquired *acquired);

/**
 * Makes the hold less than it is, in its place in the queue: exclusive to upgradable or shared, upgradable to shared
 * (`mode` is TURNLOCK_MODE_...). No other participant writes in between. What a dead writer left and no holder marked
 * consistent closes the lock then, as at an unlock.
 *
 * TURNLOCK_ERROR_NOT_UPGRADABLE if `mode` is not less than it is held as; _NOT_OWNER; _INVALID_ARGUMENT.
 *
 * The caller promises:
 * `rwlock` is a rwlock handle.
 */
int32_t turnlock_rwlock_downgrade(const struct turnlock_rwlock *rwlock,
                                  uint32_t mode);

/**
 * Unlocks as a dying owner does, since the data were left half-done: if it is held exclusively, the next one is
 * told. TURNLOCK_ERROR_NOT_OWNER if this thread does not have it.
 *
 * The caller promises:
 * `rwlock` is a rwlock handle.
 */
int32_t turnlock_rwlock_abandon(const struct turnlock_rwlock *rwlock);

/**
 * Says, while holding the lock exclusively after TURNLOCK_OWNER_DEAD, that the data are well again.
 * TURNLOCK_ERROR_NOT_EXCLUSIVE if it is held in another mode; _NOT_INCONSISTENT if no holder died; _NOT_OWNER.
 *
 * The caller promises:
 * `rwlock` is a rwlock handle.
 */
int32_t turnlock_rwlock_mark_consistent(const struct turnlock_rwlock *rwlock);

/* Semaphores -------------------------------------------------------------------------------------------- */

/**
 * `turnlock_semaphore_options.flags`: do not create the lock.
 */
#define TURNLOCK_SEMAPHORE_MUST_EXIST 1

/**
 * `turnlock_semaphore_options.flags`: no patience, whatever `patience_ns` says: strict first come first served. One that
 * exists and has patience is TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_SEMAPHORE_STRICT 2

/**
 * `turnlock_semaphore_options.flags`: the semaphore must be linked: its permits are shared out among several hosts, and this host has
 * those that its agent brings, none at first (docs/hosts.md). All hosts name the same `permits`, which are never changed. One that exists
 * and is not linked, or has another number of permits, is TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_SEMAPHORE_LINKED 64

/**
 * A counting semaphore in a lock file: a number of permits, of which each participant takes some for a while, first
 * come first served. Those of a participant that dies come back. Permits belong to the thread that took them, or to the hold by
 * which they were acquired.
 */
typedef struct turnlock_semaphore turnlock_semaphore;

/**
 * How to open, or create, a semaphore. Set `size` to `sizeof(struct turnlock_semaphore_options)` and everything else that you
 * do not care about to 0.
 */
typedef struct turnlock_semaphore_options {
  /**
   * `sizeof(struct turnlock_semaphore_options)`.
   */
  size_t size;
  /**
   * TURNLOCK_SEMAPHORE_... or'ed together.
   */
  uint32_t flags;
  /**
   * How many permits it has, if it is created now: one that exists keeps what it has. 0 = 1.
   */
  uint32_t permits;
  /**
   * How long a waiter lets others pass before it is queued for good, in nanoseconds. 0 = whatever the lock has, and 1
   * millisecond if it is created now; else a lock that exists and has another is TURNLOCK_ERROR_KIND.
   */
  uint64_t patience_ns;
} turnlock_semaphore_options;

/**
 * Opens the semaphore called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
 * handle into `semaphore`. `options` may be NULL.
 *
 * TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, or to one with another patience
 * than `options` ask for), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
 *
 * The caller promises:
 * `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `semaphore` NULL
 * or writable.
 */
int32_t turnlock_semaphore_open(const struct turnlock_file *file,
                                const char *name,
                                const struct turnlock_semaphore_options *options,
                                struct turnlock_semaphore **semaphore);

/**
 * Closes a semaphore handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread has the lock.
 *
 * The caller promises:
 * `semaphore` is NULL or a semaphore handle; no other thread is inside a call with it.
 */
int32_t turnlock_semaphore_close(struct turnlock_semaphore *semaphore);

/**
 * Takes `permits` permits, all at once, waiting for them as long as it takes; no participant that comes later goes
 * before. A thread that has some may take more. `acquired` may be NULL.
 *
 * TURNLOCK_ERROR_PERMITS for none, or more than there are, also if their number was reduced while it waited; _DEADLOCK if this
 * thread has so many that it would wait for itself; others as `turnlock_mutex_lock`.
 *
 * The caller promises:
 * `semaphore` is a semaphore handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_semaphore_acquire(const struct turnlock_semaphore *semaphore,
                                   uint32_t permits,
                                   struct turnlock_acquired *acquired);

/**
 * `turnlock_semaphore_acquire` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
 *
 * The caller promises:
 * `semaphore` is a semaphore handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_semaphore_try_acquire(const struct turnlock_semaphore *semaphore,
                                       uint32_t permits,
                                       struct turnlock_acquired *acquired);

/**
 * `turnlock_semaphore_acquire`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT and the place in
 * the queue is given up.
 *
 * The caller promises:
 * `semaphore` is a semaphore handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_semaphore_acquire_for(const struct turnlock_semaphore *semaphore,
                                       uint32_t permits,
                                       uint64_t nanoseconds,
                                       struct turnlock_acquired *acquired);

/**
 * Gives `permits` of the permits back that the calling thread has, those that it took last first.
 *
 * TURNLOCK_ERROR_NOT_OWNER if it has none; _TOO_MANY_RELEASED if it has fewer; _INVALID_ARGUMENT for none; _LEASE_ENDED, _DAMAGED, _REPLACED
 * as `turnlock_mutex_unlock`: they are given back all the same.
 *
 * The caller promises:
 * `semaphore` is a semaphore handle.
 */
int32_t turnlock_semaphore_release(const struct turnlock_semaphore *semaphore,
                                   uint32_t permits);

/**
 * Makes the semaphore have `permits` permits, for all participants and at once. If there are fewer than before, those
 * that are taken stay taken, and no participant gets any before enough have come back; a waiter for more than there
 * are is told so (TURNLOCK_ERROR_PERMITS), like a newcomer.
 *
 * TURNLOCK_ERROR_INVALID_ARGUMENT for none, or UINT32_MAX, and of a linked semaphore; _NOT_FOUND if it was removed; _PARTICIPANTS_FULL
 * if the thread has no slot yet and there is none; _UNSUPPORTED if the kernel refuses a memory barrier. With an error nothing is changed.
 *
 * The caller promises:
 * `semaphore` is a semaphore handle.
 */
int32_t turnlock_semaphore_resize(const struct turnlock_semaphore *semaphore,
                                  uint32_t permits);

/**
 * Puts into `permits` how many permits the semaphore has, taken or not; of a linked one, over all hosts. TURNLOCK_ERROR_NOT_FOUND if it was
 * removed.
 *
 * The caller promises:
 * `semaphore` is a semaphore handle; `permits` is NULL or writable.
 */
int32_t turnlock_semaphore_permits(const struct turnlock_semaphore *semaphore,
                                   uint32_t *permits);

/* Range locks ------------------------------------------------------------------------------------------- */

/**
 * `turnlock_rangelock_options.flags`: do not create the lock.
 */
#define TURNLOCK_RANGELOCK_MUST_EXIST 1

/**
 * `turnlock_rangelock_options.flags`: the death of one that holds a part exclusively needs no repair: the next one that it
 * concerns is told (TURNLOCK_OWNER_DEAD) and has nothing to mark consistent. One that exists and was created otherwise is
 * TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_RANGELOCK_RELEASE_ON_DEATH 4

/**
 * `turnlock_rangelock_options.flags`: the death of one that holds a part exclusively needs a repair, marked by
 * `turnlock_rangelock_mark_consistent`: what a range lock gets that is created without any of these flags. One that exists
 * and was created otherwise is TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_RANGELOCK_INFORM_ON_DEATH 16

/**
 * `turnlock_rangelock_options.flags`: as TURNLOCK_RANGELOCK_RELEASE_ON_DEATH if the lock is created now and neither of the two
 * above is given; one that exists keeps what it has. For a caller that does not look at TURNLOCK_OWNER_DEAD.
 */
#define TURNLOCK_RANGELOCK_RELEASE_BY_DEFAULT 32

/**
 * `end` of a range: to the end, the last number included.
 */
#define TURNLOCK_RANGE_END 18446744073709551615ull

/**
 * A lock of ranges of numbers, in a lock file: a participant that wants a range waits for the earlier ones that
 * overlap with it, unless both only read. Up to as many ranges at once as the file has participants.
 */
typedef struct turnlock_rangelock turnlock_rangelock;

/**
 * How to open, or create, a range lock. Set `size` to `sizeof(struct turnlock_rangelock_options)` and everything else that you
 * do not care about to 0.
 */
typedef struct turnlock_rangelock_options {
  /**
   * `sizeof(struct turnlock_rangelock_options)`.
   */
  size_t size;
  /**
   * TURNLOCK_RANGELOCK_... or'ed together.
   */
  uint32_t flags;
  /**
   * 0.
   */
  uint32_t reserved;
} turnlock_rangelock_options;

/**
 * Opens the range lock called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
 * handle into `rangelock`. `options` may be NULL.
 *
 * TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, or to one with other settings than
 * `options` ask for), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
 *
 * The caller promises:
 * `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `rangelock` NULL
 * or writable.
 */
int32_t turnlock_rangelock_open(const struct turnlock_file *file,
                                const char *name,
                                const struct turnlock_rangelock_options *options,
                                struct turnlock_rangelock **rangelock);

/**
 * Closes a range lock handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread has the lock.
 *
 * The caller promises:
 * `rangelock` is NULL or a range lock handle; no other thread is inside a call with it.
 */
int32_t turnlock_rangelock_close(struct turnlock_rangelock *rangelock);

/**
 * Takes the range from `start` to before `end` (TURNLOCK_RANGE_END: to the end, the last number included) shared,
 * beside others that do, waiting for the earlier ones that stand in its way as long as it takes. A thread may hold
 * several at once. 0, or TURNLOCK_OWNER_DEAD: one died that held what conflicts with it exclusively.
 *
 * TURNLOCK_ERROR_EMPTY_RANGE; TURNLOCK_ERROR_DEADLOCK if this thread holds what conflicts with it; others as
 * `turnlock_mutex_lock`.
 *
 * The caller promises:
 * `rangelock` is a range lock handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_rangelock_lock_shared(const struct turnlock_rangelock *rangelock,
                                       uint64_t start,
                                       uint64_t end,
                                       struct turnlock_acquired *acquired);

/**
 * `turnlock_rangelock_lock_shared` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
 *
 * The caller promises:
 * `rangelock` is a range lock handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_rangelock_try_lock_shared(const struct turnlock_rangelock *rangelock,
                                           uint64_t start,
                                           uint64_t end,
                                           struct turnlock_acquired *acquired);

/**
 * `turnlock_rangelock_lock_shared`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
 *
 * The caller promises:
 * `rangelock` is a range lock handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_rangelock_lock_shared_for(const struct turnlock_rangelock *rangelock,
                                           uint64_t start,
                                           uint64_t end,
                                           uint64_t nanoseconds,
                                           struct turnlock_acquired *acquired);

/**
 * Takes the range from `start` to before `end` (TURNLOCK_RANGE_END: to the end, the last number included)
 * exclusively, waiting for the earlier ones that stand in its way as long as it takes. A thread may hold several at
 * once. 0, or TURNLOCK_OWNER_DEAD: one died that held what conflicts with it exclusively.
 *
 * TURNLOCK_ERROR_EMPTY_RANGE; TURNLOCK_ERROR_DEADLOCK if this thread holds what conflicts with it; others as
 * `turnlock_mutex_lock`.
 *
 * The caller promises:
 * `rangelock` is a range lock handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_rangelock_lock_exclusive(const struct turnlock_rangelock *rangelock,
                                          uint64_t start,
                                          uint64_t end,
                                          struct turnlock_acquired *acquired);

/**
 * `turnlock_rangelock_lock_exclusive` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
 *
 * The caller promises:
 * `rangelock` is a range lock handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_rangelock_try_lock_exclusive(const struct turnlock_rangelock *rangelock,
                                              uint64_t start,
                                              uint64_t end,
                                              struct turnlock_acquired *acquired);

/**
 * `turnlock_rangelock_lock_exclusive`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
 *
 * The caller promises:
 * `rangelock` is a range lock handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_rangelock_lock_exclusive_for(const struct turnlock_rangelock *rangelock,
                                              uint64_t start,
                                              uint64_t end,
                                              uint64_t nanoseconds,
                                              struct turnlock_acquired *acquired);

/**
 * Unlocks the very range that was taken. TURNLOCK_ERROR_NOT_OWNER if this thread does not hold it; _DAMAGED, _REPLACED as
 * `turnlock_mutex_unlock`.
 *
 * The caller promises:
 * `rangelock` is a range lock handle.
 */
int32_t turnlock_rangelock_unlock(const struct turnlock_rangelock *rangelock,
                                  uint64_t start,
                                  uint64_t end);

/**
 * Says, while holding the very range that was taken exclusively after TURNLOCK_OWNER_DEAD, that the data of it are
 * well again; of a death in what is only partly held, nothing is marked. TURNLOCK_ERROR_NOT_INCONSISTENT if there is
 * nothing to mark; _NOT_OWNER.
 *
 * The caller promises:
 * `rangelock` is a range lock handle.
 */
int32_t turnlock_rangelock_mark_consistent(const struct turnlock_rangelock *rangelock,
                                           uint64_t start,
                                           uint64_t end);

/* Keyed locks ------------------------------------------------------------------------------------------- */

/**
 * `turnlock_keyedlock_options.flags`: do not create the lock.
 */
#define TURNLOCK_KEYEDLOCK_MUST_EXIST 1

/**
 * `turnlock_keyedlock_options.flags`: the death of one that holds a part exclusively needs no repair: the next one that it
 * concerns is told (TURNLOCK_OWNER_DEAD) and has nothing to mark consistent. One that exists and was created otherwise is
 * TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_KEYEDLOCK_RELEASE_ON_DEATH 4

/**
 * `turnlock_keyedlock_options.flags`: the death of one that holds a part exclusively needs a repair, marked by
 * `turnlock_keyedlock_mark_consistent`: what a keyed lock gets that is created without any of these flags. One that exists
 * and was created otherwise is TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_KEYEDLOCK_INFORM_ON_DEATH 16

/**
 * `turnlock_keyedlock_options.flags`: as TURNLOCK_KEYEDLOCK_RELEASE_ON_DEATH if the lock is created now and neither of the two
 * above is given; one that exists keeps what it has. For a caller that does not look at TURNLOCK_OWNER_DEAD.
 */
#define TURNLOCK_KEYEDLOCK_RELEASE_BY_DEFAULT 32

/**
 * A lock for each key (any bytes), in a lock file. Keys need not be created, and take no room while no participant
 * wants them; they are told apart by a hash of 128 bits. Up to as many at once as the file has participants.
 */
typedef struct turnlock_keyedlock turnlock_keyedlock;

/**
 * How to open, or create, a keyed lock. Set `size` to `sizeof(struct turnlock_keyedlock_options)` and everything else that you
 * do not care about to 0.
 */
typedef struct turnlock_keyedlock_options {
  /**
   * `sizeof(struct turnlock_keyedlock_options)`.
   */
  size_t size;
  /**
   * TURNLOCK_KEYEDLOCK_... or'ed together.
   */
  uint32_t flags;
  /**
   * 0.
   */
  uint32_t reserved;
} turnlock_keyedlock_options;

/**
 * Opens the keyed lock called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
 * handle into `keyedlock`. `options` may be NULL.
 *
 * TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, or to one with other settings than
 * `options` ask for), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
 *
 * The caller promises:
 * `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `keyedlock` NULL
 * or writable.
 */
int32_t turnlock_keyedlock_open(const struct turnlock_file *file,
                                const char *name,
                                const struct turnlock_keyedlock_options *options,
                                struct turnlock_keyedlock **keyedlock);

/**
 * Closes a keyed lock handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread has the lock.
 *
 * The caller promises:
 * `keyedlock` is NULL or a keyed lock handle; no other thread is inside a call with it.
 */
int32_t turnlock_keyedlock_close(struct turnlock_keyedlock *keyedlock);

/**
 * Takes the key, the `key_size` bytes at `key` shared, beside others that do, waiting for the earlier ones that
 * stand in its way as long as it takes. A thread may hold several at once. 0, or TURNLOCK_OWNER_DEAD: one died that
 * held what conflicts with it exclusively.
 *
 * TURNLOCK_ERROR_DEADLOCK if this thread holds what conflicts with it; others as `turnlock_mutex_lock`.
 *
 * The caller promises:
 * `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes; `acquired` is NULL, or writable as far
 * as its `size` says.
 */
int32_t turnlock_keyedlock_lock_shared(const struct turnlock_keyedlock *keyedlock,
                                       const void *key,
                                       size_t key_size,
                                       struct turnlock_acquired *acquired);

/**
 * `turnlock_keyedlock_lock_shared` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
 *
 * The caller promises:
 * `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes; `acquired` is NULL, or writable as far
 * as its `size` says.
 */
int32_t turnlock_keyedlock_try_lock_shared(const struct turnlock_keyedlock *keyedlock,
                                           const void *key,
                                           size_t key_size,
                                           struct turnlock_acquired *acquired);

/**
 * `turnlock_keyedlock_lock_shared`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
 *
 * The caller promises:
 * `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes; `acquired` is NULL, or writable as far
 * as its `size` says.
 */
int32_t turnlock_keyedlock_lock_shared_for(const struct turnlock_keyedlock *keyedlock,
                                           const void *key,
                                           size_t key_size,
                                           uint64_t nanoseconds,
                                           struct turnlock_acquired *acquired);

/**
 * Takes the key, the `key_size` bytes at `key` exclusively, waiting for the earlier ones that stand in its way as
 * long as it takes. A thread may hold several at once. 0, or TURNLOCK_OWNER_DEAD: one died that held what conflicts
 * with it exclusively.
 *
 * TURNLOCK_ERROR_DEADLOCK if this thread holds what conflicts with it; others as `turnlock_mutex_lock`.
 *
 * The caller promises:
 * `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes; `acquired` is NULL, or writable as far
 * as its `size` says.
 */
int32_t turnlock_keyedlock_lock_exclusive(const struct turnlock_keyedlock *keyedlock,
                                          const void *key,
                                          size_t key_size,
                                          struct turnlock_acquired *acquired);

/**
 * `turnlock_keyedlock_lock_exclusive` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
 *
 * The caller promises:
 * `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes; `acquired` is NULL, or writable as far
 * as its `size` says.
 */
int32_t turnlock_keyedlock_try_lock_exclusive(const struct turnlock_keyedlock *keyedlock,
                                              const void *key,
                                              size_t key_size,
                                              struct turnlock_acquired *acquired);

/**
 * `turnlock_keyedlock_lock_exclusive`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
 *
 * The caller promises:
 * `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes; `acquired` is NULL, or writable as far
 * as its `size` says.
 */
int32_t turnlock_keyedlock_lock_exclusive_for(const struct turnlock_keyedlock *keyedlock,
                                              const void *key,
                                              size_t key_size,
                                              uint64_t nanoseconds,
                                              struct turnlock_acquired *acquired);

/**
 * Unlocks the key. TURNLOCK_ERROR_NOT_OWNER if this thread does not hold it; _DAMAGED, _REPLACED as `turnlock_mutex_unlock`.
 *
 * The caller promises:
 * `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes.
 */
int32_t turnlock_keyedlock_unlock(const struct turnlock_keyedlock *keyedlock,
                                  const void *key,
                                  size_t key_size);

/**
 * Says, while holding the key exclusively after TURNLOCK_OWNER_DEAD, that the data of it are well again; of a death
 * in what is only partly held, nothing is marked. TURNLOCK_ERROR_NOT_INCONSISTENT if there is nothing to mark;
 * _NOT_OWNER.
 *
 * The caller promises:
 * `keyedlock` is a keyed lock handle, `key` is readable for `key_size` bytes.
 */
int32_t turnlock_keyedlock_mark_consistent(const struct turnlock_keyedlock *keyedlock,
                                           const void *key,
                                           size_t key_size);

/* Group locks ------------------------------------------------------------------------------------------- */

/**
 * `turnlock_grouplock_options.flags`: do not create the lock.
 */
#define TURNLOCK_GROUPLOCK_MUST_EXIST 1

/**
 * `turnlock_grouplock_options.flags`: the death of a member needs no repair: the next participant that enters is told
 * (TURNLOCK_OWNER_DEAD) and has nothing to mark consistent. One that exists and was created otherwise is
 * TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_GROUPLOCK_RELEASE_ON_DEATH 4

/**
 * `turnlock_grouplock_options.flags`: the death of a member needs a repair, marked by `turnlock_grouplock_mark_consistent`:
 * what a group lock gets that is created without any of these flags. One that exists and was created otherwise is
 * TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_GROUPLOCK_INFORM_ON_DEATH 16

/**
 * `turnlock_grouplock_options.flags`: as TURNLOCK_GROUPLOCK_RELEASE_ON_DEATH if the lock is created now and neither of the two
 * above is given; one that exists keeps what it has. For a caller that does not look at TURNLOCK_OWNER_DEAD.
 */
#define TURNLOCK_GROUPLOCK_RELEASE_BY_DEFAULT 32

/**
 * A group lock in a lock file: any number of participants of one group are inside at once, and never two of different groups.
 * A group is any number, and need not be created. First come first served: a participant that comes later waits behind an
 * earlier one of another group, also if its own group is inside. Any thread may use the handle; the place inside belongs to
 * the thread (or the hold) that took it, once at a time.
 *
 * A member of a group may change what the lock protects beside others of its group. So a member's death is told
 * (TURNLOCK_OWNER_DEAD) to every participant that enters afterwards, whatever its group, until one that was told marks it
 * consistent. Those that are inside already are not told, and cannot mark it. The lock is not closed if a holder unlocks without
 * marking. To enter beside others takes a look at each of them, a microsecond or two, since no participant of their group
 * would wait for a dead one.
 */
typedef struct turnlock_grouplock turnlock_grouplock;

/**
 * How to open, or create, a group lock. Set `size` to `sizeof(struct turnlock_grouplock_options)` and everything else that you
 * do not care about to 0.
 */
typedef struct turnlock_grouplock_options {
  /**
   * `sizeof(struct turnlock_grouplock_options)`.
   */
  size_t size;
  /**
   * TURNLOCK_GROUPLOCK_... or'ed together.
   */
  uint32_t flags;
  /**
   * 0.
   */
  uint32_t reserved;
} turnlock_grouplock_options;

/**
 * Opens the group lock called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
 * handle into `grouplock`. `options` may be NULL.
 *
 * TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, or to one with other settings than
 * `options` ask for), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
 *
 * The caller promises:
 * `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `grouplock` NULL
 * or writable.
 */
int32_t turnlock_grouplock_open(const struct turnlock_file *file,
                                const char *name,
                                const struct turnlock_grouplock_options *options,
                                struct turnlock_grouplock **grouplock);

/**
 * Closes a group lock handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread has the lock.
 *
 * The caller promises:
 * `grouplock` is NULL or a group lock handle; no other thread is inside a call with it.
 */
int32_t turnlock_grouplock_close(struct turnlock_grouplock *grouplock);

/**
 * Enters as a member of `group`, any number, beside others of that group, waiting for earlier participants of other groups as
 * long as it takes. 0, or TURNLOCK_OWNER_DEAD: a member died inside, and that has not been marked consistent since.
 *
 * TURNLOCK_ERROR_DEADLOCK if this thread is inside already, in whichever group; others as `turnlock_mutex_lock`.
 *
 * The caller promises:
 * `grouplock` is a group lock handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_grouplock_lock(const struct turnlock_grouplock *grouplock,
                                uint64_t group,
                                struct turnlock_acquired *acquired);

/**
 * `turnlock_grouplock_lock` if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK.
 *
 * The caller promises:
 * `grouplock` is a group lock handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_grouplock_try_lock(const struct turnlock_grouplock *grouplock,
                                    uint64_t group,
                                    struct turnlock_acquired *acquired);

/**
 * `turnlock_grouplock_lock`, waiting at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
 *
 * The caller promises:
 * `grouplock` is a group lock handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_grouplock_lock_for(const struct turnlock_grouplock *grouplock,
                                    uint64_t group,
                                    uint64_t nanoseconds,
                                    struct turnlock_acquired *acquired);

/**
 * Leaves, whichever group this thread is inside with. TURNLOCK_ERROR_NOT_OWNER if it is not inside; _DAMAGED, _REPLACED as
 * `turnlock_mutex_unlock`.
 *
 * The caller promises:
 * `grouplock` is a group lock handle.
 */
int32_t turnlock_grouplock_unlock(const struct turnlock_grouplock *grouplock);

/**
 * Leaves as a dying member does, since the data were left half-done: the next participants that enter get
 * TURNLOCK_OWNER_DEAD. TURNLOCK_ERROR_NOT_OWNER.
 *
 * The caller promises:
 * `grouplock` is a group lock handle.
 */
int32_t turnlock_grouplock_abandon(const struct turnlock_grouplock *grouplock);

/**
 * Says, inside after TURNLOCK_OWNER_DEAD, that the data are well again. It marks the deaths of which this participant was told
 * when it entered; one that came later is told to those that enter after it. TURNLOCK_ERROR_NOT_INCONSISTENT if it was told of
 * none, or another member has marked them; _NOT_OWNER.
 *
 * The caller promises:
 * `grouplock` is a group lock handle.
 */
int32_t turnlock_grouplock_mark_consistent(const struct turnlock_grouplock *grouplock);

/* Turn rings -------------------------------------------------------------------------------------------- */

/**
 * `turnlock_ring_options.algorithm`: Dijkstra's K-state ring, which stabilises itself.
 */
#define TURNLOCK_ALGORITHM_K_STATE 2

/**
 * `turnlock_ring_options.algorithm`: Raynal's ring modulo n squared: the same rule for all.
 */
#define TURNLOCK_ALGORITHM_RAYNAL 3

/**
 * `turnlock_ring_options.algorithm`: Raynal's sum ring: the turn goes from slot i to slot i + step.
 */
#define TURNLOCK_ALGORITHM_SUM 4

/**
 * `turnlock_ring_options.flags`: do not create the lock.
 */
#define TURNLOCK_RING_MUST_EXIST 1

/**
 * `turnlock_ring_options.flags`: a participant that takes a turn through this handle stays a member of the ring, and
 * the ring waits for it, until `turnlock_ring_leave`, the end of its thread, or its death. Otherwise it is in the ring
 * only while it waits or has the turn.
 */
#define TURNLOCK_RING_MEMBER 2

/**
 * `turnlock_ring_options.flags`: a holder's death needs no repair: the next holder is told (TURNLOCK_OWNER_DEAD) and has
 * nothing to mark consistent. One that exists and was created otherwise is TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_RING_RELEASE_ON_DEATH 4

/**
 * `turnlock_ring_options.flags`: a holder's death needs a repair, marked by `turnlock_ring_mark_consistent`: what a
 * ring gets that is created without any of these flags. One that exists and was created otherwise is
 * TURNLOCK_ERROR_KIND.
 */
#define TURNLOCK_RING_INFORM_ON_DEATH 16

/**
 * `turnlock_ring_options.flags`: as TURNLOCK_RING_RELEASE_ON_DEATH if the lock is created now and neither of the two
 * above is given; one that exists keeps what it has. For a caller that does not look at TURNLOCK_OWNER_DEAD.
 */
#define TURNLOCK_RING_RELEASE_BY_DEFAULT 32

/**
 * A turn ring in a lock file: a lock whose turn goes round. A participant that had the turn gets it again only after
 * every other one that wants it. Any thread may use the handle; the turn belongs to the thread (or the hold) that took
 * it.
 */
typedef struct turnlock_ring turnlock_ring;

/**
 * How to open, or create, a turn ring. Set `size` to `sizeof(struct turnlock_ring_options)` and everything else that
 * you do not care about to 0.
 */
typedef struct turnlock_ring_options {
  /**
   * `sizeof(struct turnlock_ring_options)`.
   */
  size_t size;
  /**
   * TURNLOCK_ALGORITHM_...: which it must be. 0 = whichever it is, and TURNLOCK_ALGORITHM_RAYNAL if it is created
   * now.
   */
  uint32_t algorithm;
  /**
   * TURNLOCK_RING_... or'ed together.
   */
  uint32_t flags;
  /**
   * Of the sum ring: from one slot to the next in order of turns; coprime to the number of the file's participants,
   * or TURNLOCK_ERROR_INVALID_ARGUMENT. 0 = 1. Of other rings: 0.
   */
  uint32_t step;
  /**
   * 0.
   */
  uint32_t reserved;
} turnlock_ring_options;

/**
 * Opens the ring called `name` (1 to 63 bytes of UTF-8), creating it if the file has no lock of that name, and puts a
 * handle into `ring`. `options` may be NULL.
 *
 * TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind of lock, to another ring, or to one of
 * another step or death policy), _NOT_FOUND, _PARTICIPANTS_FULL, _INVALID_ARGUMENT, _DAMAGED.
 *
 * The caller promises:
 * `file` is a file handle, `name` a NUL-terminated string, `options` NULL or a struct whose `size` is right, `ring`
 * NULL or writable.
 */
int32_t turnlock_ring_open(const struct turnlock_file *file,
                           const char *name,
                           const struct turnlock_ring_options *options,
                           struct turnlock_ring **ring);

/**
 * Closes a ring handle; a member stays in the ring. TURNLOCK_ERROR_STILL_HELD, and nothing is done,
 * while the calling thread has the turn.
 *
 * The caller promises:
 * `ring` is NULL or a ring handle; no other thread is inside a call with it.
 */
int32_t turnlock_ring_close(struct turnlock_ring *ring);

/**
 * Waits for the turn as long as it takes. 0, or TURNLOCK_OWNER_DEAD: it is your turn and the previous holder died
 * inside, so repair the data and call `turnlock_ring_mark_consistent`. `acquired` may be NULL.
 *
 * Errors as `turnlock_mutex_lock`.
 *
 * The caller promises:
 * `ring` is a ring handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_ring_lock(const struct turnlock_ring *ring,
                           struct turnlock_acquired *acquired);

/**
 * Takes the turn if that needs no waiting, else TURNLOCK_ERROR_WOULD_BLOCK. Otherwise as `turnlock_ring_lock`.
 *
 * The caller promises:
 * As `turnlock_ring_lock`.
 */
int32_t turnlock_ring_try_lock(const struct turnlock_ring *ring,
                               struct turnlock_acquired *acquired);

/**
 * Waits for the turn at most so many nanoseconds, then TURNLOCK_ERROR_TIMED_OUT; a member stays in the
 * ring, and the ring waits for it when its turn comes. Otherwise as `turnlock_ring_lock`.
 *
 * The caller promises:
 * As `turnlock_ring_lock`.
 */
int32_t turnlock_ring_lock_for(const struct turnlock_ring *ring,
                               uint64_t nanoseconds,
                               struct turnlock_acquired *acquired);

/**
 * Passes the turn on. Unlocking after TURNLOCK_OWNER_DEAD without `turnlock_ring_mark_consistent` closes the ring for
 * everyone until a reset, if deaths are informed of there (its death policy is *inform*). TURNLOCK_ERROR_NOT_OWNER, _DAMAGED,
 * _REPLACED as `turnlock_mutex_unlock`.
 *
 * The caller promises:
 * `ring` is a ring handle.
 */
int32_t turnlock_ring_unlock(const struct turnlock_ring *ring);

/**
 * Passes the turn on as a dying owner does: the next holder is told. TURNLOCK_ERROR_NOT_OWNER if this thread does not
 * have it. A member is out of the ring until its next turn is asked for.
 *
 * The caller promises:
 * `ring` is a ring handle.
 */
int32_t turnlock_ring_abandon(const struct turnlock_ring *ring);

/**
 * Says, having the turn after TURNLOCK_OWNER_DEAD, that the data are well again.
 * TURNLOCK_ERROR_NOT_INCONSISTENT if no holder died; _NOT_OWNER.
 *
 * The caller promises:
 * `ring` is a ring handle.
 */
int32_t turnlock_ring_mark_consistent(const struct turnlock_ring *ring);

/**
 * The calling thread, if it is a member of the ring, leaves it: it is passed over until its next turn is asked for.
 * TURNLOCK_ERROR_STILL_HELD while it has the turn.
 *
 * The caller promises:
 * `ring` is a ring handle.
 */
int32_t turnlock_ring_leave(const struct turnlock_ring *ring);

/* Conditions -------------------------------------------------------------------------------------------- */

/**
 * `flags` of `turnlock_condition_open`: do not create it.
 */
#define TURNLOCK_CONDITION_MUST_EXIST 1

/**
 * A condition in a lock file: a participant that holds a lock of the same file unlocks it and waits, in one step, until another
 * one notifies it; then it has the lock again. As `pthread_cond_t`, over deaths: the notification of a waiter that dies before
 * it has the lock goes to the next one. Waiters are notified in the order in which they came, and none without a notification.
 */
typedef struct turnlock_condition turnlock_condition;

/**
 * Opens the condition called `name` (1 to 63 bytes of UTF-8), creating it if the file has nothing of that name, and puts a
 * handle into `condition`. `flags` are TURNLOCK_CONDITION_... or'ed together, or 0.
 *
 * TURNLOCK_ERROR_BAD_NAME, _LOCKS_FULL, _KIND (the name belongs to another kind), _NOT_FOUND, _PARTICIPANTS_FULL,
 * _INVALID_ARGUMENT, _DAMAGED.
 *
 * The caller promises:
 * `file` is a file handle, `name` a NUL-terminated string, `condition` NULL or writable.
 */
int32_t turnlock_condition_open(const struct turnlock_file *file,
                                const char *name,
                                uint32_t flags,
                                struct turnlock_condition **condition);

/**
 * Closes a condition handle.
 *
 * The caller promises:
 * `condition` is NULL or a condition handle; no other thread is inside a call with it.
 */
int32_t turnlock_condition_close(struct turnlock_condition *condition);

/**
 * Notifies the participant that has waited longest, if there is one; the lock need not be held. `notified`, which may be NULL,
 * gets how many were notified, 0 or 1. A signal handler may call it.
 *
 * TURNLOCK_ERROR_NOT_FOUND if the condition was removed; _PARTICIPANTS_FULL at a thread's first call; _DAMAGED, _REPLACED.
 *
 * The caller promises:
 * `condition` is a condition handle; `notified` is NULL or writable.
 */
int32_t turnlock_condition_notify_one(const struct turnlock_condition *condition,
                                      uint32_t *notified);

/**
 * Notifies every participant that waits by now, the one that has waited longest first. Otherwise as
 * `turnlock_condition_notify_one`.
 *
 * The caller promises:
 * As `turnlock_condition_notify_one`.
 */
int32_t turnlock_condition_notify_all(const struct turnlock_condition *condition, uint32_t *notified);

/**
 * Unlocks `lock`, a mutex or a reader/writer lock that the calling thread holds exclusively, cast to `turnlock_lock`; waits
 * until the condition is notified; and locks it again. `wait` and `time_ns` say how long it waits for the notification:
 * TURNLOCK_WAIT_FOREVER, _AT_MOST, _UNTIL. The lock is waited for without a limit. 0, or TURNLOCK_OWNER_DEAD if the last holder of the lock died
 * inside, as `turnlock_mutex_lock`. A recursive mutex is unlocked whole.
 *
 * The lock is held again, as before, after TURNLOCK_ERROR_TIMED_OUT, _CANCELLED, _INTERRUPTED, _NOT_FOUND (the condition was removed,
 * also meanwhile), _INVALID_ARGUMENT (it is waited for with another lock at this moment; the lock is one of another file, or of a kind that
 * is not held exclusively), _HOLD_BUSY (in a signal handler that has interrupted a wait of its thread here); and _NOT_OWNER says
 * that it was not held. It is not held after _NOT_RECOVERABLE, _SYSTEM and _PERMISSION: then the notification goes to another
 * waiter. After _DAMAGED and _REPLACED, by which the file is of no more use, it may be held: unlock it all the same. `acquired` may be NULL. It is filled in whenever the lock was taken again, also
 * where the call fails.
 *
 * The caller promises:
 * `condition` is a condition handle; `lock` is NULL or a handle of a lock; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_condition_wait(const struct turnlock_condition *condition,
                                const struct turnlock_lock *lock,
                                uint32_t wait,
                                uint64_t time_ns,
                                struct turnlock_acquired *acquired);

/* Events ------------------------------------------------------------------------------------------------ */

/**
 * `flags` of `turnlock_event_open`: do not create it.
 */
#define TURNLOCK_EVENT_MUST_EXIST 1

/**
 * An event in a lock file: it is set or not, and participants wait until it is set. It stays set until it is cleared, or the
 * machine boots. No death disturbs it.
 */
typedef struct turnlock_event turnlock_event;

/**
 * Opens the event called `name` (1 to 63 bytes of UTF-8), creating it if the file has nothing of that name, and puts a handle into
 * `event`. One that is created now is not set. `flags` are TURNLOCK_EVENT_... or'ed together, or 0.
 *
 * Errors as `turnlock_condition_open`.
 *
 * The caller promises:
 * `file` is a file handle, `name` a NUL-terminated string, `event` NULL or writable.
 */
int32_t turnlock_event_open(const struct turnlock_file *file,
                            const char *name,
                            uint32_t flags,
                            struct turnlock_event **event);

/**
 * Closes an event handle.
 *
 * The caller promises:
 * `event` is NULL or an event handle; no other thread is inside a call with it.
 */
int32_t turnlock_event_close(struct turnlock_event *event);

/**
 * Sets the event: all that wait for it go on. A signal handler may call it.
 *
 * TURNLOCK_ERROR_NOT_FOUND if it was removed; _DAMAGED.
 *
 * The caller promises:
 * `event` is an event handle.
 */
int32_t turnlock_event_set(const struct turnlock_event *event);

/**
 * Clears the event: who waits from now on waits until it is set again. Otherwise as `turnlock_event_set`.
 *
 * The caller promises:
 * As `turnlock_event_set`.
 */
int32_t turnlock_event_clear(const struct turnlock_event *event);

/**
 * Puts 1 into `set` if the event is set, else 0. Errors as `turnlock_event_set`.
 *
 * The caller promises:
 * `event` is an event handle; `set` is NULL or writable.
 */
int32_t turnlock_event_is_set(const struct turnlock_event *event, uint32_t *set);

/**
 * Waits until the event is set, as long as `wait` and `time_ns` say: TURNLOCK_WAIT_... . A wait that began before the event was set
 * ends, also if it was cleared since.
 *
 * TURNLOCK_ERROR_WOULD_BLOCK, _TIMED_OUT; _CANCELLED (by a hold of the thread, `turnlock_hold_of_thread`), _INTERRUPTED; _NOT_FOUND if
 * it was removed, also meanwhile; _PARTICIPANTS_FULL at a thread's first wait; _HOLD_BUSY in a signal handler that has
 * interrupted a wait of its thread here; _INVALID_ARGUMENT, _DAMAGED.
 *
 * The caller promises:
 * `event` is an event handle.
 */
int32_t turnlock_event_wait(const struct turnlock_event *event,
                            uint32_t wait,
                            uint64_t time_ns);

/* Barriers ---------------------------------------------------------------------------------------------- */

/**
 * `flags` of `turnlock_barrier_open`: do not create it.
 */
#define TURNLOCK_BARRIER_MUST_EXIST 1

/**
 * A barrier in a lock file: so many parties wait until all of them have come; then all go on. The death of a party breaks it for all, and
 * so does one whose time is over, until a reset.
 */
typedef struct turnlock_barrier turnlock_barrier;

/**
 * Opens the barrier called `name` (1 to 63 bytes of UTF-8) of so many parties, creating it if the file has nothing of that name, and
 * puts a handle into `barrier`. With 0 parties it must exist, with however many it has. `flags` are TURNLOCK_BARRIER_... or'ed
 * together, or 0.
 *
 * TURNLOCK_ERROR_KIND if it has another number of parties; others as `turnlock_condition_open`.
 *
 * The caller promises:
 * `file` is a file handle, `name` a NUL-terminated string, `barrier` NULL or writable.
 */
int32_t turnlock_barrier_open(const struct turnlock_file *file,
                              const char *name,
                              uint32_t parties,
                              uint32_t flags,
                              struct turnlock_barrier **barrier);

/**
 * Closes a barrier handle.
 *
 * The caller promises:
 * `barrier` is NULL or a barrier handle; no other thread is inside a call with it.
 */
int32_t turnlock_barrier_close(struct turnlock_barrier *barrier);

/**
 * Waits until all parties have come, as long as `wait` and `time_ns` say: TURNLOCK_WAIT_FOREVER, _AT_MOST, _UNTIL. `is_last`, which
 * may be NULL, gets 1 for one of them, the last, and 0 for the others.
 *
 * TURNLOCK_ERROR_BROKEN_BARRIER: `turnlock_last_error_message` says who died, gave up, or broke it. _TIMED_OUT, _CANCELLED,
 * _INTERRUPTED, and then the barrier is broken for the others; others as `turnlock_event_wait`.
 *
 * The caller promises:
 * `barrier` is a barrier handle; `is_last` is NULL or writable.
 */
int32_t turnlock_barrier_wait(const struct turnlock_barrier *barrier,
                              uint32_t wait,
                              uint64_t time_ns,
                              uint32_t *is_last);

/**
 * Breaks the barrier: those that wait, and those that come until a reset, get TURNLOCK_ERROR_BROKEN_BARRIER.
 *
 * TURNLOCK_ERROR_NOT_FOUND, _PARTICIPANTS_FULL, _DAMAGED.
 *
 * The caller promises:
 * `barrier` is a barrier handle.
 */
int32_t turnlock_barrier_abort(const struct turnlock_barrier *barrier);

/**
 * Opens the barrier anew, whether it is broken or not. Those that wait get TURNLOCK_ERROR_BROKEN_BARRIER; the deaths so far are
 * forgotten. Errors as `turnlock_barrier_abort`.
 *
 * The caller promises:
 * `barrier` is a barrier handle.
 */
int32_t turnlock_barrier_reset(const struct turnlock_barrier *barrier);

/**
 * Says how many parties the barrier has, and how many of them wait at this moment. Either place may be NULL.
 * TURNLOCK_ERROR_BROKEN_BARRIER if it is broken, and both are written all the same; _NOT_FOUND, _DAMAGED.
 *
 * The caller promises:
 * `barrier` is a barrier handle; `parties` and `waiting` are NULL or writable.
 */
int32_t turnlock_barrier_query(const struct turnlock_barrier *barrier, uint32_t *parties, uint32_t *waiting);

/* Onces ------------------------------------------------------------------------------------------------- */

/**
 * `flags` of `turnlock_once_open`: do not create it.
 */
#define TURNLOCK_ONCE_MUST_EXIST 1

/**
 * `flags` of `turnlock_once_open`: what is done stays done when the machine boots, if it is created now.
 */
#define TURNLOCK_ONCE_ACROSS_BOOTS 2

/**
 * What is done once, by one participant of all that have the lock file open, as with `pthread_once`. If that one dies, the next one
 * does it. It stays done until a reset, or until the machine boots.
 */
typedef struct turnlock_once turnlock_once;

/**
 * Opens the once called `name` (1 to 63 bytes of UTF-8), creating it if the file has nothing of that name, and puts a handle into
 * `once`. `flags` are TURNLOCK_ONCE_... or'ed together, or 0.
 *
 * Errors as `turnlock_condition_open`.
 *
 * The caller promises:
 * `file` is a file handle, `name` a NUL-terminated string, `once` NULL or writable.
 */
int32_t turnlock_once_open(const struct turnlock_file *file,
                           const char *name,
                           uint32_t flags,
                           struct turnlock_once **once);

/**
 * Closes a once handle. TURNLOCK_ERROR_STILL_HELD, and nothing is done, while the calling thread is at it.
 *
 * The caller promises:
 * `once` is NULL or a once handle; no other thread is inside a call with it.
 */
int32_t turnlock_once_close(struct turnlock_once *once);

/**
 * Begins the work: TURNLOCK_DONE if it is done and there is nothing to do. 0, or TURNLOCK_OWNER_DEAD if the participant that was at it
 * before died: the calling thread does it now, and says `turnlock_once_complete`, or `turnlock_once_give_up`. While another participant
 * is at it, it waits, as long as `wait` and `time_ns` say: TURNLOCK_WAIT_... .
 *
 * TURNLOCK_ERROR_DEADLOCK if this thread is at it already; _WOULD_BLOCK, _TIMED_OUT; others as `turnlock_mutex_lock`.
 *
 * The caller promises:
 * `once` is a once handle.
 */
int32_t turnlock_once_begin(const struct turnlock_once *once,
                            uint32_t wait,
                            uint64_t time_ns);

/**
 * Says that the work is done, which the calling thread has begun. TURNLOCK_ERROR_NOT_OWNER if it has not.
 *
 * The caller promises:
 * `once` is a once handle.
 */
int32_t turnlock_once_complete(const struct turnlock_once *once);

/**
 * Says that the work, which the calling thread has begun, is not done: the next participant does it. TURNLOCK_ERROR_NOT_OWNER if it has
 * not.
 *
 * The caller promises:
 * `once` is a once handle.
 */
int32_t turnlock_once_give_up(const struct turnlock_once *once);

/**
 * Puts 1 into `done` if it is done, else 0. TURNLOCK_ERROR_NOT_FOUND, _DAMAGED.
 *
 * The caller promises:
 * `once` is a once handle; `done` is NULL or writable.
 */
int32_t turnlock_once_is_done(const struct turnlock_once *once, uint32_t *done);

/**
 * Has it be done again. Waits while a participant is at it. Errors as `turnlock_once_begin`.
 *
 * The caller promises:
 * `once` is a once handle.
 */
int32_t turnlock_once_reset(const struct turnlock_once *once);

/* Requests ---------------------------------------------------------------------------------------------- */

/**
 * `wait` of a request: as long as it takes. What a request gets that is all 0.
 */
#define TURNLOCK_WAIT_FOREVER 0

/**
 * `wait` of a request: not at all; where it would have to, TURNLOCK_ERROR_WOULD_BLOCK.
 */
#define TURNLOCK_WAIT_NEVER 1

/**
 * `wait` of a request: at most `time_ns` nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
 */
#define TURNLOCK_WAIT_AT_MOST 2

/**
 * `wait` of a request: until CLOCK_MONOTONIC shows `time_ns` nanoseconds, then TURNLOCK_ERROR_TIMED_OUT.
 */
#define TURNLOCK_WAIT_UNTIL 3

/**
 * A range of numbers.
 */
typedef struct turnlock_range {
  /**
   * The first number.
   */
  uint64_t start;
  /**
   * The number after the last one; TURNLOCK_RANGE_END: to the end, the last number included.
   */
  uint64_t end;
} turnlock_range;

/**
 * A key of a keyed lock: some bytes.
 */
typedef struct turnlock_key {
  /**
   * The bytes. NULL if there are none.
   */
  const void *data;
  /**
   * How many.
   */
  size_t size;
} turnlock_key;

/**
 * What a hold is to acquire. Set `size` to `sizeof(struct turnlock_request)`, `lock`, and everything else that you do not care
 * about to 0.
 */
typedef struct turnlock_request {
  /**
   * `sizeof(struct turnlock_request)`.
   */
  size_t size;
  /**
   * A lock of any kind: its handle, cast.
   */
  const struct turnlock_lock *lock;
  /**
   * TURNLOCK_MODE_...: exclusive (0) of all kinds, or shared of reader/writer locks, range locks and keyed locks, or upgradable
   * of reader/writer locks. Of semaphores and group locks 0.
   */
  uint32_t mode;
  /**
   * 0: there are no flags yet.
   */
  uint32_t flags;
  /**
   * Of a semaphore: how many permits, all at once; 0 = 1. Of other locks 0.
   */
  uint32_t permits;
  /**
   * TURNLOCK_WAIT_...: how long to wait, for all of it.
   */
  uint32_t wait;
  /**
   * With TURNLOCK_WAIT_AT_MOST and _UNTIL: nanoseconds. Else it is not looked at.
   */
  uint64_t time_ns;
  /**
   * Of a range lock: the ranges, one or more. Several are taken one after the other in an order of their own, so
   * that participants that take several this way do not wait for each other in a circle; ranges that overlap are
   * taken as one. All or none is held.
   */
  const struct turnlock_range *ranges;
  /**
   * How many; of other locks 0.
   */
  size_t range_count;
  /**
   * Of a keyed lock: the keys, likewise; those that are the same are taken once.
   */
  const struct turnlock_key *keys;
  /**
   * How many; of other locks 0.
   */
  size_t key_count;
  /**
   * Of a group lock: the group, any number. Of other locks 0.
   */
  uint64_t group;
} turnlock_request;

/* Holds ------------------------------------------------------------------------------------------------- */

/**
 * `turnlock_hold_options.flags`: programs that this process starts from now on keep the slot alive, even when
 * this process is killed: they inherit the descriptor that does.
 */
#define TURNLOCK_HOLD_INHERIT_TO_CHILDREN 1

/**
 * `turnlock_hold_options.flags`: keep the slot by an open descriptor, as on file systems where a mapping does not:
 * a `close` of it (a stray one, `closefrom`) is then taken for the hold's death.
 */
#define TURNLOCK_HOLD_BY_DESCRIPTOR 2

/**
 * `turnlock_hold_options.flags`: the end of what keeps the slot (the last copy of its descriptor is closed) is an
 * ordinary end where the lock was created with TURNLOCK_..._RELEASE_ON_DEATH: no participant is told of a death, as
 * with flock(2). For a hold that is transferred to an open file (`turnlock_hold_transfer_to_fd`). Implies
 * TURNLOCK_HOLD_BY_DESCRIPTOR.
 */
#define TURNLOCK_HOLD_RELEASE_ON_CLOSE 4

/**
 * `turnlock_hold_options.flags`: `slot` says which slot of the file it takes: its place on a ring. With a slot chosen for each
 * member, the order of a ring does not depend on which of them starts first. TURNLOCK_ERROR_IN_USE if it is taken.
 */
#define TURNLOCK_HOLD_AT_SLOT 8

/**
 * A hold: what an acquisition belongs to that is not the calling thread's. Any thread may acquire by it, release it, ask for its
 * fencing token: for work that moves between threads (goroutines, promises, tasks), and for what is released elsewhere than it
 * was acquired. It has one acquisition at a time, of one lock: what that lock gives at once, several ranges or keys too.
 *
 * It takes a slot of the file, and one more for each further range or key. A thread that acquires by two holds what conflicts
 * waits for itself.
 */
typedef struct turnlock_hold turnlock_hold;

/**
 * How to open a hold. Set `size` to `sizeof(struct turnlock_hold_options)` and everything else that you do not care about to 0.
 * All 0 is as no options: its slots come from those that the open file keeps, and go back to them.
 */
typedef struct turnlock_hold_options {
  /**
   * `sizeof(struct turnlock_hold_options)`.
   */
  size_t size;
  /**
   * What it calls itself in `turnlock status` and in the owner-dead notice, up to 63 bytes of UTF-8; NULL = the file's
   * label.
   */
  const char *label;
  /**
   * TURNLOCK_HOLD_... or'ed together.
   */
  uint32_t flags;
  /**
   * With TURNLOCK_HOLD_AT_SLOT the slot, from 0; else 0.
   */
  uint32_t slot;
} turnlock_hold_options;

/**
 * Opens a hold in the file, and puts its handle into `hold`. `options` may be NULL.
 *
 * TURNLOCK_ERROR_PARTICIPANTS_FULL if there is no slot, _IN_USE if the one that is chosen is taken;
 * `turnlock_last_error_message` names the programs that have them. _INVALID_ARGUMENT, _CLOSED, _REPLACED, _DAMAGED, _FILESYSTEM, _PERMISSION, _NO_MEMORY.
 *
 * The caller promises:
 * `file` is a file handle, `options` NULL or a struct whose `size` is right, `hold` NULL or writable.
 */
int32_t turnlock_hold_open(const struct turnlock_file *file,
                           const struct turnlock_hold_options *options,
                           struct turnlock_hold **hold);

/**
 * A hold that stands for the calling thread (which is given a slot now, if it has none yet), for another thread to cancel its
 * waits; for nothing else: `turnlock_hold_acquire` refuses it with TURNLOCK_ERROR_INVALID_ARGUMENT.
 *
 * The caller promises:
 * `file` is a file handle; `hold` is NULL or writable.
 */
int32_t turnlock_hold_of_thread(const struct turnlock_file *file,
                                struct turnlock_hold **hold);

/**
 * Closes a hold; its slots go back to those that the open file keeps, or are given up.
 * TURNLOCK_ERROR_STILL_HELD, and nothing is done, while something is held by it; _HOLD_BUSY, likewise, while it is in
 * another call, or has begun an acquisition (`turnlock_hold_cancel_acquire` takes that back).
 *
 * The caller promises:
 * `hold` is NULL or a hold handle; no other thread is inside a call with it.
 */
int32_t turnlock_hold_close(struct turnlock_hold *hold);

/**
 * Acquires what the request says: of a lock of any kind, in the same file. 0, or TURNLOCK_OWNER_DEAD: it is yours and the previous
 * holder died inside, so repair the data and call `turnlock_hold_mark_consistent`. `acquired` may be NULL; of several ranges or
 * keys it tells the largest fencing token, which stands for all of them.
 *
 * TURNLOCK_ERROR_DEADLOCK if something of this lock is held by it already, _STILL_HELD if something of another lock
 * is; _HOLD_BUSY while it is in another call;
 * _INVALID_ARGUMENT for a request of another size, a mode that the kind of the lock does not have, parts that do not fit it, and
 * a lock of another file than the hold's; _WOULD_BLOCK, _TIMED_OUT if the request does not wait so long; _PERMITS, _EMPTY_RANGE;
 * _PARTICIPANTS_FULL if there is not a slot for each of several parts; others as `turnlock_mutex_lock`. Nothing is held then.
 *
 * The caller promises:
 * `hold` is a hold handle; `request` is NULL, or readable as far as its `size` says, with a handle of a lock, and ranges and keys
 * that are readable; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_hold_acquire(const struct turnlock_hold *hold,
                              const struct turnlock_request *request,
                              struct turnlock_acquired *acquired);

/**
 * Releases what is held, from any thread. To release after TURNLOCK_OWNER_DEAD without `turnlock_hold_mark_consistent` closes a
 * mutex, a ring, or a reader/writer lock that was held exclusively, for everyone until a reset, if deaths are informed of there
 * (its death policy is *inform*). Of other locks the next holder is told again.
 *
 * TURNLOCK_ERROR_NOT_OWNER if nothing is held. _HOLD_BUSY, and nothing is done, while it is in another call: one that
 * waits, or one of this thread, which a signal handler has interrupted. It is held still then: release it again when that call
 * is over. (A brief call of another thread is waited for, for a second or a little more.) _DAMAGED, _REPLACED if something
 * happened to the file (it is released all the same).
 *
 * The caller promises:
 * `hold` is a hold handle.
 */
int32_t turnlock_hold_release(const struct turnlock_hold *hold);

/**
 * Gives `permits` of the permits back that are held of a semaphore.
 *
 * TURNLOCK_ERROR_NOT_OWNER if none are held; _TOO_MANY_RELEASED if fewer are; _INVALID_ARGUMENT for none, and if what is held
 * is not of a semaphore; _HOLD_BUSY.
 *
 * The caller promises:
 * `hold` is a hold handle.
 */
int32_t turnlock_hold_release_permits(const struct turnlock_hold *hold,
                                      uint32_t permits);

/**
 * `turnlock_rwlock_upgrade` of what is held upgradable. `wait` is TURNLOCK_WAIT_..., `time_ns` as in `turnlock_request`. With
 * an error it is held upgradable as before.
 *
 * TURNLOCK_ERROR_NOT_UPGRADABLE if it is not held upgradable; _WOULD_BLOCK, _TIMED_OUT, _CANCELLED, _INTERRUPTED; _NOT_OWNER;
 * _HOLD_BUSY.
 *
 * The caller promises:
 * `hold` is a hold handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_hold_upgrade(const struct turnlock_hold *hold,
                              uint32_t wait,
                              uint64_t time_ns,
                              struct turnlock_acquired *acquired);

/**
 * `turnlock_rwlock_downgrade` of what is held, to `mode`: TURNLOCK_MODE_UPGRADABLE or TURNLOCK_MODE_SHARED.
 *
 * TURNLOCK_ERROR_NOT_UPGRADABLE if that is not less than it is held as; _NOT_OWNER; _INVALID_ARGUMENT; _HOLD_BUSY.
 *
 * The caller promises:
 * `hold` is a hold handle.
 */
int32_t turnlock_hold_downgrade(const struct turnlock_hold *hold,
                                uint32_t mode);

/**
 * Releases as a dying holder does, since the data were left half-done (an exception, say): the next holder is told. Otherwise as
 * `turnlock_hold_release`. The hold is out of a ring of which it is a member until its next turn is asked for.
 *
 * The caller promises:
 * `hold` is a hold handle.
 */
int32_t turnlock_hold_abandon(const struct turnlock_hold *hold);

/**
 * Says, while the lock is held after TURNLOCK_OWNER_DEAD, that the data are consistent again; of several ranges or keys, that
 * those of all are. TURNLOCK_ERROR_NOT_INCONSISTENT if no holder died; _NOT_EXCLUSIVE if it is held beside others;
 * _NOT_OWNER; _HOLD_BUSY.
 *
 * The caller promises:
 * `hold` is a hold handle.
 */
int32_t turnlock_hold_mark_consistent(const struct turnlock_hold *hold);

/**
 * Puts into `fencing_token` that of what is held: of several ranges or keys, the largest. TURNLOCK_ERROR_NOT_OWNER if nothing is;
 * _HOLD_BUSY.
 *
 * The caller promises:
 * `hold` is a hold handle; `fencing_token` is NULL or writable.
 */
int32_t turnlock_hold_fencing_token(const struct turnlock_hold *hold,
                                    uint64_t *fencing_token);

/**
 * Whether another participant waits while the lock is held: TURNLOCK_CONTENDED, or TURNLOCK_OK. As `turnlock_lock_is_contended`,
 * from any thread; TURNLOCK_ERROR_HOLD_BUSY while it is in another call.
 *
 * The caller promises:
 * `hold` is a hold handle.
 */
int32_t turnlock_hold_is_contended(const struct turnlock_hold *hold);

/**
 * The hold, if it is a member of the ring, leaves it, as `turnlock_ring_leave`: it is passed over until its next turn is asked
 * for. TURNLOCK_ERROR_STILL_HELD while it has the turn; _HOLD_BUSY.
 *
 * The caller promises:
 * `hold` is a hold handle and `ring` a ring handle.
 */
int32_t turnlock_hold_leave_ring(const struct turnlock_hold *hold,
                                 const struct turnlock_ring *ring);

/**
 * Ends this hold's wait with TURNLOCK_ERROR_CANCELLED, from any thread: the present wait, or else
 * the next call that would have to wait. Never lost; never disturbs a call that need not wait. The wait of an acquisition
 * that was begun is ended too: `turnlock_hold_finish_acquire` says so.
 * TURNLOCK_ERROR_CLOSED after a transfer (`turnlock_hold_transfer_to_fd`), and in a forked child.
 *
 * The caller promises:
 * `hold` is a hold handle.
 */
int32_t turnlock_hold_cancel(const struct turnlock_hold *hold);

/**
 * Takes back a cancel that no wait has taken yet, if there is one. TURNLOCK_ERROR_CLOSED as `turnlock_hold_cancel`.
 *
 * The caller promises:
 * `hold` is a hold handle.
 */
int32_t turnlock_hold_clear_cancel(const struct turnlock_hold *hold);

/**
 * Transfers the hold's slot, and what it holds, to the open file that this process has as `descriptor`: it stays held
 * as long as any copy of that descriptor is open, in whichever process (a shell's own, which its commands inherit; one
 * that came over a socket), as with flock(2). What `turnlock lock --fd` does. The hold is opened with
 * TURNLOCK_HOLD_RELEASE_ON_CLOSE or _BY_DESCRIPTOR. `pid` is the process whose it is shown as; 0 = the calling one's.
 *
 * From here on calls by the hold give TURNLOCK_ERROR_CLOSED; close it as ever. What it held is released by
 * `turnlock_file_unlock_transferred`, or passes on when the last copy is closed: as from a dead owner or, with
 * TURNLOCK_HOLD_RELEASE_ON_CLOSE and a lock that was created with TURNLOCK_..._RELEASE_ON_DEATH, with no more ado.
 *
 * TURNLOCK_ERROR_INVALID_ARGUMENT: `descriptor` is none of this lock file that is open for reading, the hold is not kept
 * by a descriptor, or holds several parts; _HOLD_BUSY: it is in another call; _CLOSED, _FILESYSTEM, _SYSTEM. All
 * is as before then.
 *
 * The caller promises:
 * `hold` is a hold handle. While the call runs, `descriptor` is not closed.
 */
int32_t turnlock_hold_transfer_to_fd(const struct turnlock_hold *hold,
                                     int32_t descriptor,
                                     uint32_t pid);

/**
 * Begins to acquire what the request says, and does not wait for it: for programs with an event loop. Where nothing is in the
 * way it is acquired before this returns. `turnlock_hold_finish_acquire` says what came of it, once `turnlock_hold_fd` is readable;
 * it may be asked at once. The request, its ranges and its keys are not needed after this call; its lock's handle may be closed.
 *
 * The time limit of the request counts from here: where it passes, finishing gives TURNLOCK_ERROR_TIMED_OUT. Where the request is
 * not to wait, this gives TURNLOCK_ERROR_WOULD_BLOCK, and nothing was begun.
 *
 * Until it is finished or cancelled, other calls by the hold give TURNLOCK_ERROR_HOLD_BUSY. Those of a process that wait for the same
 * lock (or range, or key) this way are served in the order in which they began. A thread of the library waits for them, one for each
 * lock (range, key) that is waited for and one for each that waits for several ranges or keys, or for the turn of a ring: without
 * signals, with a small stack, ended two seconds after the last wait. It asks `should_stop_waiting`, where the file has that. A forked
 * child has none of it: there the hold is closed.
 *
 * Errors as `turnlock_hold_acquire`: what is wrong with the request or the lock is said here, what becomes of the wait at the end.
 * TURNLOCK_ERROR_HOLD_BUSY if one was begun already. Nothing was begun then. No call for a signal handler.
 *
 * The caller promises:
 * As `turnlock_hold_acquire`.
 */
int32_t turnlock_hold_begin_acquire(const struct turnlock_hold *hold,
                                    const struct turnlock_request *request);

/**
 * Puts into `descriptor` one that is readable (POLLIN, EPOLLIN) from the moment at which an acquisition that was begun can be
 * finished until it is finished or cancelled: level-triggered, an eventfd(2) with EFD_CLOEXEC. It is always the same one for a hold,
 * also between acquisitions, so that an event loop may watch it as long as the hold is open. Do not read, write or close it:
 * `turnlock_hold_close` closes it. Take it out of the event loop before that, and in a forked child.
 *
 * TURNLOCK_ERROR_SYSTEM if the process has as many descriptors as it can; _CLOSED in a forked child, and after a transfer;
 * _INVALID_ARGUMENT. May be called before, during and after an acquisition.
 *
 * The caller promises:
 * `hold` is a hold handle; `descriptor` is NULL or writable.
 */
int32_t turnlock_hold_fd(const struct turnlock_hold *hold,
                         int32_t *descriptor);

/**
 * Says what came of the acquisition that was begun, and does not wait. 0, or TURNLOCK_OWNER_DEAD: it is yours, as after
 * `turnlock_hold_acquire`. `acquired` may be NULL.
 *
 * TURNLOCK_ERROR_WOULD_BLOCK: it waits still, and this is to be called again. With any other error nothing is held, and it is over:
 * _TIMED_OUT, _CANCELLED (by `turnlock_hold_cancel`), _INTERRUPTED, _PARTICIPANTS_FULL, _NOT_RECOVERABLE, _NOT_FOUND (the lock was
 * removed), _SYSTEM (no thread is to be had) and others as `turnlock_hold_acquire`. _INVALID_ARGUMENT: none was begun;
 * _CLOSED: in a forked child. No call for a signal handler.
 *
 * The caller promises:
 * `hold` is a hold handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_hold_finish_acquire(const struct turnlock_hold *hold,
                                     struct turnlock_acquired *acquired);

/**
 * Takes back the acquisition that was begun: it leaves the queue. If it was acquired meanwhile it is released, and a death that it
 * would have been told of is told to the next. When this returns the hold has nothing and is in no call. 0, also if none was begun.
 *
 * It may wait for the thread that waited, which takes as long as it does to run. TURNLOCK_ERROR_CLOSED in a forked child; _DAMAGED,
 * _REPLACED as `turnlock_hold_release`. No call for a signal handler.
 *
 * The caller promises:
 * `hold` is a hold handle.
 */
int32_t turnlock_hold_cancel_acquire(const struct turnlock_hold *hold);

/**
 * Does what `turnlock_condition_wait` does with the lock that the hold has: a mutex, or a reader/writer lock in exclusive mode.
 * Meanwhile the hold is in a call, and other calls on it are TURNLOCK_ERROR_HOLD_BUSY; `turnlock_hold_cancel` ends the wait.
 *
 * The caller promises:
 * `hold` is a hold handle, `condition` a condition handle; `acquired` is NULL, or writable as far as its `size` says.
 */
int32_t turnlock_hold_wait(const struct turnlock_hold *hold,
                           const struct turnlock_condition *condition,
                           uint32_t wait,
                           uint64_t time_ns,
                           struct turnlock_acquired *acquired);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* TURNLOCK_H */
