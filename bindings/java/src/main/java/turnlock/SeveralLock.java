package turnlock;

import turnlock.OpenLock.Taken;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * What the kinds have in common that several threads may hold at once by one object. Only one thread at a time waits in the library,
 * in order, so that a crowd takes one slot more than those inside; of locks of parts, and of groups, each does, since a waiter for one
 * part does not hinder a caller that wants another.
 */
abstract class SeveralLock extends AnyLock {
    private final Semaphore turnstile;
    /** The threads that found the turnstile closed, until they have the lock or give up. */
    private final Set<Thread> behind = ConcurrentHashMap.newKeySet();

    /** {@code waits} is how many threads may wait in the library at once. */
    SeveralLock(OpenLock open, int waits) {
        super(open);
        turnstile = new Semaphore(waits, true);
    }

    /**
     * Takes the lock without waiting; null if another holder has it, or a waiter waits for it. It does not go through the
     * turnstile: a reader that tries while another one tries would not get what both may have.
     */
    final Taken tryTake(Request request) {
        return use(open -> open.take(request, 0));
    }

    /** Waits as long as it takes; an interrupt does not end that. */
    final Taken takePatiently(Request request) {
        if (passes()) {
            return takeInTurn(open -> open.take(request, Long.MAX_VALUE));
        }
        behind.add(Thread.currentThread());
        try {
            turnstile.acquireUninterruptibly();
            return takeInTurn(open -> open.take(request, Long.MAX_VALUE));
        } finally {
            behind.remove(Thread.currentThread());
        }
    }

    /** Waits at most so many nanoseconds, or until the thread is interrupted. */
    final Taken take(Request request, long limit) throws InterruptedException, TimeoutException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (limit == 0) {
            return orTimedOut(tryTake(request));
        }
        if (passes()) {
            return takeInTurn(request, limit);
        }
        long began = System.nanoTime();
        behind.add(Thread.currentThread());
        try {
            if (!turnstile.tryAcquire(limit, TimeUnit.NANOSECONDS)) {
                throw new TimeoutException(Texts.TURN_OF_ANOTHER_THREAD);
            }
            return takeInTurn(request, limit == Long.MAX_VALUE ? limit : Math.max(limit - (System.nanoTime() - began), 0));
        } finally {
            behind.remove(Thread.currentThread());
        }
    }

    /** Whether the thread has the turnstile without waiting for another one. */
    private boolean passes() {
        return !turnstile.hasQueuedThreads() && turnstile.tryAcquire();
    }

    private Taken takeInTurn(Request request, long limit) throws InterruptedException, TimeoutException {
        return orTimedOut(takeInTurn(open -> open.takeInterruptibly(request, limit)));
    }

    private static Taken orTimedOut(Taken taken) throws TimeoutException {
        if (taken == null) {
            throw Native.timedOut();
        }
        return taken;
    }

    /** Having the turnstile, which this gives back. */
    private <Failure extends Exception> Taken takeInTurn(Use<Taken, Failure> take) throws Failure {
        try {
            return use(take);
        } finally {
            turnstile.release();
        }
    }

    /** The threads of this process that wait by this object. */
    final Set<Thread> queuedThreads() {
        Set<Thread> threads = new HashSet<>(behind);
        threads.addAll(use(OpenLock::waitingThreads));
        return threads;
    }

    /** About how many wait: the threads that wait by this object, and the participants of others. */
    final int queueLength() {
        int others = use(open -> open.waiters().size() - open.waitingThreads().size());
        return queuedThreads().size() + Math.max(others, 0);
    }

    /** Whether waiters are served strictly first come first served. */
    final boolean isStrict() {
        return use(OpenLock::patience) == 0;
    }
}
