package io.github.turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.time.Duration;
import java.util.Objects;

/** A mutex: one at a time, first come first served after a moment of patience. */
public final class Mutex extends TurnLock {
    /** How to open, or create, a mutex. A mutex that exists keeps what it was created with. */
    public static final class Options {
        private int flags;
        private long patience;
        private String label;
        private DeathPolicy onDeath;

        /** Do not create the mutex. */
        public Options mustExist() {
            flags |= Native.MUTEX_MUST_EXIST;
            return this;
        }

        /** No patience: strictly first come first served. */
        public Options strict() {
            flags |= Native.MUTEX_STRICT;
            return this;
        }

        /**
         * What a holder's death must mean; else {@link Status#KIND}. If nothing is said: what it means to the lock, and {@link
         * DeathPolicy#RELEASE} if it is created now.
         */
        public Options onDeath(DeathPolicy policy) {
            onDeath = Objects.requireNonNull(policy, "policy");
            return this;
        }

        /**
         * Programs in other languages may take it again, too, as threads may here. It is the lock that is recursive: one
         * that exists and is not is {@link Status#KIND}.
         */
        public Options recursive() {
            flags |= Native.MUTEX_RECURSIVE;
            return this;
        }

        /**
         * How long a waiter must let others pass before it is queued for good; else {@link Status#KIND}. 0 is {@link #strict}. If
         * nothing is said: what the lock has, and 1 millisecond if it is created now.
         */
        public Options patience(Duration patience) {
            this.patience = Texts.nanoseconds(patience);
            if (this.patience == 0) {
                flags |= Native.MUTEX_STRICT;
            }
            return this;
        }

        /** What this lock's participant calls itself; the file's label if nothing is said. */
        public Options label(String label) {
            this.label = label;
            return this;
        }
    }

    private static final Calls CALLS = new Calls() {
        @Override
        public int lock(Pointer lock, Pointer participant, Pointer acquired) {
            return Native.turnlock_mutex_lock_as(lock, participant, acquired);
        }

        @Override
        public int tryLock(Pointer lock, Pointer participant, Pointer acquired) {
            return Native.turnlock_mutex_try_lock_as(lock, participant, acquired);
        }

        @Override
        public int lockFor(Pointer lock, Pointer participant, long nanoseconds, Pointer acquired) {
            return Native.turnlock_mutex_lock_for_as(lock, participant, nanoseconds, acquired);
        }

        @Override
        public int unlock(Pointer lock, Pointer participant) {
            return Native.turnlock_mutex_unlock_as(lock, participant);
        }

        @Override
        public int abandon(Pointer lock, Pointer participant) {
            return Native.turnlock_mutex_abandon_as(lock, participant);
        }

        @Override
        public int markConsistent(Pointer lock, Pointer participant) {
            return Native.turnlock_mutex_mark_consistent_as(lock, participant);
        }

        @Override
        public int isContended(Pointer lock, Pointer participant) {
            return Native.turnlock_mutex_is_contended_as(lock, participant);
        }

        @Override
        public int resetFor(Pointer lock, long nanoseconds) {
            return Native.turnlock_mutex_reset_for(lock, nanoseconds);
        }

        @Override
        public int previousOwner(Pointer lock, Pointer owner) {
            return Native.turnlock_mutex_previous_owner(lock, owner);
        }

        @Override
        public int holder(Pointer lock, Pointer holder) {
            return Native.turnlock_mutex_holder(lock, holder);
        }

        @Override
        public int waiters(Pointer lock, long capacity, Pointer waiters, LongByReference count) {
            return Native.turnlock_mutex_waiters(lock, capacity, waiters, count);
        }

        @Override
        public int deathPolicy(Pointer lock, IntByReference policy) {
            return Native.turnlock_mutex_death_policy(lock, policy);
        }

        @Override
        public int close(Pointer lock) {
            return Native.turnlock_mutex_close(lock);
        }
    };

    Mutex(Pointer file, String name, Options options) {
        super(file, open(file, name, Objects.requireNonNull(options, "options")), options.label);
    }

    private static Pointer open(Pointer file, String name, Options options) {
        Memory struct = Native.struct(24);
        struct.setInt(12, options.flags | DeathPolicy.flags(options.onDeath));
        struct.setLong(16, options.patience);
        PointerByReference mutex = new PointerByReference();
        Native.check(Native.turnlock_mutex_open(file, Texts.name(name), struct, mutex));
        return mutex.getValue();
    }

    @Override
    Calls calls() {
        return CALLS;
    }

    /** How long waiters let others pass here, as its creator said; 0 is strictly first come first served. */
    public Duration patience() {
        LongByReference patience = new LongByReference();
        use((lock, participant) -> Native.check(Native.turnlock_mutex_patience(lock, patience)));
        return Duration.ofNanos(patience.getValue());
    }
}
