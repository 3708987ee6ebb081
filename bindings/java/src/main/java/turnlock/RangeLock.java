package turnlock;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * A lock of ranges of numbers: a caller waits for the earlier ranges that overlap with its own, unless both only read.
 * A range goes from {@code start} to before {@code end}; an empty or reversed one is {@link Status#EMPTY_RANGE}, a
 * negative number {@link Status#INVALID_ARGUMENT}.
 */
public final class RangeLock extends PartsLock {
    /** The end of a range that reaches to the end, the last number of 64 bits included. */
    public static final long END = -1;

    RangeLock(Handle.Shared file, String name, Options options) {
        super(ParticipantInfo.Parts.RANGE, file, name, options, Native::turnlock_rangelock_open, Native::turnlock_rangelock_close);
    }

    /** Waits for the range as long as it takes; an interrupt does not end that. */
    public Part acquire(long start, long end, Mode mode) {
        return patiently(request(start, end, mode), mode);
    }

    /** Waits at most so long, or until the thread is interrupted. */
    public Part acquire(long start, long end, Mode mode, Duration limit) throws InterruptedException, TimeoutException {
        return within(request(start, end, mode), mode, limit);
    }

    /** The range if that needs no waiting. */
    public Optional<Part> tryAcquire(long start, long end, Mode mode) {
        return now(request(start, end, mode), mode);
    }

    private static Request request(long start, long end, Mode mode) {
        if (start < 0 || (end < 0 && end != END)) {
            throw new TurnlockException(Status.INVALID_ARGUMENT,
                    "a range goes from 0 or more to before some number or END, and not from " + start + " to " + end);
        }
        return Request.ofRange(number(mode), start, end);
    }
}
