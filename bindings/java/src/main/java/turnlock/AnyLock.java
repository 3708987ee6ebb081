package turnlock;

import java.lang.ref.Reference;

/** The object of a lock of any kind. */
abstract class AnyLock implements AutoCloseable {
    /** What is done with the lock. */
    interface Use<Result, Failure extends Exception> {
        Result with(OpenLock open) throws Failure;
    }

    private final OpenLock open;

    AnyLock(OpenLock open) {
        this.open = open;
        LockFile.CLEANER.register(this, open::closeGarbage);
    }

    /** Does something with the lock, which is no garbage meanwhile. */
    final <Result, Failure extends Exception> Result use(Use<Result, Failure> use) throws Failure {
        try {
            return use.with(open);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Closes the lock; threads that wait for it get {@link Status#CLOSED}. While it is held, that is {@link Status#STILL_HELD}, and
     * nothing is done. To close it again does nothing.
     */
    @Override
    public void close() {
        open.close();
    }
}
