package turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;

/**
 * What is to be acquired of a lock, and what came with it: a {@code turnlock_request}, a {@code turnlock_acquired} behind it, and
 * then what the request points to. All of the lock exclusively, but for what is said.
 */
final class Request {
    private static final long SIZE = 80;
    private static final long ACQUIRED_SIZE = 32;
    private static final long MORE = SIZE + ACQUIRED_SIZE;
    private static final long PART_SIZE = 16;

    private final Memory memory;
    private final Pointer acquired;

    private Request(long more, int mode) {
        memory = new Memory(MORE + more);
        memory.clear();
        memory.setLong(0, SIZE);
        memory.setInt(16, mode);
        acquired = memory.share(SIZE);
        acquired.setLong(0, ACQUIRED_SIZE);
    }

    /** All of a lock. */
    static Request inMode(int mode) {
        return new Request(0, mode);
    }

    static Request ofPermits(int permits) {
        Request request = new Request(0, Native.MODE_EXCLUSIVE);
        request.memory.setInt(24, permits);
        return request;
    }

    static Request ofRange(int mode, long start, long end) {
        Request request = new Request(PART_SIZE, mode);
        request.memory.setLong(MORE, start);
        request.memory.setLong(MORE + 8, end);
        request.memory.setPointer(40, request.memory.share(MORE));
        request.memory.setLong(48, 1);
        return request;
    }

    static Request ofKey(int mode, byte[] key) {
        Request request = new Request(PART_SIZE + key.length, mode);
        if (key.length > 0) {
            request.memory.write(MORE + PART_SIZE, key, 0, key.length);
            request.memory.setPointer(MORE, request.memory.share(MORE + PART_SIZE));
        }
        request.memory.setLong(MORE + 8, key.length);
        request.memory.setPointer(56, request.memory.share(MORE));
        request.memory.setLong(64, 1);
        return request;
    }

    static Request ofGroup(long group) {
        Request request = new Request(0, Native.MODE_EXCLUSIVE);
        request.memory.setLong(72, group);
        return request;
    }

    /** Acquires it, and gives the status. The limit is in nanoseconds: 0 does not wait, {@link Long#MAX_VALUE} is for ever. */
    int by(Pointer hold, Pointer lock, long limit) {
        memory.setPointer(8, lock);
        memory.setInt(28, limit == 0 ? Native.WAIT_NEVER
                : limit == Long.MAX_VALUE ? Native.WAIT_FOREVER : Native.WAIT_AT_MOST);
        memory.setLong(32, limit);
        return Native.turnlock_hold_acquire(hold, memory, acquired);
    }

    /** The {@code turnlock_acquired}. */
    Pointer acquired() {
        return acquired;
    }

    /** Another one, for an upgrade. */
    static Memory newAcquired() {
        return Native.struct(ACQUIRED_SIZE);
    }
}
