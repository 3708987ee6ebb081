package turnlock;

import com.sun.jna.Pointer;
import java.util.Date;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.function.BooleanSupplier;

/**
 * A condition between processes: of a {@link Mutex}, or of a {@link RwLock} that is held exclusively. {@link #with(Mutex)} gives the
 * JDK's {@link Condition} of it:
 *
 * <pre>{@code
 * TurnCondition changed = file.condition("accounts changed");
 * Condition ofAccounts = changed.with(accounts);
 * try (Acquisition held = accounts.acquire()) {
 *     while (!isThereWork()) {
 *         ofAccounts.await();
 *     }
 * }
 * }</pre>
 *
 * <p>Waiters are notified in the order in which they came, and none without a notification. The notification of a waiter that dies before
 * it has the lock goes to the next one. A condition is used with one lock at a time.
 */
public final class TurnCondition extends Named {
    /** How to open, or create, a condition. */
    public static final class Options {
        private int flags;

        /** Do not create the condition. */
        public Options mustExist() {
            flags |= Native.CONDITION_MUST_EXIST;
            return this;
        }
    }

    /** A wait in the library with a hold; returns what went wrong, or null. */
    interface Wait {
        TurnlockException with(Pointer hold, Pointer acquired);
    }

    /** What is held and waited with: it is held again after the wait, unless it could not be taken. */
    private interface Exclusive {
        TurnlockException waitAt(Wait wait);
    }

    TurnCondition(Handle.Shared file, String name, Options options) {
        this(file, name, Objects.requireNonNull(options, "options").flags);
    }

    private TurnCondition(Handle.Shared file, String name, int flags) {
        super(file, name, (pointer, text, condition) -> Native.turnlock_condition_open(pointer, text, flags, condition),
                Native::turnlock_condition_close);
    }

    /**
     * The condition of a mutex, for threads that have it, however often. A thread that waits lets other threads have the mutex, by the same
     * object too. When it comes back, {@link Mutex#acquisition} says anew whether the last holder died.
     *
     * <p>The methods that wait throw {@link IllegalMonitorStateException} if the thread does not have the mutex, and a {@link
     * TurnlockException}, with the mutex held: of {@link Status#CLOSED} if this object was closed, {@link Status#NOT_FOUND} if the
     * condition was removed, {@link Status#INVALID_ARGUMENT} if it is in another file, or others wait with another lock. With {@link
     * Status#NOT_RECOVERABLE}, {@link Status#DAMAGED} and {@link Status#REPLACED} it could not be taken again, and is not held; {@link
     * Mutex#isHeldByCurrentThread} says so. An interrupt is seen within 70 milliseconds. Limits are for the notification; the mutex is then
     * waited for as long as it takes. The mutex need not be held to signal.
     */
    public Condition with(Mutex mutex) {
        return new Bound(Objects.requireNonNull(mutex, "mutex")::waitAt);
    }

    /**
     * The condition of a reader/writer lock, for this hold of it, which is exclusive: {@link Status#NOT_EXCLUSIVE}, with the lock held, if
     * it is not. Otherwise as {@link #with(Mutex)}.
     */
    public Condition with(RwLock.Hold hold) {
        return new Bound(Objects.requireNonNull(hold, "hold")::waitAt);
    }

    /** Notifies the one that has waited longest, and returns how many were notified: 0 or 1. The lock need not be held. */
    public int signal() {
        return ask(Native::turnlock_condition_notify_one);
    }

    /** Notifies all that wait by now, and returns how many. */
    public int signalAll() {
        return ask(Native::turnlock_condition_notify_all);
    }

    private final class Bound implements Condition {
        private final Exclusive held;

        Bound(Exclusive held) {
            this.held = held;
        }

        @Override
        public void await() throws InterruptedException {
            isNotified(Long.MAX_VALUE);
        }

        @Override
        public void awaitUninterruptibly() {
            TurnlockException failure = waits(false, Long.MAX_VALUE);
            if (failure != null) {
                throw failure;
            }
        }

        @Override
        public long awaitNanos(long nanoseconds) throws InterruptedException {
            long began = System.nanoTime();
            boolean isNotified = isNotified(Math.max(nanoseconds, 0));
            long left = nanoseconds - (System.nanoTime() - began);
            return isNotified ? left : Math.min(left, 0);
        }

        @Override
        public boolean await(long time, TimeUnit unit) throws InterruptedException {
            return isNotified(Math.max(unit.toNanos(time), 0));
        }

        @Override
        public boolean awaitUntil(Date deadline) throws InterruptedException {
            return await(deadline.getTime() - System.currentTimeMillis(), TimeUnit.MILLISECONDS);
        }

        @Override
        public void signal() {
            TurnCondition.this.signal();
        }

        @Override
        public void signalAll() {
            TurnCondition.this.signalAll();
        }

        /** Whether it was notified within so many nanoseconds. */
        private boolean isNotified(long limit) throws InterruptedException {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
            TurnlockException failure = waits(true, limit);
            if (failure == null) {
                return true;
            }
            if (failure.status() == Status.INTERRUPTED && Thread.interrupted()) {
                throw new InterruptedException();
            }
            if (failure.status() != Status.TIMED_OUT) {
                throw failure;
            }
            return false;
        }

        private TurnlockException waits(boolean interruptibly, long limit) {
            return use(condition -> held.waitAt((hold, acquired) -> {
                // Once: what is to end the wait is not to make the library leave the queue of the lock then, again and again.
                BooleanSupplier ends = ends(interruptibly);
                boolean[] isOver = {false};
                int status = Interrupts.endedBy(() -> !isOver[0] && (isOver[0] = ends.getAsBoolean()),
                        () -> Native.turnlock_hold_wait(hold, condition, limit(limit), limit, acquired));
                TurnlockException failure = status < 0 ? Native.failure(status) : null;
                try {
                    checkOpen(status);
                } catch (TurnlockException closed) {
                    failure = closed;
                }
                return failure;
            }));
        }
    }
}
