package io.github.turnlock;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * A lock of ranges of numbers: who wants a range waits for the earlier ones that overlap with it, unless both only read. A
 * range goes from {@code start} to before {@code end}; an empty or reversed one is {@link Status#EMPTY_RANGE}, a negative number
 * {@link Status#INVALID_ARGUMENT}.
 */
public final class RangeLock extends PartsLock {
    /** The end of a range that reaches to the end, the last number of 64 bits included. */
    public static final long END = -1;

    private static final Calls CALLS = new Calls() {
        @Override
        public int open(Pointer file, byte[] name, Pointer options, PointerByReference lock) {
            return Native.turnlock_rangelock_open(file, name, options, lock);
        }

        @Override
        public int close(Pointer lock) {
            return Native.turnlock_rangelock_close(lock);
        }

        @Override
        public int unlock(Pointer lock, Pointer participant) {
            return Native.turnlock_rangelock_unlock_as(lock, participant);
        }

        @Override
        public int markConsistent(Pointer lock, Pointer participant) {
            return Native.turnlock_rangelock_mark_consistent_as(lock, participant);
        }

        @Override
        public int isContended(Pointer lock, Pointer participant) {
            return Native.turnlock_rangelock_is_contended_as(lock, participant);
        }

        @Override
        public int resetFor(Pointer lock, long nanoseconds) {
            return Native.turnlock_rangelock_reset_for(lock, nanoseconds);
        }

        @Override
        public int previousOwner(Pointer lock, Pointer owner) {
            return Native.turnlock_rangelock_previous_owner(lock, owner);
        }

        @Override
        public ParticipantInfo.Listing holders() {
            return Native::turnlock_rangelock_holders;
        }

        @Override
        public ParticipantInfo.Listing waiters() {
            return Native::turnlock_rangelock_waiters;
        }
    };

    RangeLock(Handle.Shared file, String name, Options options) {
        super(file, name, options, CALLS);
    }

    /** Waits for the range as long as it takes; an interrupt does not end that. */
    public Part acquire(long start, long end, Mode mode) {
        return patiently(entry(start, end, mode), mode);
    }

    /** Waits at most so long, or until the thread is interrupted. */
    public Part acquire(long start, long end, Mode mode, Duration limit) throws InterruptedException, TimeoutException {
        return within(entry(start, end, mode), mode, limit);
    }

    /** The range if that needs no waiting. */
    public Optional<Part> tryAcquire(long start, long end, Mode mode) {
        return now(entry(start, end, mode), mode);
    }

    private static Entry entry(long start, long end, Mode mode) {
        boolean isShared = Objects.requireNonNull(mode, "mode") == Mode.SHARED;
        if (start < 0 || (end < 0 && end != END)) {
            throw new TurnlockException(Status.INVALID_ARGUMENT,
                    "a range goes from 0 or more to before some number or END, and not from " + start + " to " + end);
        }
        return new Entry() {
            @Override
            public int tryNow(Pointer lock, Pointer who, Pointer acquired) {
                return isShared ? Native.turnlock_rangelock_try_lock_shared_as(lock, who, start, end, acquired)
                        : Native.turnlock_rangelock_try_lock_exclusive_as(lock, who, start, end, acquired);
            }

            @Override
            public int waitFor(Pointer lock, Pointer who, long limit, Pointer acquired) {
                return isShared ? Native.turnlock_rangelock_lock_shared_for_as(lock, who, start, end, limit, acquired)
                        : Native.turnlock_rangelock_lock_exclusive_for_as(lock, who, start, end, limit, acquired);
            }

            @Override
            public int giveBack(Pointer lock, Pointer who, int status) {
                return Native.turnlock_rangelock_unlock_as(lock, who);
            }
        };
    }
}
