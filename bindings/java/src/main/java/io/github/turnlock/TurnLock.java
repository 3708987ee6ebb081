package io.github.turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A lock of a kind that one holds at a time: a {@link Mutex} or a {@link TurnRing}. It belongs to the thread that took it,
 * which may take it again, as with a {@link ReentrantLock}; to another process it is taken once.
 *
 * <p>A holder that died is not an exception, since the lock is held then: {@link #acquisition} says it.
 *
 * <p>Methods throw {@link TurnlockException}; those that only the holder may call {@link IllegalMonitorStateException}.
 */
public abstract class TurnLock implements Lock, AutoCloseable {
    /** The threads of this process that want the lock, in order; its holder has the lock or waits for it in the library. */
    private final ReentrantLock gate = new ReentrantLock(true);

    private final Handle handle;
    /** Written by the holder, over the handle, so that {@link #close} sees it. */
    private volatile Acquisition acquisition;
    /** The holder has marked the data consistent. */
    private boolean isMarked;

    TurnLock(Pointer file, Pointer lock, String label) {
        Pointer participant;
        try {
            participant = Participants.open(file, label);
        } catch (RuntimeException failure) {
            calls().close(lock);
            throw failure;
        }
        Calls calls = calls();
        // A lock that is held when it is garbage stays held, until the process ends.
        handle = new Handle(() -> {
            if (Native.turnlock_participant_close(participant) >= 0) {
                calls.close(lock);
            }
        }, lock, participant);
        LockFile.CLEANER.register(this, handle::close);
    }

    /** The functions of the library for this kind. */
    abstract Calls calls();

    /** Calls the library with the lock and its participant. */
    final <Result> Result use(Handle.Use<Result> use) {
        try {
            return handle.use(use);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** Waits for the lock as long as it takes; an interrupt does not end that. */
    @Override
    public void lock() {
        gate.lock();
        enter((lock, participant, acquired) -> calls().lock(lock, participant, acquired));
    }

    /**
     * Waits for the lock as long as it takes, or until the thread is interrupted. Then nothing is left in the queue. An
     * interrupt is seen within 70 milliseconds.
     */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        gate.lockInterruptibly();
        enterInterruptibly((lock, participant, acquired) -> calls().lock(lock, participant, acquired));
    }

    /** Takes the lock if that needs no waiting. */
    @Override
    public boolean tryLock() {
        return gate.tryLock()
                && enter((lock, participant, acquired) -> calls().tryLock(lock, participant, acquired));
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
        return enterInterruptibly((lock, participant, acquired) -> calls().lockFor(lock, participant, left, acquired));
    }

    /** {@link #lock} as it is used in a try block: {@code try (Acquisition held = lock.acquire()) {...}}. */
    public Acquisition acquire() {
        lock();
        return acquisition;
    }

    /** Waits at most so long, or until the thread is interrupted. */
    public Acquisition acquire(Duration limit) throws InterruptedException, TimeoutException {
        if (!tryLock(Texts.nanoseconds(Objects.requireNonNull(limit, "limit")), TimeUnit.NANOSECONDS)) {
            throw new TimeoutException("the time limit passed before the turn came");
        }
        return acquisition;
    }

    /**
     * Unlocks. After a death without {@link #markConsistent} this closes a lock for everyone, until {@link #reset}, whose death
     * policy is {@link DeathPolicy#INFORM}, and logs a warning ({@link System.Logger}, "io.github.turnlock"). {@link
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
        leave(use(calls()::unlock));
        if (closes) {
            DeathPolicy.warnOfClosed();
        }
    }

    /** Unlocks as a dying owner does, since the data were left half-done, however often the thread has it. */
    public void abandon() {
        checkHeld();
        leave(use(calls()::abandon));
    }

    /** Says, after {@link Acquisition#ownerDied}, that the data are well again. */
    public void markConsistent() {
        checkHeld();
        use((lock, participant) -> Native.check(calls().markConsistent(lock, participant)));
        isMarked = true;
    }

    /** Whether another participant waits behind the holder, which asks. Threads that share this object are not counted. */
    public boolean isContended() {
        checkHeld();
        return use((lock, participant) -> Native.check(calls().isContended(lock, participant))) == Native.CONTENDED;
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
        use((lock, participant) -> Native.check(calls().resetFor(lock, Long.MAX_VALUE)));
    }

    /** {@link #reset} if that needs no waiting. */
    public boolean tryReset() {
        return use((lock, participant) -> {
            int status = calls().resetFor(lock, 0);
            return status != Status.TIMED_OUT.number() && Native.check(status) >= 0;
        });
    }

    /** What a holder's death means here, as the lock's creator said. */
    public DeathPolicy deathPolicy() {
        return use((lock, participant) -> DeathPolicy.told(policy -> calls().deathPolicy(lock, policy)));
    }

    /** Who died holding the lock, last. */
    public Optional<DeadOwner> previousOwner() {
        return use((lock, participant) -> DeadOwner.found(owner -> calls().previousOwner(lock, owner)));
    }

    /** Who has the lock now, dead or alive. */
    public Optional<ParticipantInfo> holder() {
        return use((lock, participant) -> {
            Memory info = Native.struct(ParticipantInfo.SIZE);
            return found(calls().holder(lock, info)) ? Optional.of(new ParticipantInfo(info)) : Optional.empty();
        });
    }

    /** Who waits now, first the one that is next; of a ring also who stands in it. */
    public List<ParticipantInfo> waiters() {
        return use((lock, participant) -> ParticipantInfo.listed(
                (capacity, infos, count) -> calls().waiters(lock, capacity, infos, count)));
    }

    /** There are no conditions between processes. */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("turnlock has no conditions");
    }

    /**
     * Closes the lock; threads that wait for it get {@link Status#CLOSED}. While a thread has it, that is {@link
     * Status#STILL_HELD}, and nothing is done. To close it again does nothing.
     */
    @Override
    public void close() {
        synchronized (handle) {
            if (acquisition != null) {
                throw new TurnlockException(Status.STILL_HELD, "the lock is held: unlock it before it is closed");
            }
            handle.close();
        }
    }

    private static boolean found(int status) {
        return status != Status.NOT_FOUND.number() && Native.check(status) >= 0;
    }

    private interface Entry {
        int by(Pointer lock, Pointer participant, Pointer acquired);
    }

    private boolean enterInterruptibly(Entry entry) throws InterruptedException {
        try {
            return enter((lock, participant, acquired) ->
                    Interrupts.interruptibly(() -> entry.by(lock, participant, acquired)));
        } catch (TurnlockException failure) {
            if (failure.status() == Status.INTERRUPTED && Thread.interrupted()) {
                throw new InterruptedException();
            }
            throw failure;
        }
    }

    /** Takes the lock in the library, having the gate; gives the gate back where that fails. */
    private boolean enter(Entry entry) {
        if (gate.getHoldCount() > 1) {
            return true;
        }
        boolean isIn = false;
        try {
            isIn = use((lock, participant) -> {
                Memory acquired = Native.struct(Acquisition.SIZE);
                int status = entry.by(lock, participant, acquired);
                if (status == Status.WOULD_BLOCK.number() || status == Status.TIMED_OUT.number()) {
                    return false;
                }
                if (status == Status.CANCELLED.number()) {
                    throw Handle.closed();
                }
                Native.check(status);
                synchronized (handle) {
                    if (handle.isClosing()) {
                        // It came all the same. Who died before is still to be told of.
                        int ignored = status == Native.OWNER_DEAD
                                ? calls().abandon(lock, participant) : calls().unlock(lock, participant);
                        throw Handle.closed();
                    }
                    isMarked = false;
                    acquisition = new Acquisition(this, status, acquired);
                }
                return true;
            });
        } finally {
            if (!isIn) {
                gate.unlock();
            }
        }
        return isIn;
    }

    /** The library has unlocked, or not: as {@code status} says. */
    private void leave(int status) {
        TurnlockException failure = status < 0 ? Native.failure(status) : null;
        if (failure == null || failure.status() == Status.DAMAGED || failure.status() == Status.REPLACED) {
            synchronized (handle) {
                acquisition = null;
            }
            while (gate.isHeldByCurrentThread()) {
                gate.unlock();
            }
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
