package turnlock;

import com.sun.jna.Pointer;

/** A handle that is not closed while a thread is inside a call with it. */
class Handle {
    /** What is done with the handle. */
    interface Use<Result, Failure extends Exception> {
        Result with(Pointer pointer) throws Failure;
    }

    private final Runnable close;
    private final Pointer pointer;
    private int inside;
    private boolean isClosing;

    Handle(Pointer pointer, Runnable close) {
        this.pointer = pointer;
        this.close = close;
    }

    /** Calls the library while the handle is open. */
    final <Result, Failure extends Exception> Result use(Use<Result, Failure> use) throws Failure {
        synchronized (this) {
            if (isClosing) {
                throw closed();
            }
            inside++;
        }
        try {
            return use.with(pointer);
        } finally {
            leave();
        }
    }

    /** No call goes in any more; the last call to go out closes it. */
    synchronized void close() {
        if (isClosing) {
            return;
        }
        isClosing = true;
        if (inside == 0) {
            close.run();
        }
    }

    final synchronized boolean isClosing() {
        return isClosing;
    }

    private synchronized void leave() {
        inside--;
        if (isClosing && inside == 0) {
            close.run();
        }
    }

    /** A handle that several keep open. */
    static final class Shared {
        private final Pointer pointer;
        private final Runnable close;
        private int keepers = 1;

        Shared(Pointer pointer, Runnable close) {
            this.pointer = pointer;
            this.close = close;
        }

        Pointer pointer() {
            return pointer;
        }

        synchronized void keep() {
            keepers++;
        }

        synchronized void drop() {
            if (--keepers == 0) {
                close.run();
            }
        }
    }

    static TurnlockException closed() {
        return new TurnlockException(Status.CLOSED, "it is closed: open it again");
    }
}
