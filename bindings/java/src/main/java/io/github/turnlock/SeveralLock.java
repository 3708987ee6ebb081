package io.github.turnlock;

import io.github.turnlock.OpenLock.Taken;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * What the kinds have in common that several threads may hold at once by one object. Only one thread at a time waits in the library,
 * in order, so that a crowd takes one slot more than those inside; of locks of parts each does, since a waiter for one
 * part does not hinder a caller that wants another.
 */
abstract class SeveralLock extends AnyLock {
    private final Semaphore turnstile;

    /** {@code waits} is how many threads may wait in the library at once. */
    SeveralLock(OpenLock open, int waits) {
        super(open);
        turnstile = new Semaphore(waits, true);
    }

    /** Takes the lock without waiting; null if another holder has it, or a waiter waits for it. */
    final Taken tryTake(Request request) {
        return turnstile.tryAcquire() ? takeInTurn(open -> open.take(request, 0)) : null;
    }

    /** Waits as long as it takes; an interrupt does not end that. */
    final Taken takePatiently(Request request) {
        turnstile.acquireUninterruptibly();
        return takeInTurn(open -> open.take(request, Long.MAX_VALUE));
    }

    /** Waits at most so many nanoseconds, or until the thread is interrupted. */
    final Taken take(Request request, long limit) throws InterruptedException, TimeoutException {
        long began = System.nanoTime();
        if (!turnstile.tryAcquire(limit, TimeUnit.NANOSECONDS)) {
            throw new TimeoutException(Texts.TURN_OF_ANOTHER_THREAD);
        }
        long left = limit == Long.MAX_VALUE ? limit : Math.max(limit - (System.nanoTime() - began), 0);
        Taken taken = takeInTurn(open -> open.takeInterruptibly(request, left));
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
}
