package turnlock;

import com.sun.jna.Callback;
import com.sun.jna.Memory;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.util.concurrent.TimeoutException;

/** The functions of {@code turnlock.h}, mapped directly. A negative status is a failure: {@link #check} makes it one. */
final class Native {
    static final int ABI_VERSION = 4;
    static final int OWNER_DEAD = 1;
    static final int CONTENDED = 2;
    static final int DONE = 3;
    static final int FILE_MUST_EXIST = 1;
    static final int FILE_GROUP = 2;
    static final int FILE_FULL_FENCES = 4;
    static final int MUTEX_MUST_EXIST = 1;
    static final int MUTEX_STRICT = 2;
    static final int MUTEX_RELEASE_ON_DEATH = 4;
    static final int MUTEX_INFORM_ON_DEATH = 16;
    static final int MUTEX_RELEASE_BY_DEFAULT = 32;
    static final int MUTEX_RECURSIVE = 8;
    static final int RING_MUST_EXIST = 1;
    static final int RING_MEMBER = 2;
    static final int HOLD_AT_SLOT = 8;
    static final int RWLOCK_MUST_EXIST = 1;
    static final int RWLOCK_STRICT = 2;
    static final int SEMAPHORE_MUST_EXIST = 1;
    static final int SEMAPHORE_STRICT = 2;
    static final int RANGELOCK_MUST_EXIST = 1;
    static final int KEYEDLOCK_MUST_EXIST = 1;
    static final int GROUPLOCK_MUST_EXIST = 1;
    static final int CONDITION_MUST_EXIST = 1;
    static final int EVENT_MUST_EXIST = 1;
    static final int BARRIER_MUST_EXIST = 1;
    static final int ONCE_MUST_EXIST = 1;
    static final int ONCE_ACROSS_BOOTS = 2;
    static final int INFO_WHOLE_KEY = 8;
    static final int MODE_EXCLUSIVE = 0;
    static final int MODE_SHARED = 1;
    static final int MODE_UPGRADABLE = 2;
    static final int WAIT_FOREVER = 0;
    static final int WAIT_NEVER = 1;
    static final int WAIT_AT_MOST = 2;
    static final int ALGORITHM_K_STATE = 2;
    static final int ALGORITHM_RAYNAL = 3;
    static final int ALGORITHM_SUM = 4;

    private static boolean isReady;

    private Native() {}

    /** {@code should_stop_waiting} of a file's options. */
    interface WaitToEnd extends Callback {
        int shouldStopWaiting(Pointer context);
    }

    static native int turnlock_file_open(byte[] path, Pointer options, PointerByReference file);

    static native int turnlock_file_open_descriptor(int descriptor, Pointer options, PointerByReference file);

    static native int turnlock_file_remove_lock(Pointer file, byte[] name);

    static native int turnlock_file_path(Pointer file, long capacity, byte[] path, LongByReference length);

    static native int turnlock_file_close(Pointer file);

    static native int turnlock_hold_open(Pointer file, Pointer options, PointerByReference hold);

    static native int turnlock_hold_close(Pointer hold);

    static native int turnlock_hold_acquire(Pointer hold, Pointer request, Pointer acquired);

    static native int turnlock_hold_release(Pointer hold);

    static native int turnlock_hold_release_permits(Pointer hold, int permits);

    static native int turnlock_hold_upgrade(Pointer hold, int wait, long nanoseconds, Pointer acquired);

    static native int turnlock_hold_downgrade(Pointer hold, int mode);

    static native int turnlock_hold_abandon(Pointer hold);

    static native int turnlock_hold_mark_consistent(Pointer hold);

    static native int turnlock_hold_is_contended(Pointer hold);

    static native int turnlock_hold_leave_ring(Pointer hold, Pointer ring);

    static native int turnlock_hold_cancel(Pointer hold);

    static native int turnlock_hold_clear_cancel(Pointer hold);

    static native int turnlock_hold_fencing_token(Pointer hold, LongByReference token);

    static native int turnlock_hold_wait(Pointer hold, Pointer condition, int wait, long nanoseconds, Pointer acquired);

    static native int turnlock_lock_death_policy(Pointer lock, IntByReference policy);

    static native int turnlock_lock_patience(Pointer lock, LongByReference patience);

    static native int turnlock_lock_holders(Pointer lock, long capacity, Pointer infos, LongByReference count);

    static native int turnlock_lock_waiters(Pointer lock, long capacity, Pointer infos, LongByReference count);

    static native int turnlock_lock_previous_owner(Pointer lock, Pointer owner);

    static native int turnlock_lock_still_owner(Pointer lock);

    static native int turnlock_lock_reset_for(Pointer lock, long nanoseconds);

    static native int turnlock_mutex_open(Pointer file, byte[] name, Pointer options, PointerByReference mutex);

    static native int turnlock_mutex_close(Pointer mutex);

    static native int turnlock_ring_open(Pointer file, byte[] name, Pointer options, PointerByReference ring);

    static native int turnlock_ring_close(Pointer ring);

    static native int turnlock_rwlock_open(Pointer file, byte[] name, Pointer options, PointerByReference rwlock);

    static native int turnlock_rwlock_close(Pointer rwlock);

    static native int turnlock_semaphore_open(Pointer file, byte[] name, Pointer options, PointerByReference semaphore);

    static native int turnlock_semaphore_close(Pointer semaphore);

    static native int turnlock_semaphore_resize(Pointer semaphore, int permits);

    static native int turnlock_semaphore_permits(Pointer semaphore, IntByReference permits);

    static native int turnlock_rangelock_open(Pointer file, byte[] name, Pointer options, PointerByReference rangelock);

    static native int turnlock_rangelock_close(Pointer rangelock);

    static native int turnlock_keyedlock_open(Pointer file, byte[] name, Pointer options, PointerByReference keyedlock);

    static native int turnlock_keyedlock_close(Pointer keyedlock);

    static native int turnlock_grouplock_open(Pointer file, byte[] name, Pointer options, PointerByReference grouplock);

    static native int turnlock_grouplock_close(Pointer grouplock);

    static native int turnlock_condition_open(Pointer file, byte[] name, int flags, PointerByReference condition);

    static native int turnlock_condition_close(Pointer condition);

    static native int turnlock_condition_notify_one(Pointer condition, IntByReference notified);

    static native int turnlock_condition_notify_all(Pointer condition, IntByReference notified);

    static native int turnlock_event_open(Pointer file, byte[] name, int flags, PointerByReference event);

    static native int turnlock_event_close(Pointer event);

    static native int turnlock_event_set(Pointer event);

    static native int turnlock_event_clear(Pointer event);

    static native int turnlock_event_is_set(Pointer event, IntByReference set);

    static native int turnlock_event_wait(Pointer event, int wait, long nanoseconds);

    static native int turnlock_barrier_open(Pointer file, byte[] name, int parties, int flags, PointerByReference barrier);

    static native int turnlock_barrier_close(Pointer barrier);

    static native int turnlock_barrier_wait(Pointer barrier, int wait, long nanoseconds, IntByReference isLast);

    static native int turnlock_barrier_abort(Pointer barrier);

    static native int turnlock_barrier_reset(Pointer barrier);

    static native int turnlock_barrier_query(Pointer barrier, IntByReference parties, IntByReference waiting);

    static native int turnlock_once_open(Pointer file, byte[] name, int flags, PointerByReference once);

    static native int turnlock_once_close(Pointer once);

    static native int turnlock_once_begin(Pointer once, int wait, long nanoseconds);

    static native int turnlock_once_complete(Pointer once);

    static native int turnlock_once_give_up(Pointer once);

    static native int turnlock_once_is_done(Pointer once, IntByReference done);

    static native int turnlock_once_reset(Pointer once);

    static native Pointer turnlock_last_error_message();

    static native Pointer turnlock_version();

    /** Loads the library, once. Refuses one of another ABI version before anything else of it is called. */
    static synchronized void load() {
        if (isReady) {
            return;
        }
        String named = System.getProperty("turnlock.library", System.getenv("TURNLOCK_LIBRARY"));
        NativeLibrary library;
        try {
            library = NativeLibrary.getInstance(named != null ? named : "libturnlock.so." + ABI_VERSION);
        } catch (UnsatisfiedLinkError error) {
            throw new TurnlockException(Status.UNSUPPORTED, "libturnlock is not found (" + error.getMessage()
                    + "): install it, or say where it is in the property turnlock.library or in TURNLOCK_LIBRARY");
        }
        int found = library.getFunction("turnlock_abi_version").invokeInt(new Object[0]);
        if (found != ABI_VERSION) {
            throw new TurnlockException(Status.UNSUPPORTED, "the libturnlock that is loaded has ABI version " + found
                    + ", and this package was made for " + ABI_VERSION + ": load that one");
        }
        com.sun.jna.Native.register(Native.class, library);
        isReady = true;
    }

    /** The status, if it is not a failure. To be called at once: the story is that of this thread's last failure. */
    static int check(int status) {
        if (status < 0) {
            throw failure(status);
        }
        return status;
    }

    static TurnlockException failure(int status) {
        return new TurnlockException(Status.of(status), turnlock_last_error_message().getString(0, "UTF-8"));
    }

    /** What {@code turnlock_last_error_message} says of the wait of this thread that has just passed its limit. */
    static TimeoutException timedOut() {
        return new TimeoutException(turnlock_last_error_message().getString(0, "UTF-8"));
    }

    /** Memory of so many bytes that begins with its size, as every struct of the ABI does; all else is 0. */
    static Memory struct(long size) {
        Memory memory = new Memory(size);
        memory.clear();
        memory.setLong(0, size);
        return memory;
    }
}
