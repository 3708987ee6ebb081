package turnlock;

import com.sun.jna.Memory;
import java.util.Objects;

/** A lock whose turn goes round: a holder gets it again only after every other participant that wants it. */
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
        private Integer slot;
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

        /** After its first turn the object stays a member of the ring, and the ring waits for it, until {@link TurnRing#leave}. */
        public Options member() {
            flags |= Native.RING_MEMBER;
            return this;
        }

        /**
         * The object's place on the ring: which of the file's slots its hold takes, from 0; a free one if nothing is said. With a
         * place for each program, the order of turns does not depend on which of them starts first. {@link Status#IN_USE} if it is
         * taken.
         */
        public Options slot(int slot) {
            this.slot = slot;
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

        /** What this object's hold calls itself; the file's label if nothing is said. */
        public Options label(String label) {
            this.label = label;
            return this;
        }
    }

    TurnRing(Handle.Shared file, String name, Options options) {
        super(OpenLock.openAt(Objects.requireNonNull(options, "options").slot, file, name, struct(options), options.label,
                Native::turnlock_ring_open, Native::turnlock_ring_close));
    }

    private static Memory struct(Options options) {
        Memory struct = Native.struct(24);
        struct.setInt(8, options.algorithm.number);
        struct.setInt(12, options.flags | DeathPolicy.flags(options.onDeath));
        struct.setInt(16, options.step);
        return struct;
    }

    /** The object, if it is a member of the ring, leaves it until its next turn is asked for. */
    public void leave() {
        use(open -> open.call(lock -> Native.turnlock_hold_leave_ring(open.own(), lock)));
    }
}
