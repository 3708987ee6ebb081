package turnlock;

import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * An event: it is set or not, and threads of all processes wait until it is set. It stays so until it is cleared, or the machine
 * boots. No death disturbs it. A thread that has waited has a slot in the file, until the thread ends.
 */
public final class Event extends Named {
    /** How to open, or create, an event. */
    public static final class Options {
        private int flags;

        /** Do not create the event. */
        public Options mustExist() {
            flags |= Native.EVENT_MUST_EXIST;
            return this;
        }
    }

    Event(Handle.Shared file, String name, Options options) {
        this(file, name, Objects.requireNonNull(options, "options").flags);
    }

    private Event(Handle.Shared file, String name, int flags) {
        super(file, name, (pointer, text, event) -> Native.turnlock_event_open(pointer, text, flags, event),
                Native::turnlock_event_close);
    }

    /** Sets it: all that wait for it go on. */
    public void set() {
        call(Native::turnlock_event_set);
    }

    /** Clears it: who waits from now on waits until it is set again. */
    public void clear() {
        call(Native::turnlock_event_clear);
    }

    /** Whether it is set. */
    public boolean isSet() {
        return ask(Native::turnlock_event_is_set) != 0;
    }

    /**
     * Waits until it is set, or until the thread is interrupted, which is seen within 70 milliseconds. A wait that began before it was
     * set ends, also if it was cleared since.
     */
    public void await() throws InterruptedException {
        use(event -> Native.check(await(() -> Native.turnlock_event_wait(event, Native.WAIT_FOREVER, 0))));
    }

    /** Waits until it is set, at most so long, or until the thread is interrupted. Returns whether it was set. A negative time is 0. */
    public boolean await(long time, TimeUnit unit) throws InterruptedException {
        long limit = Math.max(unit.toNanos(time), 0);
        return use(event -> {
            int status = await(() -> Native.turnlock_event_wait(event, limit(limit), limit));
            return status != Status.TIMED_OUT.number() && Native.check(status) >= 0;
        });
    }

    /** Waits until it is set; an interrupt does not end that. */
    public void awaitUninterruptibly() {
        use(event -> Native.check(awaitPatiently(() -> Native.turnlock_event_wait(event, Native.WAIT_FOREVER, 0))));
    }
}
