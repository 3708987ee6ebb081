package turnlock;

import com.sun.jna.ptr.IntByReference;
import java.util.Objects;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A barrier between processes, with the names of a {@link java.util.concurrent.CyclicBarrier}: so many parties wait until all of them
 * have come; then all go on. The death of a party breaks it for all, and so does one whose wait is interrupted or over its limit, until
 * a {@link #reset}. The message of a {@link BrokenBarrierException} says who it was.
 *
 * <p>A thread is a party from its first wait until it ends, with a slot in the file: the barrier breaks also if it is killed between two
 * waits.
 */
public final class Barrier extends Named {
    /** How to open, or create, a barrier. */
    public static final class Options {
        private int parties;
        private int flags;

        /**
         * How many parties it has; {@link Status#KIND} if it has another number. If nothing is said: however many it has, and it must
         * exist.
         */
        public Options parties(int parties) {
            if (parties < 1) {
                throw new TurnlockException(
                        Status.INVALID_ARGUMENT, "a barrier has at least 1 party, and " + parties + " were asked for");
            }
            this.parties = parties;
            return this;
        }

        /** Do not create the barrier. */
        public Options mustExist() {
            flags |= Native.BARRIER_MUST_EXIST;
            return this;
        }
    }

    Barrier(Handle.Shared file, String name, Options options) {
        this(file, name, Objects.requireNonNull(options, "options").parties, options.flags);
    }

    private Barrier(Handle.Shared file, String name, int parties, int flags) {
        super(file, name, (pointer, text, barrier) -> Native.turnlock_barrier_open(pointer, text, parties, flags, barrier),
                Native::turnlock_barrier_close);
    }

    /**
     * Waits until all parties have come, or until the thread is interrupted, which is seen within 70 milliseconds, and breaks the
     * barrier. Returns true to one of them, the last.
     */
    public boolean await() throws InterruptedException, BrokenBarrierException {
        return isLast(Long.MAX_VALUE);
    }

    /** {@link #await()} for at most so long; the time that is over breaks the barrier. A negative time is 0. */
    public boolean await(long time, TimeUnit unit) throws InterruptedException, BrokenBarrierException, TimeoutException {
        try {
            return isLast(Math.max(unit.toNanos(time), 0));
        } catch (TurnlockException failure) {
            if (failure.status() == Status.TIMED_OUT) {
                throw new TimeoutException(failure.getMessage());
            }
            throw failure;
        }
    }

    private boolean isLast(long limit) throws InterruptedException, BrokenBarrierException {
        IntByReference isLast = new IntByReference();
        TurnlockException broken = use(barrier -> {
            int status = await(() -> Native.turnlock_barrier_wait(barrier, limit(limit), limit, isLast));
            if (status == Status.BROKEN_BARRIER.number()) {
                return Native.failure(status);
            }
            Native.check(status);
            return null;
        });
        if (broken != null) {
            throw new BrokenBarrierException(broken.getMessage());
        }
        return isLast.getValue() != 0;
    }

    /** Breaks it, for those that wait and for those that come until a {@link #reset}. */
    public void abort() {
        call(Native::turnlock_barrier_abort);
    }

    /**
     * Opens it anew, broken or not. Those that wait get a {@link BrokenBarrierException}; the deaths so far are forgotten.
     */
    public void reset() {
        call(Native::turnlock_barrier_reset);
    }

    /** Whether it is broken. */
    public boolean isBroken() {
        return use(barrier -> {
            int status = Native.turnlock_barrier_query(barrier, null, null);
            return status == Status.BROKEN_BARRIER.number() || Native.check(status) < 0;
        });
    }

    /** How many parties it has. */
    public int getParties() {
        IntByReference parties = new IntByReference();
        query(parties, null);
        return parties.getValue();
    }

    /** How many wait at this moment. */
    public int getNumberWaiting() {
        IntByReference waiting = new IntByReference();
        query(null, waiting);
        return waiting.getValue();
    }

    private void query(IntByReference parties, IntByReference waiting) {
        use(barrier -> {
            int status = Native.turnlock_barrier_query(barrier, parties, waiting);
            return status == Status.BROKEN_BARRIER.number() ? status : Native.check(status);
        });
    }
}
