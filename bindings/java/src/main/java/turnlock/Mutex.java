package turnlock;

import com.sun.jna.Memory;
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

        /** What this object's hold calls itself; the file's label if nothing is said. */
        public Options label(String label) {
            this.label = label;
            return this;
        }
    }

    Mutex(Handle.Shared file, String name, Options options) {
        super(OpenLock.open(file, name, struct(Objects.requireNonNull(options, "options")), options.label, true,
                Native::turnlock_mutex_open, Native::turnlock_mutex_close));
    }

    private static Memory struct(Options options) {
        Memory struct = Native.struct(24);
        struct.setInt(12, options.flags | DeathPolicy.flags(options.onDeath));
        struct.setLong(16, options.patience);
        return struct;
    }

    /**
     * Whether this host has the mutex still, which its holder asks: not, once the lease of a linked mutex has ended, from when on
     * another host may have it. What goes out to others needs the fencing token besides.
     */
    public boolean stillOwner() {
        // An error if the calling thread does not have it.
        acquisition();
        return use(open -> open.use(lock -> {
            int status = Native.turnlock_lock_still_owner(lock);
            return status != Status.LEASE_ENDED.number() && Native.check(status) >= 0;
        }));
    }

    /** How long waiters let others pass here, as its creator said; 0 is strictly first come first served. */
    public Duration patience() {
        return Duration.ofNanos(use(OpenLock::patience));
    }
}
