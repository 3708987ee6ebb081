package io.github.turnlock;

import com.sun.jna.Pointer;
import java.time.Duration;

/** A participant at a lock, at one moment. */
public final class ParticipantInfo {
    static final long SIZE = 184;

    /** Whether a participant is alive. */
    public enum Life {
        UNKNOWN,
        ALIVE,
        STOPPED,
        DEAD
    }

    /** What a participant does at a lock. */
    public enum State {
        UNKNOWN,
        /** It has the lock. */
        HOLDING,
        /** It is in line. */
        QUEUED,
        /** It still has patience, and lets others pass. */
        STANDING_BY,
        /** It stands in the ring, and does not wait now. */
        STANDING
    }

    private final String label;
    private final String program;
    private final long fencingToken;
    private final long durationNs;
    private final int slot;
    private final long pid;
    private final long thread;
    private final Life life;
    private final State state;

    ParticipantInfo(Pointer struct) {
        fencingToken = struct.getLong(8);
        durationNs = struct.getLong(16);
        slot = struct.getInt(24);
        pid = Integer.toUnsignedLong(struct.getInt(28));
        thread = Integer.toUnsignedLong(struct.getInt(32));
        life = known(Life.values(), struct.getInt(36));
        state = known(State.values(), struct.getInt(40));
        label = struct.getString(56, "UTF-8");
        program = struct.getString(120, "UTF-8");
    }

    private static <Word> Word known(Word[] words, int number) {
        return words[number >= 0 && number < words.length ? number : 0];
    }

    /** What it calls itself. */
    public String label() {
        return label;
    }

    /** The name of its program. */
    public String program() {
        return program;
    }

    /** Of a holder: the fencing token it has. Else 0. */
    public long fencingToken() {
        return fencingToken;
    }

    /** For how long it has held or waited; 0 where nobody knows. */
    public Duration duration() {
        return Duration.ofNanos(durationNs);
    }

    /** Its slot in the file. */
    public int slot() {
        return slot;
    }

    /** Its process, as its own PID namespace numbers it. */
    public long pid() {
        return pid;
    }

    /** Its thread, likewise. */
    public long thread() {
        return thread;
    }

    /** Whether it is alive. */
    public Life life() {
        return life;
    }

    /** What it does at the lock. */
    public State state() {
        return state;
    }
}
