package turnlock;

import com.sun.jna.Memory;
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
    /**
     * The threads of this process that want the lock, in order; its holder has the lock or waits for it in the library. A thread that
     * comes back from a condition has the lock without it.
     */
    private final ReentrantLock gate = new ReentrantLock(true);

    /** For the thread that has the gate. */
    private final Request request = Request.inMode(Native.MODE_EXCLUSIVE);
    /** That of the thread that has the lock; null while the lock is not held. It is changed by a thread that has the lock. */
    private volatile Tenure tenure;

    /** A thread's having the lock. */
    private static final class Tenure {
        final Thread thread = Thread.currentThread();
        final Pointer hold;
        final Acquisition acquisition;
        /** How often the thread has it. */
        int times = 1;
        /** The thread has marked the data consistent. */
        boolean isMarked;
        /** It has the gate too: not if it has waited at a condition, since another thread may have the gate by then. */
        boolean hasGate = true;

        Tenure(Pointer hold, Acquisition acquisition) {
            this.hold = hold;
            this.acquisition = acquisition;
        }
    }

    TurnLock(OpenLock open) {
        super(open);
    }

    /** Waits for the lock as long as it takes; an interrupt does not end that. */
    @Override
    public void lock() {
        if (again()) {
            return;
        }
        gate.lock();
        enter(open -> open.take(request, Long.MAX_VALUE));
    }

    /**
     * Waits for the lock as long as it takes, or until the thread is interrupted. Then nothing is left in the queue. An
     * interrupt is seen within 70 milliseconds.
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (againInterruptibly()) {
            return;
        }
        gate.lockInterruptibly();
        enter(open -> open.takeInterruptibly(request, Long.MAX_VALUE));
    }

    /** Takes the lock if that needs no waiting. */
    @Override
    public boolean tryLock() {
        return again() || gate.tryLock() && enter(open -> open.take(request, 0));
    }

    /** Waits at most so long, or until the thread is interrupted. A negative time is none. */
    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        long limit = Math.max(unit.toNanos(time), 0);
        if (againInterruptibly()) {
            return true;
        }
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
        return tenure.acquisition;
    }

    /** Waits at most so long, or until the thread is interrupted. */
    public Acquisition acquire(Duration limit) throws InterruptedException, TimeoutException {
        long nanoseconds = Math.max(Texts.nanoseconds(Objects.requireNonNull(limit, "limit")), 0);
        if (againInterruptibly()) {
            return tenure.acquisition;
        }
        long began = System.nanoTime();
        if (!gate.tryLock(nanoseconds, TimeUnit.NANOSECONDS)) {
            throw new TimeoutException(Texts.TURN_OF_ANOTHER_THREAD);
        }
        long left = Math.max(nanoseconds - (System.nanoTime() - began), 0);
        if (!enter(open -> open.takeInterruptibly(request, left))) {
            throw Native.timedOut();
        }
        return tenure.acquisition;
    }

    /**
     * Unlocks. After a death without {@link #markConsistent} this closes a lock for everyone, until {@link #reset}, whose death
     * policy is {@link DeathPolicy#INFORM}, and logs a warning ({@link System.Logger}, "turnlock"). {@link
     * Status#DAMAGED} and {@link Status#REPLACED} say that something was seen to have happened to the file, and {@link
     * Status#LEASE_ENDED} that another host may have had the lock: it is unlocked all the same.
     */
    @Override
    public void unlock() {
        Tenure mine = held();
        if (mine.times > 1) {
            mine.times--;
            return;
        }
        boolean closes = mine.acquisition.ownerDied() && !mine.isMarked && deathPolicy() == DeathPolicy.INFORM;
        leave(Native::turnlock_hold_release);
        if (closes) {
            DeathPolicy.warnOfClosed();
        }
    }

    /** Unlocks as a dying owner does, since the data were left half-done, however often the thread has it. */
    public void abandon() {
        leave(Native::turnlock_hold_abandon);
    }

    /** Says, after {@link Acquisition#ownerDied}, that the data are consistent again. */
    public void markConsistent() {
        Tenure mine = held();
        use(open -> Native.check(Native.turnlock_hold_mark_consistent(mine.hold)));
        mine.isMarked = true;
    }

    /** Whether another participant waits behind the holder, which asks. Threads that share this object are not counted. */
    public boolean isContended() {
        Tenure mine = held();
        return use(open -> Native.check(Native.turnlock_hold_is_contended(mine.hold))) == Native.CONTENDED;
    }

    /** What came with the acquisition that is held now. For the holder. */
    public Acquisition acquisition() {
        return held().acquisition;
    }

    /** Whether the calling thread has the lock. */
    public boolean isHeldByCurrentThread() {
        Tenure one = tenure;
        return one != null && one.thread == Thread.currentThread();
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

    /**
     * Throws {@link UnsupportedOperationException}: a condition between processes has a name. Of a mutex: {@link LockFile#condition},
     * and {@link TurnCondition#with(Mutex)}.
     */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException(
                "a condition between processes has a name: open it by LockFile.condition, and use it by with(mutex)");
    }

    /**
     * Waits at a condition, with the lock unlocked, however often the thread has it; returns what went wrong, or null. Other threads
     * may take the lock by this object meanwhile. The thread comes back with the lock, and without the gate: the one that has the gate
     * then waits for the lock.
     */
    final TurnlockException waitAt(TurnCondition.Wait wait) {
        Tenure mine = held();
        tenure = null;
        if (mine.hasGate) {
            mine.hasGate = false;
            gate.unlock();
        }
        Memory acquired = Request.newAcquired();
        try {
            return wait.with(mine.hold, acquired);
        } finally {
            if (use(open -> open.hasAgain(mine.hold))) {
                OpenLock.Taken again = OpenLock.Taken.again(mine.hold, acquired);
                if (again != null) {
                    mine.acquisition.becomes(again);
                    mine.isMarked = false;
                }
                tenure = mine;
            }
        }
    }

    /** Whether the thread has the lock, and has it once more now. */
    private boolean again() {
        if (!isHeldByCurrentThread()) {
            return false;
        }
        if (tenure.times == Integer.MAX_VALUE) {
            throw new Error("Maximum lock count exceeded");
        }
        tenure.times++;
        return true;
    }

    private boolean againInterruptibly() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        return again();
    }

    /** Takes the lock in the library, having the gate; gives the gate back where that fails. */
    private <Failure extends Exception> boolean enter(Use<OpenLock.Taken, Failure> take) throws Failure {
        OpenLock.Taken taken = null;
        try {
            taken = use(take);
            if (taken != null) {
                tenure = new Tenure(taken.hold, new Acquisition(this, taken));
            }
        } finally {
            if (taken == null) {
                gate.unlock();
            }
        }
        return taken != null;
    }

    private void leave(ToIntFunction<Pointer> release) {
        Tenure mine = held();
        TurnlockException failure;
        // Before another thread has the lock.
        tenure = null;
        try {
            failure = use(open -> open.end(mine.hold, release));
        } catch (TurnlockException stillHeld) {
            tenure = mine;
            throw stillHeld;
        }
        if (mine.hasGate) {
            gate.unlock();
        }
        if (failure != null) {
            throw failure;
        }
    }

    private Tenure held() {
        Tenure one = tenure;
        if (one == null || one.thread != Thread.currentThread()) {
            throw new IllegalMonitorStateException("this thread does not have the lock");
        }
        return one;
    }
}
