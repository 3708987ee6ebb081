package io.github.turnlock;

import com.sun.jna.Pointer;

/** A handle, and a participant if there is one, that are not closed while a thread is inside a call with them. */
final class Handle {
    /** What is done with the handle while it is open. */
    interface Use<Result> {
        Result with(Pointer handle, Pointer participant);
    }

    private final Runnable close;
    private final Pointer handle;
    private final Pointer participant;
    private int inside;
    private boolean isClosing;

    Handle(Runnable close, Pointer handle, Pointer participant) {
        this.close = close;
        this.handle = handle;
        this.participant = participant;
    }

    <Result> Result use(Use<Result> use) {
        synchronized (this) {
            if (isClosing) {
                throw closed();
            }
            inside++;
        }
        try {
            return use.with(handle, participant);
        } finally {
            leave();
        }
    }

    /** Nobody goes in any more; whoever goes out last closes it. */
    synchronized void close() {
        if (isClosing) {
            return;
        }
        isClosing = true;
        if (inside == 0) {
            close.run();
        } else if (participant != null) {
            // Whoever waits is to go out.
            Native.turnlock_participant_cancel(participant);
        }
    }

    synchronized boolean isClosing() {
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
