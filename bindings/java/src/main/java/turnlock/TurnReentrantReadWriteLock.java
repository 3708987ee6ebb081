package turnlock;

import java.io.IOException;
import java.io.NotSerializableException;
import java.io.ObjectOutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;

/**
 * A {@link ReentrantReadWriteLock} that also excludes other processes: a reader/writer lock in a lock file. A program that uses
 * the JDK's changes the constructor: {@code new ReentrantReadWriteLock()} becomes {@code file.readWriteLock("accounts")}, and
 * {@code new ReentrantReadWriteLock(true)} the same with {@link RwLock.Options#strict}.
 *
 * <p>A thread may take again what it has, may read while it writes, and may downgrade: it takes the read lock, then unlocks the
 * write lock, and no writer enters in between. A thread that has the read lock alone and asks for the write lock would wait for
 * itself: {@link WriteLock#lock} throws a {@link TurnlockException} of {@link Status#DEADLOCK}, where the JDK's waits for ever.
 * Each thread that reads is one holder in the file, with a slot, however often it has the lock.
 *
 * <p>The death of a writer is not an exception, since the next thread has the lock: {@link #ownerDied} tells it.
 *
 * <p>{@link #isWriteLocked} and {@link #getReadLockCount} count the holders in all processes. {@code hasQueuedThreads}, {@code
 * hasQueuedThread} and {@code getQueueLength} are final in the JDK: they count the threads that wait behind another thread of
 * this object, and {@link #waiters} has what waits in the file. {@code toString} tells of threads that use this object.
 */
public final class TurnReentrantReadWriteLock extends ReentrantReadWriteLock implements AutoCloseable {
    private static final long serialVersionUID = 1;

    /** Takes the lock in the file, for a thread that has it within this process; null if it was not to be had. */
    private interface Take<Failure extends Exception> {
        RwLock.Hold now() throws Failure;
    }

    private final transient RwLock rwLock;
    private final transient ReadLock readLock = new ReadLock();
    private final transient WriteLock writeLock = new WriteLock();
    /** The hold of the thread that has the write lock; it may have the read lock too. */
    private transient volatile RwLock.Hold writing;
    /** The calling thread's hold, if it has the read lock alone. */
    private final transient ThreadLocal<RwLock.Hold> reading = new ThreadLocal<>();
    /** How many threads have such a hold, or wait for it in the file. */
    private final transient AtomicInteger readers = new AtomicInteger();

    TurnReentrantReadWriteLock(RwLock rwLock) {
        super(rwLock.isStrict());
        this.rwLock = rwLock;
    }

    /** Returns the lock for reading, the same object each time. */
    @Override
    public ReadLock readLock() {
        return readLock;
    }

    /** Returns the lock for writing, the same object each time. */
    @Override
    public WriteLock writeLock() {
        return writeLock;
    }

    /** The lock for reading: several threads and processes may have it at once, while none writes. */
    public final class ReadLock extends ReentrantReadWriteLock.ReadLock {
        private static final long serialVersionUID = 1;

        private ReadLock() {
            super(TurnReentrantReadWriteLock.this);
        }

        /** Waits for the lock as long as it takes; an interrupt does not end that. */
        @Override
        public void lock() {
            super.lock();
            enter(() -> rwLock.acquire(RwLock.Mode.SHARED));
        }

        /** Waits for the lock until the thread is interrupted, which is seen within 70 milliseconds. */
        @Override
        public void lockInterruptibly() throws InterruptedException {
            super.lockInterruptibly();
            enter(() -> within(RwLock.Mode.SHARED, Long.MAX_VALUE));
        }

        /**
         * Takes the lock if that needs no waiting, and returns whether it did. It does not overtake a writer that is queued in
         * the file.
         */
        @Override
        public boolean tryLock() {
            return super.tryLock() && enter(() -> now(RwLock.Mode.SHARED));
        }

        /**
         * Waits for the lock at most so long, or until the thread is interrupted, and returns whether it has it. A negative
         * time is 0.
         */
        @Override
        public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
            long began = System.nanoTime();
            return super.tryLock(time, unit) && enter(() -> within(RwLock.Mode.SHARED, left(began, unit.toNanos(time))));
        }

        /** Unlocks once. The lock is free in the file when the thread has neither lock any more. */
        @Override
        public void unlock() {
            if (getReadHoldCount() == 0) {
                throw new IllegalMonitorStateException("this thread does not have the read lock");
            }
            if (getReadHoldCount() > 1 || isWriteLockedByCurrentThread()) {
                super.unlock();
                return;
            }
            end(RwLock.Hold::unlock, this::leave);
        }

        private <Failure extends Exception> boolean enter(Take<Failure> take) throws Failure {
            if (getReadHoldCount() > 1 || isWriteLockedByCurrentThread()) {
                return true;
            }
            readers.incrementAndGet();
            RwLock.Hold hold = null;
            try {
                hold = take.now();
                reading.set(hold);
            } finally {
                if (hold == null) {
                    leave();
                }
            }
            return hold != null;
        }

        /** For a thread whose hold has ended. */
        private void leave() {
            reading.remove();
            readers.decrementAndGet();
            unlockWithin();
        }

        private void unlockWithin() {
            while (getReadHoldCount() > 0) {
                super.unlock();
            }
        }
    }

    /** The lock for writing: one thread of all processes has it at a time. */
    public final class WriteLock extends ReentrantReadWriteLock.WriteLock {
        private static final long serialVersionUID = 1;

        private WriteLock() {
            super(TurnReentrantReadWriteLock.this);
        }

        /**
         * Waits for the lock as long as it takes; an interrupt does not end that. Throws a {@link TurnlockException} of {@link
         * Status#DEADLOCK} if the thread has the read lock alone.
         */
        @Override
        public void lock() {
            checkNotReading();
            super.lock();
            enter(() -> rwLock.acquire(RwLock.Mode.EXCLUSIVE));
        }

        /**
         * Waits for the lock until the thread is interrupted, which is seen within 70 milliseconds. Throws a {@link
         * TurnlockException} of {@link Status#DEADLOCK} if the thread has the read lock alone.
         */
        @Override
        public void lockInterruptibly() throws InterruptedException {
            checkNotReading();
            super.lockInterruptibly();
            enter(() -> within(RwLock.Mode.EXCLUSIVE, Long.MAX_VALUE));
        }

        /** Takes the lock if that needs no waiting, and returns whether it did; not if the thread has the read lock alone. */
        @Override
        public boolean tryLock() {
            return super.tryLock() && enter(() -> now(RwLock.Mode.EXCLUSIVE));
        }

        /**
         * Waits for the lock at most so long, or until the thread is interrupted, and returns whether it has it. A negative
         * time is 0. A thread that has the read lock alone waits in vain, as for the JDK's.
         */
        @Override
        public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
            long began = System.nanoTime();
            return super.tryLock(time, unit) && enter(() -> within(RwLock.Mode.EXCLUSIVE, left(began, unit.toNanos(time))));
        }

        /**
         * Unlocks once. A thread that has the read lock too keeps it, and no writer enters in between. After {@link #ownerDied}
         * without {@link #markConsistent} a lock with the death policy {@link DeathPolicy#INFORM} is closed for everyone until
         * {@link #reset}, and a warning is logged ({@link System.Logger}, "turnlock").
         */
        @Override
        public void unlock() {
            if (!isHeldByCurrentThread()) {
                throw new IllegalMonitorStateException("this thread does not have the write lock");
            }
            if (getHoldCount() > 1) {
                super.unlock();
                return;
            }
            if (getReadHoldCount() == 0) {
                end(RwLock.Hold::unlock, this::leave);
                return;
            }
            RwLock.Hold hold = writing;
            hold.downgrade(RwLock.Mode.SHARED);
            reading.set(hold);
            readers.incrementAndGet();
            leave();
        }

        /**
         * Throws {@link UnsupportedOperationException}: a condition between processes has a name, and waits with a {@link RwLock.Hold}:
         * {@link TurnCondition#with(RwLock.Hold)}.
         */
        @Override
        public Condition newCondition() {
            throw new UnsupportedOperationException("a condition between processes has a name: open it by LockFile.condition, and use it"
                    + " by with(hold), of a hold of LockFile.rwLock");
        }

        private void checkNotReading() {
            if (getReadHoldCount() > 0 && !isHeldByCurrentThread()) {
                throw new TurnlockException(Status.DEADLOCK, "this thread has the read lock, and would wait for itself: unlock it"
                        + " before you take the write lock");
            }
        }

        private <Failure extends Exception> boolean enter(Take<Failure> take) throws Failure {
            if (getHoldCount() > 1) {
                return true;
            }
            RwLock.Hold hold = null;
            try {
                hold = take.now();
                writing = hold;
            } finally {
                if (hold == null) {
                    leave();
                }
            }
            return hold != null;
        }

        /** For a thread whose hold has ended, or is one for reading now. */
        private void leave() {
            writing = null;
            while (isHeldByCurrentThread()) {
                super.unlock();
            }
        }
    }

    /** Returns whether a writer died, and the data are not marked consistent yet. For a thread that has the lock. */
    public boolean ownerDied() {
        return held().ownerDied();
    }

    /** Returns the process of the writer that died; 0 if none died. For a thread that has the lock. */
    public long deadOwnerPid() {
        return held().deadOwnerPid();
    }

    /** Returns the writer's fencing token; readers have that of the last writer. For a thread that has the lock. */
    public long fencingToken() {
        return held().fencingToken();
    }

    /**
     * Returns whether another participant waits for the lock, not counting threads that share this object. For a thread that
     * has it.
     */
    public boolean isContended() {
        return held().isContended();
    }

    /**
     * Says, after {@link #ownerDied}, that the data are consistent again. {@link Status#NOT_EXCLUSIVE} if the thread does not
     * write.
     */
    public void markConsistent() {
        held().markConsistent();
    }

    /** Unlocks both locks, however often the thread has them, as a dying owner does: if it writes, the next holder is told. */
    public void abandon() {
        if (isWriteLockedByCurrentThread()) {
            end(RwLock.Hold::abandon, () -> {
                readLock.unlockWithin();
                writeLock.leave();
            });
        } else {
            end(RwLock.Hold::abandon, readLock::leave);
        }
    }

    /** Returns whether a thread of any process has the write lock. */
    @Override
    public boolean isWriteLocked() {
        return holders().stream().anyMatch(TurnReentrantReadWriteLock::writes);
    }

    /** Estimates how many read locks are held: each as often as a thread has it by this object, and one for each other reader. */
    @Override
    public int getReadLockCount() {
        int all = (int) holders().stream().filter(holder -> !writes(holder)).count();
        // The JDK's count has the threads that wait for another process: they are in `readers`, and are no holders.
        return Math.max(super.getReadLockCount() + all - readers.get(), 0);
    }

    /** Returns the thread that has the write lock by this object, or null. */
    @Override
    public Thread getOwner() {
        return writing == null ? null : super.getOwner();
    }

    /** Returns the threads that wait by this object, for one another or for another process. */
    @Override
    public Collection<Thread> getQueuedThreads() {
        List<Thread> threads = new ArrayList<>(super.getQueuedThreads());
        threads.addAll(rwLock.queuedThreads());
        return threads;
    }

    /** Returns the holders of the lock, dead or alive. */
    public List<ParticipantInfo> holders() {
        return rwLock.holders();
    }

    /** Returns what waits in the file. Threads that wait behind a writer of this object are not among it. */
    public List<ParticipantInfo> waiters() {
        return rwLock.waiters();
    }

    /** Returns the writer that died last. */
    public Optional<DeadOwner> previousOwner() {
        return rwLock.previousOwner();
    }

    /**
     * Makes a lock usable again that was closed for everyone, after the data were repaired or given up. Waits until no one
     * holds it.
     */
    public void reset() {
        rwLock.reset();
    }

    /**
     * Closes the lock; threads that wait for another process get {@link Status#CLOSED}. Throws a {@link TurnlockException} of
     * {@link Status#STILL_HELD}, and does nothing, while a thread has it. To close it again does nothing.
     */
    @Override
    public void close() {
        rwLock.close();
    }

    /** Throws {@link NotSerializableException}: another process opens the lock by its name. */
    private void writeObject(ObjectOutputStream out) throws IOException {
        throw new NotSerializableException(getClass().getName());
    }

    private static boolean writes(ParticipantInfo holder) {
        return holder.mode() == ParticipantInfo.Mode.EXCLUSIVE;
    }

    /** Returns the calling thread's hold. */
    private RwLock.Hold held() {
        RwLock.Hold hold = isWriteLockedByCurrentThread() ? writing : reading.get();
        if (hold == null) {
            throw new IllegalMonitorStateException("this thread does not have the lock");
        }
        return hold;
    }

    /** Ends the calling thread's hold, and then what it has within this process; also where the file was seen damaged. */
    private void end(Consumer<RwLock.Hold> release, Runnable leave) {
        RwLock.Hold hold = held();
        try {
            release.accept(hold);
        } finally {
            if (!hold.isHeld()) {
                leave.run();
            }
        }
    }

    /** Returns a hold if that needs no waiting, or null. */
    private RwLock.Hold now(RwLock.Mode mode) {
        return rwLock.tryAcquire(mode).orElse(null);
    }

    /** Waits at most so many nanoseconds for a hold, and returns it, or null. */
    private RwLock.Hold within(RwLock.Mode mode, long nanoseconds) throws InterruptedException {
        if (nanoseconds <= 0) {
            return now(mode);
        }
        try {
            return rwLock.acquire(mode, Duration.ofNanos(nanoseconds));
        } catch (TimeoutException passed) {
            return null;
        }
    }

    /** Returns what is left of a limit, in nanoseconds. */
    private static long left(long began, long limit) {
        return Math.max(limit, 0) - (System.nanoTime() - began);
    }
}
