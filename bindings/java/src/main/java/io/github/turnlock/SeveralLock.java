package io.github.turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * What the kinds have in common that several threads may hold at once by one object. Each holding has a participant of its own,
 * which a later one uses again. Only one thread at a time waits in the library, in order, so that a crowd takes one slot more
 * than those inside; of locks of parts each does, since who waits for one part is in nobody's way who wants another.
 */
abstract class SeveralLock implements AutoCloseable {
    /** How the library is called for an entry; {@code limit} is in nanoseconds. */
    interface Entry {
        int tryNow(Pointer lock, Pointer participant, Pointer acquired);

        int waitFor(Pointer lock, Pointer participant, long limit, Pointer acquired);

        /** It was taken, and nobody wants it any more. */
        int giveBack(Pointer lock, Pointer participant, int status);
    }

    /** A participant that holds the lock, and what came with it. */
    static final class Taken {
        final Pointer participant;
        final int status;
        final Memory acquired;

        Taken(Pointer participant, int status, Memory acquired) {
            this.participant = participant;
            this.status = status;
            this.acquired = acquired;
        }
    }

    /** What is open: also what is left of an object that is garbage. */
    private static final class State {
        final Handle.Shared file;
        final Pointer lock;
        final String label;
        final Runnable close;
        final Deque<Pointer> idle = new ArrayDeque<>();
        /** Who waits in the library now. */
        final Set<Pointer> waiting = new HashSet<>();
        int inside;
        int held;
        boolean isClosing;

        State(Handle.Shared file, Pointer lock, String label, Runnable close) {
            this.file = file;
            this.lock = lock;
            this.label = label;
            this.close = close;
        }

        synchronized void enter() {
            if (isClosing) {
                throw Handle.closed();
            }
            inside++;
        }

        synchronized void leave() {
            inside--;
            if (isClosing && inside == 0) {
                closeHandles();
            }
        }

        synchronized void close(boolean isGarbage) {
            if (isClosing) {
                return;
            }
            if (held > 0) {
                // A lock that is held when it is garbage stays held, until the process ends.
                if (isGarbage) {
                    return;
                }
                throw new TurnlockException(Status.STILL_HELD, "the lock is held: let go of it before it is closed");
            }
            isClosing = true;
            waiting.forEach(Native::turnlock_participant_cancel);
            if (inside == 0) {
                closeHandles();
            }
        }

        private void closeHandles() {
            idle.forEach(Native::turnlock_participant_close);
            close.run();
            file.drop();
        }

        Pointer participant() {
            synchronized (this) {
                if (!idle.isEmpty()) {
                    return idle.pop();
                }
            }
            return Participants.open(file.pointer(), label);
        }

        /** Whether the wait may begin: not if the lock is being closed. */
        synchronized boolean waits(Pointer participant) {
            waiting.add(participant);
            return !isClosing;
        }

        /** Whether it may be held: not if the lock is being closed. */
        synchronized boolean isHeldNow(Pointer participant) {
            waiting.remove(participant);
            held += isClosing ? 0 : 1;
            return !isClosing;
        }

        synchronized void free(Pointer participant, boolean wasHeld) {
            waiting.remove(participant);
            idle.push(participant);
            held -= wasHeld ? 1 : 0;
        }
    }

    private final State state;
    private final Semaphore turnstile;

    SeveralLock(Handle.Shared file, Pointer lock, String label, Runnable close) {
        this(file, lock, label, close, 1);
    }

    /** {@code waits} is how many threads may wait in the library at once. */
    SeveralLock(Handle.Shared file, Pointer lock, String label, Runnable close, int waits) {
        turnstile = new Semaphore(waits, true);
        try {
            Texts.label(label);
        } catch (RuntimeException failure) {
            close.run();
            throw failure;
        }
        file.keep();
        State opened = new State(file, lock, label, close);
        state = opened;
        LockFile.CLEANER.register(this, () -> opened.close(true));
    }

    /** Closes the lock; threads that wait for it get {@link Status#CLOSED}. {@link Status#STILL_HELD} while it is held. */
    @Override
    public void close() {
        state.close(false);
    }

    final <Result> Result use(java.util.function.Function<Pointer, Result> use) {
        state.enter();
        try {
            return use.apply(state.lock);
        } finally {
            state.leave();
            java.lang.ref.Reference.reachabilityFence(this);
        }
    }

    final List<ParticipantInfo> listed(ParticipantInfo.Listing listing) {
        return use(lock -> ParticipantInfo.listed(
                (capacity, infos, count) -> listing.list(lock, capacity, infos, count)));
    }

    /** Takes the lock without waiting; null if somebody else has it, or waits for it. */
    final Taken tryTake(Entry entry) {
        if (!turnstile.tryAcquire()) {
            return null;
        }
        return take(entry, 0, false);
    }

    /** Waits as long as it takes; an interrupt does not end that. */
    final Taken takePatiently(Entry entry) {
        turnstile.acquireUninterruptibly();
        return take(entry, Long.MAX_VALUE, false);
    }

    /** Waits at most so many nanoseconds, or until the thread is interrupted; null if the time has passed. */
    final Taken take(Entry entry, long limit) throws InterruptedException {
        long began = System.nanoTime();
        if (!turnstile.tryAcquire(limit, TimeUnit.NANOSECONDS)) {
            return null;
        }
        try {
            return take(entry, Math.max(limit - (System.nanoTime() - began), 0), true);
        } catch (TurnlockException failure) {
            if (failure.status() == Status.INTERRUPTED && Thread.interrupted()) {
                throw new InterruptedException();
            }
            throw failure;
        }
    }

    /** Having the turnstile, which this gives back. */
    private Taken take(Entry entry, long limit, boolean interruptibly) {
        try {
            return use(lock -> takeNow(lock, entry, limit, interruptibly));
        } finally {
            turnstile.release();
        }
    }

    private Taken takeNow(Pointer lock, Entry entry, long limit, boolean interruptibly) {
        Pointer participant = state.participant();
        boolean isTaken = false;
        try {
            Memory acquired = Native.struct(Acquisition.SIZE);
            int status = entry.tryNow(lock, participant, acquired);
            if (status == Status.WOULD_BLOCK.number() && limit > 0) {
                if (!state.waits(participant)) {
                    throw Handle.closed();
                }
                Interrupts.Wait wait = () -> entry.waitFor(lock, participant, limit, acquired);
                status = interruptibly ? Interrupts.interruptibly(wait) : wait.now();
            }
            if (status == Status.WOULD_BLOCK.number() || status == Status.TIMED_OUT.number()) {
                return null;
            }
            if (status == Status.CANCELLED.number()) {
                throw Handle.closed();
            }
            Native.check(status);
            if (!state.isHeldNow(participant)) {
                // It came all the same.
                entry.giveBack(lock, participant, status);
                throw Handle.closed();
            }
            isTaken = true;
            return new Taken(participant, status, acquired);
        } finally {
            Native.turnlock_participant_clear_cancel(participant);
            if (!isTaken) {
                state.free(participant, false);
            }
        }
    }

    /** For a holder: calls the library, which is open as long as the lock is held. */
    final int byHolder(java.util.function.ToIntFunction<Pointer> use) {
        return use.applyAsInt(state.lock);
    }

    /** The participant has let go of the lock, or not: as {@code status} says. */
    final boolean letGo(Pointer participant, int status) {
        TurnlockException failure = status < 0 ? Native.failure(status) : null;
        // An unlock that reports what happened to the file has unlocked.
        if (failure != null && failure.status() != Status.DAMAGED && failure.status() != Status.REPLACED) {
            throw failure;
        }
        state.free(participant, true);
        return failure == null;
    }
}
