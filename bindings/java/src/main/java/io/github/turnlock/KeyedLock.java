package io.github.turnlock;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/** A lock for each key, which is any bytes. Keys need not be created, and take no room while nobody wants them. */
public final class KeyedLock extends PartsLock {
    private static final Calls CALLS = new Calls() {
        @Override
        public int open(Pointer file, byte[] name, Pointer options, PointerByReference lock) {
            return Native.turnlock_keyedlock_open(file, name, options, lock);
        }

        @Override
        public int close(Pointer lock) {
            return Native.turnlock_keyedlock_close(lock);
        }

        @Override
        public int unlock(Pointer lock, Pointer participant) {
            return Native.turnlock_keyedlock_unlock_as(lock, participant);
        }

        @Override
        public int markConsistent(Pointer lock, Pointer participant) {
            return Native.turnlock_keyedlock_mark_consistent_as(lock, participant);
        }

        @Override
        public int isContended(Pointer lock, Pointer participant) {
            return Native.turnlock_keyedlock_is_contended_as(lock, participant);
        }

        @Override
        public int resetFor(Pointer lock, long nanoseconds) {
            return Native.turnlock_keyedlock_reset_for(lock, nanoseconds);
        }

        @Override
        public int previousOwner(Pointer lock, Pointer owner) {
            return Native.turnlock_keyedlock_previous_owner(lock, owner);
        }

        @Override
        public ParticipantInfo.Listing holders() {
            return Native::turnlock_keyedlock_holders;
        }

        @Override
        public ParticipantInfo.Listing waiters() {
            return Native::turnlock_keyedlock_waiters;
        }
    };

    KeyedLock(Handle.Shared file, String name, Options options) {
        super(file, name, options, CALLS);
    }

    /** Waits for the key as long as it takes; an interrupt does not end that. */
    public Part acquire(byte[] key, Mode mode) {
        return patiently(entry(key, mode), mode);
    }

    /** Waits at most so long, or until the thread is interrupted. */
    public Part acquire(byte[] key, Mode mode, Duration limit) throws InterruptedException, TimeoutException {
        return within(entry(key, mode), mode, limit);
    }

    /** The key if that needs no waiting. */
    public Optional<Part> tryAcquire(byte[] key, Mode mode) {
        return now(entry(key, mode), mode);
    }

    private static Entry entry(byte[] key, Mode mode) {
        boolean isShared = Objects.requireNonNull(mode, "mode") == Mode.SHARED;
        // A copy with one byte more: an empty key has an address too.
        byte[] bytes = Arrays.copyOf(Objects.requireNonNull(key, "key"), key.length + 1);
        return new Entry() {
            @Override
            public int tryNow(Pointer lock, Pointer who, Pointer acquired) {
                return isShared ? Native.turnlock_keyedlock_try_lock_shared_as(lock, who, bytes, bytes.length - 1, acquired)
                        : Native.turnlock_keyedlock_try_lock_exclusive_as(lock, who, bytes, bytes.length - 1, acquired);
            }

            @Override
            public int waitFor(Pointer lock, Pointer who, long limit, Pointer acquired) {
                return isShared ? Native.turnlock_keyedlock_lock_shared_for_as(lock, who, bytes, bytes.length - 1, limit, acquired)
                        : Native.turnlock_keyedlock_lock_exclusive_for_as(lock, who, bytes, bytes.length - 1, limit, acquired);
            }

            @Override
            public int giveBack(Pointer lock, Pointer who, int status) {
                return Native.turnlock_keyedlock_unlock_as(lock, who);
            }
        };
    }

    /** The same of a key's UTF-8. */
    public Part acquire(String key, Mode mode) {
        return acquire(key.getBytes(StandardCharsets.UTF_8), mode);
    }

    /** The same of a key's UTF-8. */
    public Part acquire(String key, Mode mode, Duration limit) throws InterruptedException, TimeoutException {
        return acquire(key.getBytes(StandardCharsets.UTF_8), mode, limit);
    }

    /** The same of a key's UTF-8. */
    public Optional<Part> tryAcquire(String key, Mode mode) {
        return tryAcquire(key.getBytes(StandardCharsets.UTF_8), mode);
    }
}
