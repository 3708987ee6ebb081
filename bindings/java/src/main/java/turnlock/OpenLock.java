package turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.IntByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.ToIntFunction;

/**
 * A lock of any kind that is open: also what is left of an object that is garbage. What it holds belongs to holds of the library,
 * which any thread may release: one for each acquisition; or one for the object, where it is held by one at a time.
 */
final class OpenLock extends Handle {
    /** The function of the library that opens a lock of one kind. */
    interface Opens {
        int open(Pointer file, byte[] name, Pointer options, PointerByReference lock);
    }

    /** What is held. */
    static final class Taken {
        final Pointer hold;
        final int status;
        final Pointer acquired;

        Taken(Pointer hold, int status, Pointer acquired) {
            this.hold = hold;
            this.status = status;
            this.acquired = acquired;
        }

        /** What came after a wait at a condition with this hold; null if the lock was not unlocked meanwhile. */
        static Taken again(Pointer hold, Pointer acquired) {
            int status = acquired.getInt(28) == 0 ? 0 : Native.OWNER_DEAD;
            return acquired.getLong(8) == 0 ? null : new Taken(hold, status, acquired);
        }

        boolean ownerDied() {
            return status == Native.OWNER_DEAD;
        }

        long fencingToken() {
            return acquired.getLong(8);
        }

        long deadOwnerFencingToken() {
            return acquired.getLong(16);
        }

        long deadOwnerPid() {
            return Integer.toUnsignedLong(acquired.getInt(24));
        }
    }

    private static final Set<Status> UNLOCKED_ALL_THE_SAME = Set.of(Status.DAMAGED, Status.REPLACED, Status.LEASE_ENDED);

    private final Holds holds;
    private final Pointer lock;
    /** The object's hold; null where each acquisition has one. */
    private final Pointer own;
    /** The holds that wait in the library now, and by which thread. */
    private final Map<Pointer, Thread> waiting = new HashMap<>();
    private int held;
    /** The object's hold has something, waits for it, or waits at a condition. */
    private boolean isOwnInUse;

    private OpenLock(Holds holds, Pointer lock, Pointer own, Runnable close) {
        super(lock, close);
        this.holds = holds;
        this.lock = lock;
        this.own = own;
    }

    /** Opens a lock, with a hold of its own if it {@code isExclusive}. */
    static OpenLock open(Handle.Shared file, String name, Memory options, String label, boolean isExclusive, Opens opens,
            ToIntFunction<Pointer> close) {
        return open(file, name, options, new Holds(file, label, null), isExclusive, opens, close);
    }

    /** Opens a lock with a hold of its own, in this slot of the file; null: in a free one. */
    static OpenLock openAt(Integer slot, Handle.Shared file, String name, Memory options, String label, Opens opens,
            ToIntFunction<Pointer> close) {
        return open(file, name, options, new Holds(file, label, slot), true, opens, close);
    }

    private static OpenLock open(Handle.Shared file, String name, Memory options, Holds holds, boolean isExclusive, Opens opens,
            ToIntFunction<Pointer> close) {
        PointerByReference opened = new PointerByReference();
        Native.check(opens.open(file.pointer(), Texts.name(name), options, opened));
        Pointer lock = opened.getValue();
        Pointer own;
        try {
            own = isExclusive ? holds.open() : null;
        } catch (RuntimeException failure) {
            close.applyAsInt(lock);
            throw failure;
        }
        file.keep();
        return new OpenLock(holds, lock, own, () -> {
            if (own != null) {
                Native.turnlock_hold_close(own);
            }
            close.applyAsInt(lock);
            file.drop();
        });
    }

    /** How holds are opened in the file: a label is for all of them, and a slot for one. */
    private static final class Holds {
        private final Handle.Shared file;
        private final Memory label;
        /** Null without either: then the library has slots at hand. */
        private final Memory options;

        Holds(Handle.Shared file, String label, Integer slot) {
            this.file = file;
            this.label = Texts.label(label);
            options = label == null && slot == null ? null : Native.struct(24);
            if (label != null) {
                options.setPointer(8, this.label);
            }
            if (slot != null) {
                options.setInt(16, Native.HOLD_AT_SLOT);
                options.setInt(20, slot);
            }
        }

        Pointer open() {
            PointerByReference opened = new PointerByReference();
            Native.check(Native.turnlock_hold_open(file.pointer(), options, opened));
            return opened.getValue();
        }
    }

    Pointer own() {
        return own;
    }

    /** Calls the library while the lock is open; the status, if it is not a failure. */
    int call(ToIntFunction<Pointer> function) {
        return use(lock -> Native.check(function.applyAsInt(lock)));
    }

    /** {@link #take}, unless the thread is interrupted before. */
    Taken takeInterruptibly(Request request, long limit) throws InterruptedException {
        try {
            return use(lock -> take(request, limit, true));
        } catch (TurnlockException failure) {
            if (failure.status() == Status.INTERRUPTED && Thread.interrupted()) {
                throw new InterruptedException();
            }
            throw failure;
        }
    }

    /** Acquires it within so many nanoseconds; null if it was not to be had. */
    Taken take(Request request, long limit) {
        return use(lock -> take(request, limit, false));
    }

    private Taken take(Request request, long limit, boolean interruptibly) {
        Pointer hold = openHold();
        boolean waits = false;
        boolean isTaken = false;
        try {
            // Most locks are free, and need no thread to watch over the wait.
            int status = request.by(hold, lock, 0);
            if (status == Status.WOULD_BLOCK.number() && limit > 0) {
                waits = true;
                beginWait(hold);
                Interrupts.Wait wait = () -> request.by(hold, lock, limit);
                status = interruptibly ? Interrupts.interruptibly(wait) : wait.now();
            }
            if (status == Status.WOULD_BLOCK.number() || status == Status.TIMED_OUT.number()) {
                return null;
            }
            if (status == Status.CANCELLED.number()) {
                throw closed();
            }
            Native.check(status);
            if (!mayHold()) {
                // It came all the same. The notice of an earlier death is still to be given.
                int ignored = status == Native.OWNER_DEAD
                        ? Native.turnlock_hold_abandon(hold) : Native.turnlock_hold_release(hold);
                throw closed();
            }
            isTaken = true;
            return new Taken(hold, status, request.acquired());
        } finally {
            if (waits) {
                endWait(hold);
            }
            if (!isTaken) {
                drop(hold);
            }
        }
    }

    private synchronized void beginWait(Pointer hold) {
        if (isClosing()) {
            throw closed();
        }
        waiting.put(hold, Thread.currentThread());
    }

    private synchronized void endWait(Pointer hold) {
        waiting.remove(hold);
        // A cancel that came too late for this wait is not for the next one.
        Native.turnlock_hold_clear_cancel(hold);
    }

    /** The threads that wait in the library now. */
    synchronized List<Thread> waitingThreads() {
        return List.copyOf(waiting.values());
    }

    /** Whether it may be held: not if the lock is being closed. */
    private synchronized boolean mayHold() {
        held += isClosing() ? 0 : 1;
        return !isClosing();
    }

    /** The object's hold, unless another thread waits with it at a condition; else a new one. */
    private Pointer openHold() {
        synchronized (this) {
            if (own != null && !isOwnInUse) {
                isOwnInUse = true;
                return own;
            }
        }
        return holds.open();
    }

    /** Closes a hold that holds nothing, if it is an acquisition's own. */
    private synchronized void drop(Pointer hold) {
        if (hold == own) {
            isOwnInUse = false;
        } else {
            Native.turnlock_hold_close(hold);
        }
    }

    /**
     * Whether a hold, with which a thread has waited at a condition, has the lock again. If the lock could not be taken again, the hold
     * is closed.
     */
    boolean hasAgain(Pointer hold) {
        if (Native.turnlock_hold_fencing_token(hold, new LongByReference()) != Status.NOT_OWNER.number()) {
            return true;
        }
        synchronized (this) {
            drop(hold);
            held--;
        }
        return false;
    }

    /**
     * Ends what a hold has, by one function of the library. Throws why it is still held; returns what has happened to the file, or
     * null. The lock is open meanwhile, since it is held.
     */
    TurnlockException end(Pointer hold, ToIntFunction<Pointer> release) {
        int status = release.applyAsInt(hold);
        TurnlockException failure = status < 0 ? Native.failure(status) : null;
        // An unlock that reports what happened to the file, or that the lease of a linked lock has ended, has unlocked.
        if (failure != null && !UNLOCKED_ALL_THE_SAME.contains(failure.status())) {
            throw failure;
        }
        synchronized (this) {
            drop(hold);
            held--;
        }
        return failure;
    }

    /** Closes the lock; threads that wait for it get {@link Status#CLOSED}. {@link Status#STILL_HELD} while it is held. */
    @Override
    synchronized void close() {
        if (held > 0) {
            throw new TurnlockException(Status.STILL_HELD, "the lock is held: let go of it before it is closed");
        }
        waiting.keySet().forEach(Native::turnlock_hold_cancel);
        super.close();
    }

    /** A lock that is held when it is garbage stays held, until the process ends. */
    synchronized void closeGarbage() {
        if (held == 0) {
            close();
        }
    }

    DeathPolicy deathPolicy() {
        IntByReference policy = new IntByReference();
        call(lock -> Native.turnlock_lock_death_policy(lock, policy));
        return DeathPolicy.of(policy.getValue());
    }

    /** In nanoseconds; 0 is strictly first come first served. */
    long patience() {
        LongByReference patience = new LongByReference();
        call(lock -> Native.turnlock_lock_patience(lock, patience));
        return patience.getValue();
    }

    Optional<DeadOwner> previousOwner() {
        return use(lock -> DeadOwner.found(owner -> Native.turnlock_lock_previous_owner(lock, owner)));
    }

    List<ParticipantInfo> holders() {
        return holders(ParticipantInfo.Parts.ALL);
    }

    List<ParticipantInfo> holders(ParticipantInfo.Parts parts) {
        return use(lock -> ParticipantInfo.listed(parts,
                (capacity, infos, count) -> Native.turnlock_lock_holders(lock, capacity, infos, count)));
    }

    List<ParticipantInfo> waiters() {
        return waiters(ParticipantInfo.Parts.ALL);
    }

    List<ParticipantInfo> waiters(ParticipantInfo.Parts parts) {
        return use(lock -> ParticipantInfo.listed(parts,
                (capacity, infos, count) -> Native.turnlock_lock_waiters(lock, capacity, infos, count)));
    }
}
