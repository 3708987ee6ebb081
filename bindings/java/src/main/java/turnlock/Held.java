package turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import turnlock.OpenLock.Taken;
import java.util.function.ToIntFunction;

/**
 * What of a lock is held by whichever thread has this object. To close it unlocks. Its methods throw {@link
 * IllegalMonitorStateException} afterwards.
 */
abstract class Held implements AutoCloseable {
    private final SeveralLock lock;
    private Taken taken;

    Held(SeveralLock lock, Taken taken) {
        this.lock = lock;
        this.taken = taken;
    }

    /** That of the acquisition. A reader's is that of the last writer: two readers with the same one read the same. */
    public synchronized long fencingToken() {
        return taken().fencingToken();
    }

    /** One died that held it exclusively, or some of it, or was a member, and what that one left is not marked consistent yet. */
    public synchronized boolean ownerDied() {
        return taken().ownerDied();
    }

    /** That one's process; 0 if none died. */
    public synchronized long deadOwnerPid() {
        return taken().deadOwnerPid();
    }

    /** Unlocks. The next holder of a part, or member of a group, is told again of what a dead owner left, unless it was marked consistent. */
    public synchronized void unlock() {
        end(Native::turnlock_hold_release);
    }

    /** Says, holding it exclusively or as a member after {@link #ownerDied}, that the data are consistent again. */
    public synchronized void markConsistent() {
        call(Native::turnlock_hold_mark_consistent);
    }

    /** Whether another participant waits for something of it. */
    public synchronized boolean isContended() {
        return call(Native::turnlock_hold_is_contended) == Native.CONTENDED;
    }

    /** Unlocks, if that was not done. */
    @Override
    public synchronized void close() {
        if (taken != null) {
            unlock();
        }
    }

    /** Whether it was not let go yet. */
    final synchronized boolean isHeld() {
        return taken != null;
    }

    /** Calls the library with the hold; the status, if it is not a failure. */
    final int call(ToIntFunction<Pointer> function) {
        return Native.check(function.applyAsInt(hold()));
    }

    final Pointer hold() {
        return taken().hold;
    }

    /** The hold has something else now. */
    final void becomes(int status, Pointer acquired) {
        taken = new Taken(hold(), Native.check(status), acquired);
    }

    /** Waits at a condition, with the lock unlocked. Returns what went wrong, or null: {@link #isHeld} says whether it is held then. */
    final TurnlockException awaits(TurnCondition.Wait wait) {
        Pointer hold = hold();
        Memory acquired = Request.newAcquired();
        try {
            return wait.with(hold, acquired);
        } finally {
            if (!lock.use(open -> open.hasAgain(hold))) {
                taken = null;
            } else {
                Taken again = Taken.again(hold, acquired);
                taken = again == null ? taken : again;
            }
        }
    }

    final void end(ToIntFunction<Pointer> release) {
        Pointer hold = hold();
        TurnlockException failure = lock.use(open -> open.end(hold, release));
        taken = null;
        if (failure != null) {
            throw failure;
        }
    }

    private Taken taken() {
        if (taken == null) {
            throw new IllegalMonitorStateException("it was let go before");
        }
        return taken;
    }
}
