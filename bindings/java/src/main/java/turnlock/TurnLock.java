package turnlock;

import com.sun.jna.Pointer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.ToIntFunction;

/**
 * A lock of a kind that one holds at a time: a {@link Mutex} or a {@link TurnRing}. It belongs to the thread that took it,
 * which may take it again, as with a {@link ReentrantLock}; to another process it is taken once.
 *
 * <p>A holder that died is not an exception, since the lock is held then: {@link #acquisition} says it.
 *
 * <p>Methods throw {@link TurnlockException}; those that only the holder may call {@link IllegalMonitorStateException}.
 */
public abstract class TurnLock extends AnyLock implements Lock {
    /** The threads of this process that want the lock, in order; its holder has the lock or waits for it in the library. */
    private final ReentrantLock gate = new ReentrantLock(true);

    /** For the thread that has the gate, as what follows. */
    private final Request request = Request.inMode(Native.MODE_EXCLUSIVE);
    /** What came with the acquisition; null while the lock is not held. */
    private volatile Acquisition acquisition;
    /** The holder has marked the data consistent. */
    private boolean isMarked;

    TurnLock(OpenLock open) {
        super(open);
    }

    /** Waits for the lock as long as it takes; an interrupt does not end that. */
    @Override
    public void lock() {
        gate.lock();
        enter(open -> open.take(request, Long.MAX_VALUE));
    }

    /**
     * Waits for the lock as long as it takes, or until the thread is interrupted. Then nothing is left in the queue. An
     * interrupt is seen within 70 milliseconds.
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        gate.lockInterruptibly();
        enter(open -> open.takeInterruptibly(request, Long.MAX_VALUE));
    }

    /** Takes the lock if that needs no waiting. */
    @Override
    public boolean tryLock() {
        return gate.tryLock() && enter(open -> open.take(request, 0));
    }

    /** Waits at most so long, or until the thread is interrupted. A negative time is none. */
    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        long limit = Math.max(unit.toNanos(time), 0);
        long began = System.nanoTime();
        if (!gate.tryLock(limit, TimeUnit.NANOSECONDS)) {
            return false;
        }
        long left = Math.max(limit - (System.nanoTime() - began), 0);
        return enter(open -> open.takeInterruptibly(request, left));
    }

    /** {@link #lock} as it is used in a try block: {@code try (Acquisition held = lock.acquire()) {...}}. */
    public Acquisition acquire() {
        lock();
        return acquisition;
    }

    /** Waits at most so long, or until the thread is interrupted. */
    public Acquisition acquire(Duration limit) throws InterruptedException, TimeoutException {
        long nanoseconds = Math.max(Texts.nanoseconds(Objects.requireNonNull(limit, "limit")), 0);
        long began = System.nanoTime();
        if (!gate.tryLock(nanoseconds, TimeUnit.NANOSECONDS)) {
            throw new TimeoutException(Texts.TURN_OF_ANOTHER_THREAD);
        }
        long left = Math.max(nanoseconds - (System.nanoTime() - began), 0);
        if (!enter(open -> open.takeInterruptibly(request, left))) {
            throw Native.timedOut();
        }
        return acquisition;
    }

    /**
     * Unlocks. After a death without {@link #markConsistent} this closes a lock for everyone, until {@link #reset}, whose death
     * policy is {@link DeathPolicy#INFORM}, and logs a warning ({@link System.Logger}, "turnlock"). {@link
     * Status#DAMAGED} and {@link Status#REPLACED} say that something was seen to have happened to the file: it is unlocked
     * all the same.
     */
    @Override
    public void unlock() {
        checkHeld();
        if (gate.getHoldCount() > 1) {
            gate.unlock();
            return;
        }
        boolean closes = acquisition.ownerDied() && !isMarked && deathPolicy() == DeathPolicy.INFORM;
        leave(Native::turnlock_hold_release);
        if (closes) {
            DeathPolicy.warnOfClosed();
        }
    }

    /** Unlocks as a dying owner does, since the data were left half-done, however often the thread has it. */
    public void abandon() {
        checkHeld();
        leave(Native::turnlock_hold_abandon);
    }

    /** Says, after {@link Acquisition#ownerDied}, that the data are consistent again. */
    public void markConsistent() {
        checkHeld();
        use(open -> Native.check(Native.turnlock_hold_mark_consistent(open.own())));
        isMarked = true;
    }

    /** Whether another participant waits behind the holder, which asks. Threads that share this object are not counted. */
    public boolean isContended() {
        checkHeld();
        return use(open -> Native.check(Native.turnlock_hold_is_contended(open.own()))) == Native.CONTENDED;
    }

    /** What came with the acquisition that is held now. For the holder. */
    public Acquisition acquisition() {
        checkHeld();
        return acquisition;
    }

    /** Whether the calling thread has the lock. */
    public boolean isHeldByCurrentThread() {
        return gate.isHeldByCurrentThread() && acquisition != null;
    }

    /** Opens a lock that is not recoverable again, in its turn, after the data were repaired or given up. */
    public void reset() {
        use(open -> open.call(lock -> Native.turnlock_lock_reset_for(lock, Long.MAX_VALUE)));
    }

    /** {@link #reset} if that needs no waiting. */
    public boolean tryReset() {
        return use(open -> open.use(lock -> {
            int status = Native.turnlock_lock_reset_for(lock, 0);
            return status != Status.TIMED_OUT.number() && Native.check(status) >= 0;
        }));
    }

    /** What a holder's death means here, as the lock's creator said. */
    public DeathPolicy deathPolicy() {
        return use(OpenLock::deathPolicy);
    }

    /** The participant that died last while it held the lock. */
    public Optional<DeadOwner> previousOwner() {
        return use(OpenLock::previousOwner);
    }

    /** The holder of the lock, dead or alive. */
    public Optional<ParticipantInfo> holder() {
        return use(OpenLock::holders).stream().findFirst();
    }

    /** The waiters, first the one that is next; of a ring also its other members. */
    public List<ParticipantInfo> waiters() {
        return use(OpenLock::waiters);
    }

    /** There are no conditions between processes. */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("turnlock has no conditions");
    }

    /** Takes the lock in the library, having the gate; gives the gate back where that fails. */
    private <Failure extends Exception> boolean enter(Use<OpenLock.Taken, Failure> take) throws Failure {
        if (gate.getHoldCount() > 1) {
            return true;
        }
        OpenLock.Taken taken = null;
        try {
            taken = use(take);
            if (taken != null) {
                isMarked = false;
                acquisition = new Acquisition(this, taken);
            }
        } finally {
            if (taken == null) {
                gate.unlock();
            }
        }
        return taken != null;
    }

    private void leave(ToIntFunction<Pointer> release) {
        TurnlockException failure = use(open -> open.end(open.own(), release));
        acquisition = null;
        while (gate.isHeldByCurrentThread()) {
            gate.unlock();
        }
        if (failure != null) {
            throw failure;
        }
    }

    private void checkHeld() {
        if (!isHeldByCurrentThread()) {
            throw new IllegalMonitorStateException("this thread does not have the lock");
        }
    }
}
