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
 * What range locks and keyed locks have in common: each holder has a part of the lock. What is taken is a {@link Part}, which
 * any thread may let go; it is not reentrant.
 */
public abstract class PartsLock extends SeveralLock {
    /** How a part is held. */
    public enum Mode {
        /** Alone. */
        EXCLUSIVE,
        /** Beside others that read. */
        SHARED
    }

    /** How to open, or create, a lock of parts. One that exists keeps what it was created with. */
    public static final class Options {
        private boolean mustExist;
        private DeathPolicy onDeath;
        private String label;

        /** Do not create the lock. */
        public Options mustExist() {
            mustExist = true;
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

        /** What the participants of this object call themselves; the file's label if nothing is said. */
        public Options label(String label) {
            this.label = label;
            return this;
        }
    }

    /** The functions of the library for one kind. */
    interface Calls {
        int open(Pointer file, byte[] name, Pointer options, PointerByReference lock);

        int close(Pointer lock);

        int unlock(Pointer lock, Pointer participant);

        int markConsistent(Pointer lock, Pointer participant);

        int isContended(Pointer lock, Pointer participant);

        int resetFor(Pointer lock, long nanoseconds);

        int previousOwner(Pointer lock, Pointer owner);

        ParticipantInfo.Listing holders();

        ParticipantInfo.Listing waiters();
    }

    /** A part as it is held. To close it unlocks. Its methods throw {@link IllegalMonitorStateException} afterwards. */
    public final class Part implements AutoCloseable {
        private Taken taken;
        private final Mode mode;

        private Part(Taken taken, Mode mode) {
            this.taken = taken;
            this.mode = mode;
        }

        /** How it is held. */
        public Mode mode() {
            return mode;
        }

        /** That of the acquisition. */
        public synchronized long fencingToken() {
            return held().acquired.getLong(8);
        }

        /** One died that held some of it exclusively, and nobody has marked that consistent yet. */
        public synchronized boolean ownerDied() {
            return held().status == Native.OWNER_DEAD;
        }

        /** That one's process; 0 if none died. */
        public synchronized long deadOwnerPid() {
            return Integer.toUnsignedLong(held().acquired.getInt(24));
        }

        /** Unlocks. What a dead owner left, and nobody marked consistent, the next one is told of again. */
        public synchronized void unlock() {
            Pointer participant = held().participant;
            int status = byHolder(lock -> calls.unlock(lock, participant));
            boolean isWell = letGo(participant, status);
            taken = null;
            if (!isWell) {
                throw Native.failure(status);
            }
        }

        /** Says, holding the part exclusively after {@link #ownerDied}, that its data are well again. */
        public synchronized void markConsistent() {
            Pointer participant = held().participant;
            Native.check(byHolder(lock -> calls.markConsistent(lock, participant)));
        }

        /** Whether another participant waits for something of it. */
        public synchronized boolean isContended() {
            Pointer participant = held().participant;
            return Native.check(byHolder(lock -> calls.isContended(lock, participant))) == Native.CONTENDED;
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
                throw new IllegalMonitorStateException("the part was let go before");
            }
            return taken;
        }
    }

    private final Calls calls;

    PartsLock(Handle.Shared file, String name, Options options, Calls calls) {
        this(file, open(file, name, Objects.requireNonNull(options, "options"), calls), options, calls);
    }

    private PartsLock(Handle.Shared file, Pointer lock, Options options, Calls calls) {
        super(file, lock, options.label, () -> calls.close(lock), Integer.MAX_VALUE);
        this.calls = calls;
    }

    private static Pointer open(Handle.Shared file, String name, Options options, Calls calls) {
        Memory struct = Native.struct(16);
        // The flags of both kinds are the same numbers.
        struct.setInt(8, (options.mustExist ? Native.RANGELOCK_MUST_EXIST : 0)
                | DeathPolicy.flags(options.onDeath));
        PointerByReference opened = new PointerByReference();
        Native.check(calls.open(file.pointer(), Texts.name(name), struct, opened));
        return opened.getValue();
    }

    final Part patiently(Entry entry, Mode mode) {
        return new Part(takePatiently(entry), mode);
    }

    final Part within(Entry entry, Mode mode, Duration limit) throws InterruptedException, TimeoutException {
        Taken taken = take(entry, Texts.nanoseconds(Objects.requireNonNull(limit, "limit")));
        if (taken == null) {
            throw new TimeoutException("the time limit passed before the turn came");
        }
        return new Part(taken, mode);
    }

    final Optional<Part> now(Entry entry, Mode mode) {
        return Optional.ofNullable(tryTake(entry)).map(taken -> new Part(taken, mode));
    }

    /** Marks all parts consistent that dead participants left, beside nobody: the data were looked after, or given up. */
    public final void reset() {
        use(lock -> Native.check(calls.resetFor(lock, Long.MAX_VALUE)));
    }

    /** Who died holding a part exclusively, last. */
    public final Optional<DeadOwner> previousOwner() {
        return use(lock -> DeadOwner.found(owner -> calls.previousOwner(lock, owner)));
    }

    /** Who has a part now, dead or alive. */
    public final List<ParticipantInfo> holders() {
        return listed(calls.holders());
    }

    /** Who waits for a part now. */
    public final List<ParticipantInfo> waiters() {
        return listed(calls.waiters());
    }
}
