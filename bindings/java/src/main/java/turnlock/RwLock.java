package turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * A reader/writer lock: several that read, or one that writes. A caller waits for the earlier ones that stand in its
 * way. What is taken is a {@link Hold}, which any thread may let go; it is not reentrant.
 */
public final class RwLock extends SeveralLock {
    /** How the lock is held. */
    public enum Mode {
        /** Alone. */
        EXCLUSIVE(Native.MODE_EXCLUSIVE),
        /** Beside others that read. */
        SHARED(Native.MODE_SHARED),
        /** Beside others that read, with the right to become exclusive, which one at a time has. */
        UPGRADABLE(Native.MODE_UPGRADABLE);

        private final int number;

        Mode(int number) {
            this.number = number;
        }
    }

    /** How to open, or create, a reader/writer lock. One that exists keeps what it was created with. */
    public static final class Options {
        private int flags;
        private long patience;
        private String label;
        private DeathPolicy onDeath;

        /** Do not create the lock. */
        public Options mustExist() {
            flags |= Native.RWLOCK_MUST_EXIST;
            return this;
        }

        /** No patience: strictly first come first served. */
        public Options strict() {
            flags |= Native.RWLOCK_STRICT;
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
         * How long a waiter must let others pass before it is queued for good; else {@link Status#KIND}. 0 is {@link #strict}. If
         * nothing is said: what the lock has, and 1 millisecond if it is created now.
         */
        public Options patience(Duration patience) {
            this.patience = Texts.nanoseconds(patience);
            if (this.patience == 0) {
                flags |= Native.RWLOCK_STRICT;
            }
            return this;
        }

        /** What the holds of this object call themselves; the file's label if nothing is said. */
        public Options label(String label) {
            this.label = label;
            return this;
        }
    }

    /** The lock as it is held. To close it unlocks. Its methods throw {@link IllegalMonitorStateException} afterwards. */
    public final class Hold extends Held {
        private Mode mode;
        private boolean isMarked;

        private Hold(OpenLock.Taken taken, Mode mode) {
            super(RwLock.this, taken);
            this.mode = mode;
        }

        /** How it is held. */
        public synchronized Mode mode() {
            return mode;
        }

        /** Unlocks. After a writer's death without {@link #markConsistent} an exclusive hold closes a lock that informs. */
        @Override
        public synchronized void unlock() {
            boolean closes = ownerDied() && mode == Mode.EXCLUSIVE && !isMarked
                    && use(OpenLock::deathPolicy) == DeathPolicy.INFORM;
            super.unlock();
            if (closes) {
                DeathPolicy.warnOfClosed();
            }
        }

        /** Unlocks as a dying owner does: if it is held exclusively, the next one is told. */
        public synchronized void abandon() {
            end(Native::turnlock_hold_abandon);
        }

        /** Says, holding the lock exclusively after {@link #ownerDied}, that the data are consistent again. */
        @Override
        public synchronized void markConsistent() {
            super.markConsistent();
            isMarked = true;
        }

        /** Waits at a condition. The notice of a death that comes with the lock then is another one. */
        synchronized TurnlockException waitAt(TurnCondition.Wait wait) {
            long before = fencingToken();
            try {
                return awaits(wait);
            } finally {
                isMarked &= isHeld() && fencingToken() == before;
            }
        }

        /** Makes an upgradable hold exclusive; no writer enters in between. Where it fails it is held as before. */
        public synchronized void upgrade(Duration limit) throws InterruptedException, TimeoutException {
            long nanoseconds = Texts.nanoseconds(Objects.requireNonNull(limit, "limit"));
            Pointer hold = hold();
            Memory acquired = Request.newAcquired();
            int status = Interrupts.interruptibly(
                    () -> Native.turnlock_hold_upgrade(hold, Native.WAIT_AT_MOST, nanoseconds, acquired));
            if (status == Status.TIMED_OUT.number()) {
                throw Native.timedOut();
            }
            if (status == Status.INTERRUPTED.number() && Thread.interrupted()) {
                throw new InterruptedException();
            }
            becomes(status, acquired);
            mode = Mode.EXCLUSIVE;
        }

        /** Whether it was upgraded, without waiting. */
        public synchronized boolean tryUpgrade() {
            Memory acquired = Request.newAcquired();
            int status = Native.turnlock_hold_upgrade(hold(), Native.WAIT_NEVER, 0, acquired);
            if (status == Status.WOULD_BLOCK.number()) {
                return false;
            }
            becomes(status, acquired);
            mode = Mode.EXCLUSIVE;
            return true;
        }

        /** Makes the hold less than it is; no writer enters in between. */
        public synchronized void downgrade(Mode mode) {
            Objects.requireNonNull(mode, "mode");
            call(hold -> Native.turnlock_hold_downgrade(hold, mode.number));
            this.mode = mode;
        }
    }

    RwLock(Handle.Shared file, String name, Options options) {
        super(OpenLock.open(file, name, struct(Objects.requireNonNull(options, "options")), options.label, false,
                Native::turnlock_rwlock_open, Native::turnlock_rwlock_close), 1);
    }

    private static Memory struct(Options options) {
        Memory struct = Native.struct(24);
        struct.setInt(8, options.flags | DeathPolicy.flags(options.onDeath));
        struct.setLong(16, options.patience);
        return struct;
    }

    /** Waits for the lock as long as it takes; an interrupt does not end that. */
    public Hold acquire(Mode mode) {
        return new Hold(takePatiently(request(mode)), mode);
    }

    /** Waits at most so long, or until the thread is interrupted. */
    public Hold acquire(Mode mode, Duration limit) throws InterruptedException, TimeoutException {
        Request request = request(mode);
        return new Hold(take(request, Texts.nanoseconds(Objects.requireNonNull(limit, "limit"))), mode);
    }

    /** The lock if that needs no waiting. */
    public Optional<Hold> tryAcquire(Mode mode) {
        return Optional.ofNullable(tryTake(request(mode))).map(taken -> new Hold(taken, mode));
    }

    private static Request request(Mode mode) {
        return Request.inMode(Objects.requireNonNull(mode, "mode").number);
    }

    /** Opens a lock that is not recoverable again, with no other holder, after the data were repaired or given up. */
    public void reset() {
        use(open -> open.call(lock -> Native.turnlock_lock_reset_for(lock, Long.MAX_VALUE)));
    }

    /** The writer that died last. */
    public Optional<DeadOwner> previousOwner() {
        return use(OpenLock::previousOwner);
    }

    /** The holder of the lock, dead or alive. */
    public List<ParticipantInfo> holders() {
        return use(OpenLock::holders);
    }

    /** The waiters. Threads that wait for this object are one. */
    public List<ParticipantInfo> waiters() {
        return use(OpenLock::waiters);
    }
}
