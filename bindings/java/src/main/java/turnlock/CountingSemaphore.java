package turnlock;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Deque;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A semaphore in a lock file with the methods of {@link Semaphore}: threads of all processes acquire its permits. A program
 * that uses the JDK's changes the type and the constructor: {@code new Semaphore(3)} becomes {@code
 * file.countingSemaphore("jobs", new TurnSemaphore.Options().permits(3))}, and {@code new Semaphore(3, true)} the same with
 * {@link TurnSemaphore.Options#strict}.
 *
 * <p>Permits belong to the object by which they were acquired, and any thread may release them there. The permits of a process
 * that dies come back. For that reason an object releases no more permits than it has acquired: {@link #release(int)} throws a
 * {@link TurnlockException} of {@link Status#TOO_MANY_RELEASED}. A semaphore has at least one permit; where none is to be
 * available at first, the program that creates it acquires them all. Each acquisition takes a slot of the file until all of its
 * permits are released.
 */
public final class CountingSemaphore implements AutoCloseable {
    private final TurnSemaphore semaphore;
    private final boolean isFair;
    /** The acquisitions of this object, in their order. */
    private final Deque<TurnSemaphore.Permits> held = new ArrayDeque<>();

    CountingSemaphore(TurnSemaphore semaphore) {
        this.semaphore = semaphore;
        isFair = semaphore.isStrict();
    }

    /** Acquires one permit, as {@link #acquire(int)} does. */
    public void acquire() throws InterruptedException {
        acquire(1);
    }

    /**
     * Acquires so many permits, all at once. Waits for them until the thread is interrupted, which is seen within 70
     * milliseconds. For 0 permits it does not wait. Throws {@link IllegalArgumentException} for a negative number, and a {@link
     * TurnlockException} of {@link Status#PERMITS} for more permits than the semaphore has, where the JDK's waits for ever.
     */
    public void acquire(int permits) throws InterruptedException {
        take(permits, Long.MAX_VALUE);
    }

    /** Acquires one permit, as {@link #acquireUninterruptibly(int)} does. */
    public void acquireUninterruptibly() {
        acquireUninterruptibly(1);
    }

    /** Acquires so many permits, as {@link #acquire(int)} does; an interrupt does not end the wait. */
    public void acquireUninterruptibly(int permits) {
        if (isSome(permits)) {
            keep(semaphore.acquire(permits));
        }
    }

    /** Acquires one permit if that needs no waiting, as {@link #tryAcquire(int)} does. */
    public boolean tryAcquire() {
        return tryAcquire(1);
    }

    /**
     * Acquires so many permits if that needs no waiting, and returns whether it did. A try does not overtake a waiter that is
     * queued, where the JDK's does. Throws {@link IllegalArgumentException} for a negative number.
     */
    public boolean tryAcquire(int permits) {
        if (!isSome(permits)) {
            return true;
        }
        Optional<TurnSemaphore.Permits> taken;
        try {
            taken = semaphore.tryAcquire(permits);
        } catch (TurnlockException failure) {
            if (failure.status() == Status.PERMITS) {
                return false;
            }
            throw failure;
        }
        taken.ifPresent(this::keep);
        return taken.isPresent();
    }

    /** Acquires one permit, as {@link #tryAcquire(int, long, TimeUnit)} does. */
    public boolean tryAcquire(long timeout, TimeUnit unit) throws InterruptedException {
        return tryAcquire(1, timeout, unit);
    }

    /**
     * Acquires so many permits, all at once, and returns whether it did. Waits at most so long, or until the thread is
     * interrupted, which is seen within 70 milliseconds. A negative time is 0. More permits than the semaphore has are awaited
     * in vain. Throws {@link IllegalArgumentException} for a negative number.
     */
    public boolean tryAcquire(int permits, long timeout, TimeUnit unit) throws InterruptedException {
        long limit = Math.max(unit.toNanos(timeout), 0);
        long began = System.nanoTime();
        try {
            return take(permits, limit);
        } catch (TurnlockException failure) {
            if (failure.status() != Status.PERMITS) {
                throw failure;
            }
        }
        TimeUnit.NANOSECONDS.sleep(limit - (System.nanoTime() - began));
        return tryAcquire(permits);
    }

    /** Releases one permit, as {@link #release(int)} does. */
    public void release() {
        release(1);
    }

    /**
     * Releases so many permits, those that were acquired last first. Any thread may do it. Throws {@link
     * IllegalArgumentException} for a negative number, and a {@link TurnlockException} of {@link Status#TOO_MANY_RELEASED},
     * releasing none, for more permits than this object has acquired.
     */
    public void release(int permits) {
        if (!isSome(permits)) {
            return;
        }
        synchronized (held) {
            long have = held.stream().mapToLong(TurnSemaphore.Permits::count).sum();
            if (permits > have) {
                throw new TurnlockException(Status.TOO_MANY_RELEASED, "there are " + permits + " permits to release, and this object"
                        + " has acquired " + have + ": a permit is released by the object that acquired it; resize() makes new ones");
            }
            int left = permits;
            TurnlockException failure = null;
            while (left > 0) {
                TurnSemaphore.Permits last = held.getLast();
                int part = Math.min(left, last.count());
                try {
                    last.release(part);
                } catch (TurnlockException thrown) {
                    // Where the file was seen damaged they are released all the same.
                    if (last.count() > 0) {
                        throw thrown;
                    }
                    failure = thrown;
                }
                left -= part;
                if (last.count() == 0) {
                    held.removeLast();
                }
            }
            if (failure != null) {
                throw failure;
            }
        }
    }

    /** Returns how many permits are available at this moment; negative after {@link #resize} to fewer than are acquired. */
    public int availablePermits() {
        return semaphore.permits() - semaphore.holders().stream().mapToInt(ParticipantInfo::permits).sum();
    }

    /**
     * Acquires all permits that are available, and returns how many. None while a waiter is queued, whom it does not overtake.
     */
    public int drainPermits() {
        for (int permits = availablePermits(); permits > 0; permits = Math.min(permits - 1, availablePermits())) {
            if (tryAcquire(permits)) {
                return permits;
            }
        }
        return 0;
    }

    /** Returns whether waiters are served strictly first come first served, as the semaphore's creator said. */
    public boolean isFair() {
        return isFair;
    }

    /** Returns whether a thread of any process waits for permits. */
    public boolean hasQueuedThreads() {
        return getQueueLength() > 0;
    }

    /** Estimates how many wait for permits: the threads that wait by this object, and the participants of others. */
    public int getQueueLength() {
        return semaphore.queueLength();
    }

    /** Returns the threads of this process that wait for permits by this object. */
    public Collection<Thread> getQueuedThreads() {
        return semaphore.queuedThreads();
    }

    /** Returns how many permits the semaphore has, acquired or not. */
    public int permits() {
        return semaphore.permits();
    }

    /**
     * Gives the semaphore so many permits, for all processes and at once. {@link Status#PERMITS} for fewer than 1. Those that
     * are acquired stay so.
     */
    public void resize(int permits) {
        semaphore.resize(permits);
    }

    /** Returns the holders of permits, one for each acquisition. */
    public List<ParticipantInfo> holders() {
        return semaphore.holders();
    }

    /** Returns the waiters for permits. Threads that wait by one object are one. */
    public List<ParticipantInfo> waiters() {
        return semaphore.waiters();
    }

    /**
     * Closes the semaphore; threads that wait for it get {@link Status#CLOSED}. Throws a {@link TurnlockException} of {@link
     * Status#STILL_HELD}, and does nothing, while permits are held by this object. To close it again does nothing.
     */
    @Override
    public void close() {
        semaphore.close();
    }

    /** Returns a text with the number of available permits, as the JDK's does. */
    @Override
    public String toString() {
        return super.toString() + "[Permits = " + availablePermits() + "]";
    }

    /** Acquires permits within so many nanoseconds. */
    private boolean take(int permits, long limit) throws InterruptedException {
        boolean isSome = isSome(permits);
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (limit <= 0 || !isSome) {
            return tryAcquire(permits);
        }
        try {
            keep(semaphore.acquire(permits, Duration.ofNanos(limit)));
            return true;
        } catch (TimeoutException passed) {
            return false;
        }
    }

    private void keep(TurnSemaphore.Permits permits) {
        synchronized (held) {
            held.addLast(permits);
        }
    }

    private static boolean isSome(int permits) {
        if (permits < 0) {
            throw new IllegalArgumentException("a number of permits is not negative, as " + permits + " is");
        }
        return permits > 0;
    }
}
