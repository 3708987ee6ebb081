package turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * A number of permits, of which threads of all processes take some for a while, first come first served. Those of a process
 * that dies come back. What is taken is {@link Permits}, which any thread may give back.
 */
public final class TurnSemaphore extends SeveralLock {
    /** How to open, or create, a semaphore. One that exists keeps what it was created with. */
    public static final class Options {
        private int flags;
        private int permits = 1;
        private long patience;
        private String label;

        /** How many permits it has, if it is created now; 1 if nothing is said. */
        public Options permits(int permits) {
            this.permits = some(permits);
            return this;
        }

        /** Do not create the semaphore. */
        public Options mustExist() {
            flags |= Native.SEMAPHORE_MUST_EXIST;
            return this;
        }

        /** No patience: strictly first come first served. */
        public Options strict() {
            flags |= Native.SEMAPHORE_STRICT;
            return this;
        }

        /**
         * How long a waiter must let others pass before it is queued for good; else {@link Status#KIND}. 0 is {@link #strict}. If
         * nothing is said: what the lock has, and 1 millisecond if it is created now.
         */
        public Options patience(Duration patience) {
            this.patience = Texts.nanoseconds(patience);
            if (this.patience == 0) {
                flags |= Native.SEMAPHORE_STRICT;
            }
            return this;
        }

        /** What the holds of this object call themselves; the file's label if nothing is said. */
        public Options label(String label) {
            this.label = label;
            return this;
        }
    }

    /** Permits that are held. To close them gives them back. */
    public final class Permits implements AutoCloseable {
        /** Null once all were given back. */
        private Pointer hold;
        private int count;

        private Permits(OpenLock.Taken taken, int count) {
            hold = taken.hold;
            this.count = count;
        }

        /** How many are left. */
        public synchronized int count() {
            return count;
        }

        /** Gives so many back. */
        public synchronized void release(int permits) {
            if (hold == null) {
                throw new IllegalMonitorStateException("the permits were given back before");
            }
            if (permits != count) {
                Native.check(Native.turnlock_hold_release_permits(hold, permits));
                count -= permits;
                return;
            }
            TurnlockException failure = use(open -> open.end(hold, Native::turnlock_hold_release));
            hold = null;
            count = 0;
            if (failure != null) {
                throw failure;
            }
        }

        /** Gives back what is left. */
        @Override
        public synchronized void close() {
            if (hold != null) {
                release(count);
            }
        }
    }

    TurnSemaphore(Handle.Shared file, String name, Options options) {
        super(OpenLock.open(file, name, struct(Objects.requireNonNull(options, "options")), options.label, false,
                Native::turnlock_semaphore_open, Native::turnlock_semaphore_close), 1);
    }

    private static Memory struct(Options options) {
        Memory struct = Native.struct(24);
        struct.setInt(8, options.flags);
        struct.setInt(12, options.permits);
        struct.setLong(16, options.patience);
        return struct;
    }

    /** Takes so many, all at once, or waits for them as long as it takes; an interrupt does not end that. */
    public Permits acquire(int permits) {
        return new Permits(takePatiently(request(permits)), permits);
    }

    /** Waits at most so long, or until the thread is interrupted. */
    public Permits acquire(int permits, Duration limit) throws InterruptedException, TimeoutException {
        long nanoseconds = Texts.nanoseconds(Objects.requireNonNull(limit, "limit"));
        return new Permits(take(request(permits), nanoseconds), permits);
    }

    /** So many if that needs no waiting. */
    public Optional<Permits> tryAcquire(int permits) {
        return Optional.ofNullable(tryTake(request(permits))).map(taken -> new Permits(taken, permits));
    }

    /** How many permits there are, taken or not. */
    public int permits() {
        IntByReference permits = new IntByReference();
        use(open -> open.call(lock -> Native.turnlock_semaphore_permits(lock, permits)));
        return permits.getValue();
    }

    /** Makes it have so many, for all processes and at once. Those that are taken stay taken. */
    public void resize(int permits) {
        use(open -> open.call(lock -> Native.turnlock_semaphore_resize(lock, some(permits))));
    }

    /** The holders of permits. */
    public List<ParticipantInfo> holders() {
        return use(OpenLock::holders);
    }

    /** The waiters for permits. Threads that wait for this object are one. */
    public List<ParticipantInfo> waiters() {
        return use(OpenLock::waiters);
    }

    private static int some(int permits) {
        if (permits < 1) {
            throw new TurnlockException(Status.PERMITS, "there must be at least one permit, and not " + permits);
        }
        return permits;
    }

    private static Request request(int permits) {
        return Request.ofPermits(some(permits));
    }
}
