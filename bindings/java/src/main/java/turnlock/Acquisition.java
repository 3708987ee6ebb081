package turnlock;

/** What came with an acquisition. To close it unlocks. */
public final class Acquisition implements AutoCloseable {
    private final TurnLock lock;
    private volatile boolean ownerDied;
    private volatile long fencingToken;
    private volatile long deadOwnerFencingToken;
    private volatile long deadOwnerPid;

    Acquisition(TurnLock lock, OpenLock.Taken taken) {
        this.lock = lock;
        becomes(taken);
    }

    /** The lock was taken again, after a wait at a condition. */
    void becomes(OpenLock.Taken taken) {
        ownerDied = taken.ownerDied();
        fencingToken = taken.fencingToken();
        deadOwnerFencingToken = taken.deadOwnerFencingToken();
        deadOwnerPid = taken.deadOwnerPid();
    }

    /** Larger than that of every acquisition of this lock before. */
    public long fencingToken() {
        return fencingToken;
    }

    /** The previous holder died inside: repair the data and {@link TurnLock#markConsistent} before you unlock. */
    public boolean ownerDied() {
        return ownerDied;
    }

    /** That holder's process; 0 if it did not die. */
    public long deadOwnerPid() {
        return deadOwnerPid;
    }

    /** That holder's fencing token; 0 if it did not die. */
    public long deadOwnerFencingToken() {
        return deadOwnerFencingToken;
    }

    /** Unlocks, if that was not done. */
    @Override
    public void close() {
        if (lock.isHeldByCurrentThread() && lock.acquisition() == this) {
            lock.unlock();
        }
    }
}
