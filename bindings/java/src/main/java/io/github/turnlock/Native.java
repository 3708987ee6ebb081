package io.github.turnlock;

import com.sun.jna.Callback;
import com.sun.jna.Memory;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;

/** The functions of {@code turnlock.h}, mapped directly. A negative status is a failure: {@link #check} makes it one. */
final class Native {
    static final int ABI_VERSION = 3;
    static final int OWNER_DEAD = 1;
    static final int CONTENDED = 2;
    static final int FILE_GROUP = 1;
    static final int FILE_MUST_EXIST = 2;
    static final int FILE_FULL_FENCES = 4;
    static final int MUTEX_MUST_EXIST = 1;
    static final int MUTEX_STRICT = 2;
    static final int MUTEX_RELEASE_ON_DEATH = 4;
    static final int MUTEX_INFORM_ON_DEATH = 16;
    static final int MUTEX_RELEASE_BY_DEFAULT = 32;
    static final int MUTEX_RECURSIVE = 8;
    static final int RING_MUST_EXIST = 1;
    static final int RING_STANDING = 2;
    static final int RWLOCK_MUST_EXIST = 1;
    static final int RWLOCK_STRICT = 2;
    static final int SEMAPHORE_MUST_EXIST = 1;
    static final int SEMAPHORE_STRICT = 2;
    static final int RANGELOCK_MUST_EXIST = 1;
    static final int KEYEDLOCK_MUST_EXIST = 1;
    static final int ALGORITHM_K_STATE = 2;
    static final int ALGORITHM_RAYNAL = 3;
    static final int ALGORITHM_SUM = 4;

    private static boolean isReady;

    private Native() {}

    /** {@code is_wait_to_end} of a file's options. */
    interface WaitToEnd extends Callback {
        int isWaitToEnd(Pointer context);
    }

    static native int turnlock_file_open(byte[] path, Pointer options, PointerByReference file);

    static native int turnlock_file_open_descriptor(int descriptor, Pointer options, PointerByReference file);

    static native int turnlock_file_remove_lock(Pointer file, byte[] name);

    static native int turnlock_file_path(Pointer file, long capacity, byte[] path, LongByReference length);

    static native int turnlock_file_close(Pointer file);

    static native int turnlock_participant_open(Pointer file, Pointer options, PointerByReference participant);

    static native int turnlock_participant_cancel(Pointer participant);

    static native int turnlock_participant_clear_cancel(Pointer participant);

    static native int turnlock_participant_close(Pointer participant);

    static native int turnlock_mutex_open(Pointer file, byte[] name, Pointer options, PointerByReference mutex);

    static native int turnlock_mutex_death_policy(Pointer mutex, IntByReference policy);

    static native int turnlock_ring_death_policy(Pointer ring, IntByReference policy);

    static native int turnlock_rwlock_death_policy(Pointer rwlock, IntByReference policy);

    static native int turnlock_mutex_patience(Pointer mutex, LongByReference patience);

    static native int turnlock_mutex_close(Pointer mutex);

    static native int turnlock_mutex_lock_as(Pointer mutex, Pointer participant, Pointer acquired);

    static native int turnlock_mutex_try_lock_as(Pointer mutex, Pointer participant, Pointer acquired);

    static native int turnlock_mutex_lock_for_as(Pointer mutex, Pointer participant, long nanoseconds, Pointer acquired);

    static native int turnlock_mutex_unlock_as(Pointer mutex, Pointer participant);

    static native int turnlock_mutex_abandon_as(Pointer mutex, Pointer participant);

    static native int turnlock_mutex_mark_consistent_as(Pointer mutex, Pointer participant);

    static native int turnlock_mutex_is_contended_as(Pointer mutex, Pointer participant);

    static native int turnlock_mutex_reset_for(Pointer mutex, long nanoseconds);

    static native int turnlock_mutex_previous_owner(Pointer mutex, Pointer owner);

    static native int turnlock_mutex_holder(Pointer mutex, Pointer holder);

    static native int turnlock_mutex_waiters(Pointer mutex, long capacity, Pointer waiters, LongByReference count);

    static native int turnlock_ring_open(Pointer file, byte[] name, Pointer options, PointerByReference ring);

    static native int turnlock_ring_close(Pointer ring);

    static native int turnlock_ring_lock_as(Pointer ring, Pointer participant, Pointer acquired);

    static native int turnlock_ring_try_lock_as(Pointer ring, Pointer participant, Pointer acquired);

    static native int turnlock_ring_lock_for_as(Pointer ring, Pointer participant, long nanoseconds, Pointer acquired);

    static native int turnlock_ring_unlock_as(Pointer ring, Pointer participant);

    static native int turnlock_ring_abandon_as(Pointer ring, Pointer participant);

    static native int turnlock_ring_mark_consistent_as(Pointer ring, Pointer participant);

    static native int turnlock_ring_is_contended_as(Pointer ring, Pointer participant);

    static native int turnlock_ring_reset_for(Pointer ring, long nanoseconds);

    static native int turnlock_ring_previous_owner(Pointer ring, Pointer owner);

    static native int turnlock_ring_holder(Pointer ring, Pointer holder);

    static native int turnlock_ring_waiters(Pointer ring, long capacity, Pointer waiters, LongByReference count);

    static native int turnlock_ring_leave_as(Pointer ring, Pointer participant);

    static native int turnlock_rwlock_open(Pointer file, byte[] name, Pointer options, PointerByReference rwlock);

    static native int turnlock_rwlock_close(Pointer rwlock);

    static native int turnlock_rwlock_try_lock_exclusive_as(Pointer rwlock, Pointer participant, Pointer acquired);

    static native int turnlock_rwlock_lock_exclusive_for_as(Pointer rwlock, Pointer participant, long nanoseconds, Pointer acquired);

    static native int turnlock_rwlock_try_lock_shared_as(Pointer rwlock, Pointer participant, Pointer acquired);

    static native int turnlock_rwlock_lock_shared_for_as(Pointer rwlock, Pointer participant, long nanoseconds, Pointer acquired);

    static native int turnlock_rwlock_try_lock_upgradable_as(Pointer rwlock, Pointer participant, Pointer acquired);

    static native int turnlock_rwlock_lock_upgradable_for_as(Pointer rwlock, Pointer participant, long nanoseconds, Pointer acquired);

    static native int turnlock_rwlock_upgrade_for_as(Pointer rwlock, Pointer participant, long nanoseconds, Pointer acquired);

    static native int turnlock_rwlock_try_upgrade_as(Pointer rwlock, Pointer participant, Pointer acquired);

    static native int turnlock_rwlock_downgrade_as(Pointer rwlock, Pointer participant, int mode);

    static native int turnlock_rwlock_unlock_as(Pointer rwlock, Pointer participant);

    static native int turnlock_rwlock_abandon_as(Pointer rwlock, Pointer participant);

    static native int turnlock_rwlock_mark_consistent_as(Pointer rwlock, Pointer participant);

    static native int turnlock_rwlock_is_contended_as(Pointer rwlock, Pointer participant);

    static native int turnlock_rwlock_reset_for(Pointer rwlock, long nanoseconds);

    static native int turnlock_rwlock_previous_owner(Pointer rwlock, Pointer owner);

    static native int turnlock_rwlock_holders(Pointer rwlock, long capacity, Pointer infos, LongByReference count);

    static native int turnlock_rwlock_waiters(Pointer rwlock, long capacity, Pointer infos, LongByReference count);

    static native int turnlock_semaphore_open(Pointer file, byte[] name, Pointer options, PointerByReference semaphore);

    static native int turnlock_semaphore_close(Pointer semaphore);

    static native int turnlock_semaphore_try_acquire_as(Pointer semaphore, Pointer participant, int permits, Pointer acquired);

    static native int turnlock_semaphore_acquire_for_as(
            Pointer semaphore, Pointer participant, int permits, long nanoseconds, Pointer acquired);

    static native int turnlock_semaphore_release_as(Pointer semaphore, Pointer participant, int permits);

    static native int turnlock_semaphore_resize(Pointer semaphore, int permits);

    static native int turnlock_semaphore_permits(Pointer semaphore, IntByReference permits);

    static native int turnlock_semaphore_holders(Pointer semaphore, long capacity, Pointer infos, LongByReference count);

    static native int turnlock_semaphore_waiters(Pointer semaphore, long capacity, Pointer infos, LongByReference count);

    static native int turnlock_rangelock_open(Pointer file, byte[] name, Pointer options, PointerByReference rangelock);

    static native int turnlock_rangelock_close(Pointer rangelock);

    static native int turnlock_rangelock_try_lock_exclusive_as(
            Pointer rangelock, Pointer participant, long start, long end, Pointer acquired);

    static native int turnlock_rangelock_lock_exclusive_for_as(
            Pointer rangelock, Pointer participant, long start, long end, long nanoseconds, Pointer acquired);

    static native int turnlock_rangelock_try_lock_shared_as(
            Pointer rangelock, Pointer participant, long start, long end, Pointer acquired);

    static native int turnlock_rangelock_lock_shared_for_as(
            Pointer rangelock, Pointer participant, long start, long end, long nanoseconds, Pointer acquired);

    static native int turnlock_rangelock_unlock_as(Pointer rangelock, Pointer participant);

    static native int turnlock_rangelock_mark_consistent_as(Pointer rangelock, Pointer participant);

    static native int turnlock_rangelock_is_contended_as(Pointer rangelock, Pointer participant);

    static native int turnlock_rangelock_reset_for(Pointer rangelock, long nanoseconds);

    static native int turnlock_rangelock_previous_owner(Pointer rangelock, Pointer owner);

    static native int turnlock_rangelock_holders(Pointer rangelock, long capacity, Pointer infos, LongByReference count);

    static native int turnlock_rangelock_waiters(Pointer rangelock, long capacity, Pointer infos, LongByReference count);

    static native int turnlock_keyedlock_open(Pointer file, byte[] name, Pointer options, PointerByReference keyedlock);

    static native int turnlock_keyedlock_close(Pointer keyedlock);

    static native int turnlock_keyedlock_try_lock_exclusive_as(
            Pointer keyedlock, Pointer participant, byte[] key, long size, Pointer acquired);

    static native int turnlock_keyedlock_lock_exclusive_for_as(
            Pointer keyedlock, Pointer participant, byte[] key, long size, long nanoseconds, Pointer acquired);

    static native int turnlock_keyedlock_try_lock_shared_as(
            Pointer keyedlock, Pointer participant, byte[] key, long size, Pointer acquired);

    static native int turnlock_keyedlock_lock_shared_for_as(
            Pointer keyedlock, Pointer participant, byte[] key, long size, long nanoseconds, Pointer acquired);

    static native int turnlock_keyedlock_unlock_as(Pointer keyedlock, Pointer participant);

    static native int turnlock_keyedlock_mark_consistent_as(Pointer keyedlock, Pointer participant);

    static native int turnlock_keyedlock_is_contended_as(Pointer keyedlock, Pointer participant);

    static native int turnlock_keyedlock_reset_for(Pointer keyedlock, long nanoseconds);

    static native int turnlock_keyedlock_previous_owner(Pointer keyedlock, Pointer owner);

    static native int turnlock_keyedlock_holders(Pointer keyedlock, long capacity, Pointer infos, LongByReference count);

    static native int turnlock_keyedlock_waiters(Pointer keyedlock, long capacity, Pointer infos, LongByReference count);

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

    /** Memory of so many bytes that begins with its size, as every struct of the ABI does; all else is 0. */
    static Memory struct(long size) {
        Memory memory = new Memory(size);
        memory.clear();
        memory.setLong(0, size);
        return memory;
    }
}
