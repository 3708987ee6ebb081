package turnlock;

import com.sun.jna.Pointer;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * What is done once, by one thread of all processes that have the lock file open. If that one dies, the next one does it. It stays done
 * until a {@link #reset}, or until the machine boots, unless it was created with {@link Options#acrossBoots}. A thread that does it, or
 * waits for it, has a slot in the file until the thread ends.
 */
public final class Once extends Named {
    /** How to open, or create, a once. */
    public static final class Options {
        private int flags;

        /** Do not create the once. */
        public Options mustExist() {
            flags |= Native.ONCE_MUST_EXIST;
            return this;
        }

        /** What is done stays done when the machine boots, if the once is created now. */
        public Options acrossBoots() {
            flags |= Native.ONCE_ACROSS_BOOTS;
            return this;
        }
    }

    /** What is to be done once. */
    public interface Work<Failure extends Exception> {
        /** Does it. {@code deadRunner} is the participant that was at it before and died. */
        void run(Optional<DeadOwner> deadRunner) throws Failure;
    }

    Once(Handle.Shared file, String name, Options options) {
        this(file, name, Objects.requireNonNull(options, "options").flags);
    }

    private Once(Handle.Shared file, String name, int flags) {
        super(file, name, (pointer, text, once) -> Native.turnlock_once_open(pointer, text, flags, once),
                Native::turnlock_once_close);
    }

    /**
     * Runs {@code work}, unless it is done, and returns whether it ran here. Waits while another thread is at it; an interrupt does not
     * end that. If {@code work} throws, it is not done, and the next one does it.
     *
     * <p>{@link Status#DEADLOCK} if this thread is at it already. {@link UnsupportedOperationException} on a virtual thread: in the
     * library it is the operating system's thread that is at it.
     */
    public <Failure extends Exception> boolean run(Work<Failure> work) throws Failure {
        return Native.check(checkOpen(run(work, false, Long.MAX_VALUE))) != Native.DONE;
    }

    /**
     * {@link #run(Work)}, which waits at most so long for another thread that is at it, or until the thread is interrupted. Neither ends
     * the work.
     */
    public <Failure extends Exception> boolean run(Work<Failure> work, Duration limit)
            throws Failure, InterruptedException, TimeoutException {
        long nanoseconds = Texts.nanoseconds(Objects.requireNonNull(limit, "limit"));
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        int status = checkInterrupted(run(work, true, nanoseconds));
        if (status == Status.TIMED_OUT.number()) {
            throw Native.timedOut();
        }
        return Native.check(status) != Native.DONE;
    }

    /** Returns 0 if it ran here, DONE if it was done, or why it could not begin. The once is open until the work is over. */
    private <Failure extends Exception> int run(Work<Failure> work, boolean interruptibly, long limit) throws Failure {
        Objects.requireNonNull(work, "work");
        checkPlatformThread();
        return use(once -> {
            if (isDone()) {
                return Native.DONE;
            }
            int begun = Interrupts.endedBy(
                    ends(interruptibly), () -> Native.turnlock_once_begin(once, limit(limit), limit));
            if (begun < 0 || begun == Native.DONE) {
                return begun;
            }
            boolean isComplete = false;
            try {
                work.run(begun == Native.OWNER_DEAD ? deadRunner(once) : Optional.empty());
                isComplete = true;
            } finally {
                if (!isComplete) {
                    Native.turnlock_once_give_up(once);
                }
            }
            return Native.check(Native.turnlock_once_complete(once));
        });
    }

    private static Optional<DeadOwner> deadRunner(Pointer once) {
        return DeadOwner.found(owner -> Native.turnlock_lock_previous_owner(once, owner));
    }

    /** A virtual thread may be on another thread of the operating system when its work is over. Java 21 is the first to have them. */
    private static void checkPlatformThread() {
        boolean isVirtual;
        try {
            isVirtual = (Boolean) Thread.class.getMethod("isVirtual").invoke(Thread.currentThread());
        } catch (ReflectiveOperationException older) {
            isVirtual = false;
        }
        if (isVirtual) {
            throw new UnsupportedOperationException("a virtual thread cannot run the work of a once: run it on a platform thread");
        }
    }

    /** Whether it is done. */
    public boolean isDone() {
        return ask(Native::turnlock_once_is_done) != 0;
    }

    /** Has it be done again. Waits while a thread is at it; an interrupt does not end that. */
    public void reset() {
        use(once -> Native.check(awaitPatiently(() -> Native.turnlock_once_reset(once))));
    }

    /**
     * Closes it; threads that wait for it get {@link Status#CLOSED}, within 70 milliseconds. A work that runs by it is completed. To close
     * it again does nothing.
     */
    @Override
    public void close() {
        super.close();
    }
}
