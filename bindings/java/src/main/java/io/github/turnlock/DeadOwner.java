package io.github.turnlock;

import com.sun.jna.Pointer;

/** Who died holding a lock. */
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
