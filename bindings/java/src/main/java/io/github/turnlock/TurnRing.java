package io.github.turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.util.Objects;

/** A lock whose turn goes round: whoever had it gets it again only after everybody else who wants it. */
public final class TurnRing extends TurnLock {
    /** The algorithm of a ring. */
    public enum Algorithm {
        /** Whichever the ring has, and Raynal's if it is created now. */
        ANY(0),
        /** Dijkstra's K-state ring. */
        K_STATE(Native.ALGORITHM_K_STATE),
        /** Raynal's ring modulo n squared. */
        RAYNAL(Native.ALGORITHM_RAYNAL),
        /** Raynal's sum ring. */
        SUM(Native.ALGORITHM_SUM);

        private final int number;

        Algorithm(int number) {
            this.number = number;
        }
    }

    /** How to open, or create, a ring. A ring that exists keeps what it was created with. */
    public static final class Options {
        private Algorithm algorithm = Algorithm.ANY;
        private int step;
        private int flags;
        private String label;
        private DeathPolicy onDeath;

        /** Which it must be. */
        public Options algorithm(Algorithm algorithm) {
            this.algorithm = Objects.requireNonNull(algorithm, "algorithm");
            return this;
        }

        /** Of the sum ring: from one slot to the next in order of turns; 1 if nothing is said. */
        public Options step(int step) {
            this.step = step;
            return this;
        }

        /** After its first turn the participant stays in the ring, and the ring waits for it, until {@link TurnRing#leave}. */
        public Options standing() {
            flags |= Native.RING_STANDING;
            return this;
        }

        /** Do not create the ring. */
        public Options mustExist() {
            flags |= Native.RING_MUST_EXIST;
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

        /** What this lock's participant calls itself; the file's label if nothing is said. */
        public Options label(String label) {
            this.label = label;
            return this;
        }
    }

    private static final Calls CALLS = new Calls() {
        @Override
        public int lock(Pointer lock, Pointer participant, Pointer acquired) {
            return Native.turnlock_ring_lock_as(lock, participant, acquired);
        }

        @Override
        public int tryLock(Pointer lock, Pointer participant, Pointer acquired) {
            return Native.turnlock_ring_try_lock_as(lock, participant, acquired);
        }

        @Override
        public int lockFor(Pointer lock, Pointer participant, long nanoseconds, Pointer acquired) {
            return Native.turnlock_ring_lock_for_as(lock, participant, nanoseconds, acquired);
        }

        @Override
        public int unlock(Pointer lock, Pointer participant) {
            return Native.turnlock_ring_unlock_as(lock, participant);
        }

        @Override
        public int abandon(Pointer lock, Pointer participant) {
            return Native.turnlock_ring_abandon_as(lock, participant);
        }

        @Override
        public int markConsistent(Pointer lock, Pointer participant) {
            return Native.turnlock_ring_mark_consistent_as(lock, participant);
        }

        @Override
        public int isContended(Pointer lock, Pointer participant) {
            return Native.turnlock_ring_is_contended_as(lock, participant);
        }

        @Override
        public int resetFor(Pointer lock, long nanoseconds) {
            return Native.turnlock_ring_reset_for(lock, nanoseconds);
        }

        @Override
        public int previousOwner(Pointer lock, Pointer owner) {
            return Native.turnlock_ring_previous_owner(lock, owner);
        }

        @Override
        public int holder(Pointer lock, Pointer holder) {
            return Native.turnlock_ring_holder(lock, holder);
        }

        @Override
        public int waiters(Pointer lock, long capacity, Pointer waiters, LongByReference count) {
            return Native.turnlock_ring_waiters(lock, capacity, waiters, count);
        }

        @Override
        public int deathPolicy(Pointer lock, IntByReference policy) {
            return Native.turnlock_ring_death_policy(lock, policy);
        }

        @Override
        public int close(Pointer lock) {
            return Native.turnlock_ring_close(lock);
        }
    };

    TurnRing(Pointer file, String name, Options options) {
        super(file, open(file, name, Objects.requireNonNull(options, "options")), options.label);
    }

    private static Pointer open(Pointer file, String name, Options options) {
        Memory struct = Native.struct(24);
        struct.setInt(8, options.algorithm.number);
        struct.setInt(12, options.flags | DeathPolicy.flags(options.onDeath));
        struct.setInt(16, options.step);
        PointerByReference ring = new PointerByReference();
        Native.check(Native.turnlock_ring_open(file, Texts.name(name), struct, ring));
        return ring.getValue();
    }

    @Override
    Calls calls() {
        return CALLS;
    }

    /** The participant, if it stands in the ring, leaves it until its next turn is asked for. */
    public void leave() {
        use((lock, participant) -> Native.check(Native.turnlock_ring_leave_as(lock, participant)));
    }
}
