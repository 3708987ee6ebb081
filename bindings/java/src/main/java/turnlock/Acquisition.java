package turnlock;

/** What came with an acquisition. To close it unlocks. */
public final class Acquisition implements AutoCloseable {
    private final TurnLock lock;
    private final boolean ownerDied;
    private final long fencingToken;
    private final long deadOwnerFencingToken;
    private final long deadOwnerPid;

    Acquisition(TurnLock lock, OpenLock.Taken taken) {
        this.lock = lock;
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
