package turnlock;

/** How {@link Thread#interrupt} ends a wait: the library asks between its sleeps, every 20 to 70 milliseconds. */
final class Interrupts {
    private static final ThreadLocal<Boolean> WAITS_INTERRUPTIBLY = ThreadLocal.withInitial(() -> false);

    /** Kept here for ever, since the library does not keep it from being garbage. */
    static final Native.WaitToEnd END_WAITS =
            context -> WAITS_INTERRUPTIBLY.get() && Thread.currentThread().isInterrupted() ? 1 : 0;

    private Interrupts() {}

    /** A wait in the library. */
    interface Wait {
        int now();
    }

    static int interruptibly(Wait wait) {
        WAITS_INTERRUPTIBLY.set(true);
        try {
            return wait.now();
        } finally {
            WAITS_INTERRUPTIBLY.set(false);
        }
    }
}
