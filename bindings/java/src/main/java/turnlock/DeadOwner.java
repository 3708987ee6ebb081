package turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.util.Optional;
import java.util.function.ToIntFunction;

/** A participant that died holding a lock. */
public final class DeadOwner {
    static final long SIZE = 88;

    private final String label;
    private final long fencingToken;
    private final long pid;
    private final long thread;

    DeadOwner(Pointer struct) {
        fencingToken = struct.getLong(8);
        pid = Integer.toUnsignedLong(struct.getInt(16));
        thread = Integer.toUnsignedLong(struct.getInt(20));
        label = struct.getString(24, "UTF-8");
    }

    /** The one that {@code ask} fills in, which gives a status. */
    static Optional<DeadOwner> found(ToIntFunction<Pointer> ask) {
        Memory owner = Native.struct(SIZE);
        int status = ask.applyAsInt(owner);
        if (status == Status.NOT_FOUND.number()) {
            return Optional.empty();
        }
        Native.check(status);
        return Optional.of(new DeadOwner(owner));
    }

    /** What it called itself. */
    public String label() {
        return label;
    }

    /** The fencing token it held. */
    public long fencingToken() {
        return fencingToken;
    }

    /** Its process, as its own PID namespace numbered it. */
    public long pid() {
        return pid;
    }

    /** Its thread, likewise. */
    public long thread() {
        return thread;
    }
}
