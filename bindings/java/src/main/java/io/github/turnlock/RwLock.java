package io.github.turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * A reader/writer lock: several that read, or one that writes. Everybody waits for the earlier ones that stand in its way.
 * What is taken is a {@link Hold}, which any thread may let go; it is not reentrant.
 */
public final class RwLock extends SeveralLock {
    /** How the lock is held. */
    public enum Mode {
        /** Alone. */
        EXCLUSIVE(1),
        /** Beside others that read. */
        SHARED(2),
        /** Beside others that read, with the right to become exclusive, which one at a time has. */
        UPGRADABLE(3);

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

        /** What the participants of this object call themselves; the file's label if nothing is said. */
        public Options label(String label) {
            this.label = label;
            return this;
        }
    }

    /** The lock as it is held. To close it unlocks. Its methods throw {@link IllegalMonitorStateException} afterwards. */
    public final class Hold implements AutoCloseable {
        private Taken taken;
        private Mode mode;
        private boolean isMarked;

        private Hold(Taken taken, Mode mode) {
            this.taken = taken;
            this.mode = mode;
        }

        /** How it is held. */
        public synchronized Mode mode() {
            return mode;
        }

        /** A reader's is that of the last writer: two readers with the same one read the same. */
        public synchronized long fencingToken() {
            return held().acquired.getLong(8);
        }

        /** A writer died inside, and nobody has marked consistent yet what it left. */
        public synchronized boolean ownerDied() {
            return held().status == Native.OWNER_DEAD;
        }

        /** That writer's process; 0 if none died. */
        public synchronized long deadOwnerPid() {
            return Integer.toUnsignedLong(held().acquired.getInt(24));
        }

        /** Unlocks. After a writer's death without {@link #markConsistent} an exclusive hold closes a lock that informs. */
        public synchronized void unlock() {
            Pointer participant = held().participant;
            boolean closes = mode == Mode.EXCLUSIVE && ownerDied() && !isMarked
                    && DeathPolicy.told(policy -> byHolder(
                            lock -> Native.turnlock_rwlock_death_policy(lock, policy))) == DeathPolicy.INFORM;
            let(participant, byHolder(lock -> Native.turnlock_rwlock_unlock_as(lock, participant)));
            if (closes) {
                DeathPolicy.warnOfClosed();
            }
        }

        /** Unlocks as a dying owner does: if it is held exclusively, the next one is told. */
        public synchronized void abandon() {
            Pointer participant = held().participant;
            let(participant, byHolder(lock -> Native.turnlock_rwlock_abandon_as(lock, participant)));
        }

        /** Says, holding the lock exclusively after {@link #ownerDied}, that the data are well again. */
        public synchronized void markConsistent() {
            Pointer participant = held().participant;
            Native.check(byHolder(lock -> Native.turnlock_rwlock_mark_consistent_as(lock, participant)));
            isMarked = true;
        }

        /** Makes an upgradable hold exclusive; nobody writes in between. Where it fails it is held as before. */
        public synchronized void upgrade(Duration limit) throws InterruptedException, TimeoutException {
            long nanoseconds = Texts.nanoseconds(Objects.requireNonNull(limit, "limit"));
            Pointer participant = held().participant;
            Memory acquired = Native.struct(Acquisition.SIZE);
            int status = Interrupts.interruptibly(() -> byHolder(
                    lock -> Native.turnlock_rwlock_upgrade_for_as(lock, participant, nanoseconds, acquired)));
            if (status == Status.TIMED_OUT.number()) {
                throw new TimeoutException("the time limit passed before the readers had left");
            }
            if (status == Status.INTERRUPTED.number() && Thread.interrupted()) {
                throw new InterruptedException();
            }
            Native.check(status);
            taken = new Taken(participant, status, acquired);
            mode = Mode.EXCLUSIVE;
        }

        /** Whether it was upgraded, without waiting. */
        public synchronized boolean tryUpgrade() {
            Pointer participant = held().participant;
            Memory acquired = Native.struct(Acquisition.SIZE);
            int status = byHolder(lock -> Native.turnlock_rwlock_try_upgrade_as(lock, participant, acquired));
            if (status == Status.WOULD_BLOCK.number()) {
                return false;
            }
            Native.check(status);
            taken = new Taken(participant, status, acquired);
            mode = Mode.EXCLUSIVE;
            return true;
        }

        /** Makes the hold less than it is; nobody writes in between. */
        public synchronized void downgrade(Mode mode) {
            Objects.requireNonNull(mode, "mode");
            Pointer participant = held().participant;
            Native.check(byHolder(lock -> Native.turnlock_rwlock_downgrade_as(lock, participant, mode.number)));
            this.mode = mode;
        }

        /** Whether another participant waits. */
        public synchronized boolean isContended() {
            Pointer participant = held().participant;
            int status = byHolder(lock -> Native.turnlock_rwlock_is_contended_as(lock, participant));
            return Native.check(status) == Native.CONTENDED;
        }

        /** Unlocks, if that was not done. */
        @Override
        public synchronized void close() {
            if (taken != null) {
                unlock();
            }
        }

        private Taken held() {
            if (taken == null) {
                throw new IllegalMonitorStateException("the lock was let go before");
            }
            return taken;
        }

        private void let(Pointer participant, int status) {
            boolean isWell = letGo(participant, status);
            taken = null;
            if (!isWell) {
                throw Native.failure(status);
            }
        }
    }

    RwLock(Handle.Shared file, String name, Options options) {
        this(file, open(file, name, Objects.requireNonNull(options, "options")), options);
    }

    private RwLock(Handle.Shared file, Pointer lock, Options options) {
        super(file, lock, options.label, () -> Native.turnlock_rwlock_close(lock));
    }

    private static Pointer open(Handle.Shared file, String name, Options options) {
        Memory struct = Native.struct(24);
        struct.setInt(8, options.flags | DeathPolicy.flags(options.onDeath));
        struct.setLong(16, options.patience);
        PointerByReference rwlock = new PointerByReference();
        Native.check(Native.turnlock_rwlock_open(file.pointer(), Texts.name(name), struct, rwlock));
        return rwlock.getValue();
    }

    /** Waits for the lock as long as it takes; an interrupt does not end that. */
    public Hold acquire(Mode mode) {
        return new Hold(takePatiently(entry(mode)), mode);
    }

    /** Waits at most so long, or until the thread is interrupted. */
    public Hold acquire(Mode mode, Duration limit) throws InterruptedException, TimeoutException {
        Entry entry = entry(mode);
        Taken taken = take(entry, Texts.nanoseconds(Objects.requireNonNull(limit, "limit")));
        if (taken == null) {
            throw new TimeoutException("the time limit passed before the turn came");
        }
        return new Hold(taken, mode);
    }

    /** The lock if that needs no waiting. */
    public Optional<Hold> tryAcquire(Mode mode) {
        return Optional.ofNullable(tryTake(entry(mode))).map(taken -> new Hold(taken, mode));
    }

    /** Opens a lock that is not recoverable again, beside nobody, after the data were repaired or given up. */
    public void reset() {
        use(lock -> Native.check(Native.turnlock_rwlock_reset_for(lock, Long.MAX_VALUE)));
    }

    /** Who died writing, last. */
    public Optional<DeadOwner> previousOwner() {
        return use(lock -> DeadOwner.found(owner -> Native.turnlock_rwlock_previous_owner(lock, owner)));
    }

    /** Who has the lock now, dead or alive. */
    public List<ParticipantInfo> holders() {
        return listed(Native::turnlock_rwlock_holders);
    }

    /** Who waits now. Threads that wait for this object are one. */
    public List<ParticipantInfo> waiters() {
        return listed(Native::turnlock_rwlock_waiters);
    }

    private static Entry entry(Mode mode) {
        switch (Objects.requireNonNull(mode, "mode")) {
            case EXCLUSIVE:
                return entry(Native::turnlock_rwlock_try_lock_exclusive_as, Native::turnlock_rwlock_lock_exclusive_for_as);
            case SHARED:
                return entry(Native::turnlock_rwlock_try_lock_shared_as, Native::turnlock_rwlock_lock_shared_for_as);
            default:
                return entry(
                        Native::turnlock_rwlock_try_lock_upgradable_as, Native::turnlock_rwlock_lock_upgradable_for_as);
        }
    }

    private interface Try {
        int now(Pointer lock, Pointer participant, Pointer acquired);
    }

    private interface Wait {
        int atMost(Pointer lock, Pointer participant, long limit, Pointer acquired);
    }

    private static Entry entry(Try once, Wait wait) {
        return new Entry() {
            @Override
            public int tryNow(Pointer lock, Pointer participant, Pointer acquired) {
                return once.now(lock, participant, acquired);
            }

            @Override
            public int waitFor(Pointer lock, Pointer participant, long limit, Pointer acquired) {
                return wait.atMost(lock, participant, limit, acquired);
            }

            @Override
            public int giveBack(Pointer lock, Pointer participant, int status) {
                // Who died before is still to be told of; of a reader that is as if it unlocked.
                return status == Native.OWNER_DEAD ? Native.turnlock_rwlock_abandon_as(lock, participant)
                        : Native.turnlock_rwlock_unlock_as(lock, participant);
            }
        };
    }
}
