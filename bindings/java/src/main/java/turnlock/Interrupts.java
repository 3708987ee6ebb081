package turnlock;

import java.util.function.BooleanSupplier;

/** How {@link Thread#interrupt} ends a wait: the library asks between its sleeps, every 20 to 70 milliseconds. */
final class Interrupts {
    /** Says whether the wait of this thread is to end; null: it is not to be ended so. */
    private static final ThreadLocal<BooleanSupplier> ENDS = new ThreadLocal<>();

    /** Kept here for ever, since the library does not keep it from being garbage. */
    static final Native.WaitToEnd END_WAITS = context -> {
        BooleanSupplier ends = ENDS.get();
        return ends != null && ends.getAsBoolean() ? 1 : 0;
    };

    private Interrupts() {}

    /** A wait in the library. */
    interface Wait {
        int now();
    }

    static int interruptibly(Wait wait) {
        return endedBy(() -> Thread.currentThread().isInterrupted(), wait);
    }

    /** A wait that is over when {@code ends} says so. */
    static int endedBy(BooleanSupplier ends, Wait wait) {
        ENDS.set(ends);
        try {
            return wait.now();
        } finally {
            ENDS.remove();
        }
    }
}
