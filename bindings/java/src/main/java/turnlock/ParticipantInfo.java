package turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/** A participant at a lock, at one moment. */
public final class ParticipantInfo {
    static final long SIZE = 256;

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
        /** It has backed off: it still has patience, and lets others pass. */
        BACKED_OFF,
        /** It is a member of the ring, and does not wait now. */
        RING_MEMBER
    }

    /** What a participant has of a lock, or wants. */
    public enum Mode {
        UNKNOWN,
        /** Alone. */
        EXCLUSIVE,
        /** Beside others. */
        SHARED,
        /** Beside others, with the right to be alone. */
        UPGRADABLE,
        /** Upgradable, waiting to be alone. */
        UPGRADING
    }

    /** Which part of a lock each participant has. */
    enum Parts {
        ALL,
        RANGE,
        KEY,
        GROUP
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
    private final Mode mode;
    private final int permits;
    private final long first;
    private final long last;
    private final byte[] key;
    private final boolean isWholeKey;
    private final Parts parts;

    ParticipantInfo(Pointer struct, Parts parts) {
        fencingToken = struct.getLong(8);
        durationNs = struct.getLong(16);
        slot = struct.getInt(24);
        pid = Integer.toUnsignedLong(struct.getInt(28));
        thread = Integer.toUnsignedLong(struct.getInt(32));
        life = known(Life.values(), struct.getInt(36));
        state = known(State.values(), struct.getInt(40));
        // The library's numbers begin with the first that is known.
        mode = known(Mode.values(), struct.getInt(44) + 1);
        permits = struct.getInt(200);
        label = struct.getString(56, "UTF-8");
        program = struct.getString(120, "UTF-8");
        first = struct.getLong(184);
        last = struct.getLong(192);
        key = struct.getByteArray(208, struct.getInt(204));
        isWholeKey = (struct.getInt(48) & Native.INFO_WHOLE_KEY) != 0;
        this.parts = parts;
    }

    /** Fills in as many as there is room for, says how many there are, and gives a status. */
    interface Listing {
        int fill(long capacity, Pointer infos, LongByReference count);
    }

    static List<ParticipantInfo> listed(Parts parts, Listing listing) {
        LongByReference count = new LongByReference(8);
        for (;;) {
            long capacity = count.getValue();
            Memory infos = new Memory(capacity * SIZE);
            infos.clear();
            infos.setLong(0, SIZE);
            Native.check(listing.fill(capacity, infos, count));
            if (count.getValue() <= capacity) {
                List<ParticipantInfo> found = new ArrayList<>();
                for (int i = 0; i < count.getValue(); i++) {
                    found.add(new ParticipantInfo(infos.share(i * SIZE), parts));
                }
                return List.copyOf(found);
            }
        }
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

    /** For how long it has held or waited; 0 where that is unknown. */
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

    /** What it has of the lock, or wants. */
    public Mode mode() {
        return mode;
    }

    /** Of a semaphore: how many permits it has, or wants. Else 0. */
    public int permits() {
        return permits;
    }

    /** Of a group lock: the group that it is in, or wants to enter. Else 0. */
    public long group() {
        return parts == Parts.GROUP ? first : 0;
    }

    /** Of a range lock: the first number of its range. Else 0. A negative one is what {@link Long#toUnsignedString(long)} says. */
    public long start() {
        return parts == Parts.RANGE ? first : 0;
    }

    /** Of a range lock: the first number after its range, or {@link RangeLock#END}. Else 0. */
    public long end() {
        return parts != Parts.RANGE ? 0 : last == RangeLock.END ? last : last + 1;
    }

    /** Of a keyed lock: what its key begins with, at most 47 bytes. Else none. */
    public byte[] key() {
        return key.clone();
    }

    /** Of a keyed lock: whether {@link #key} is the whole key. If not, it is longer, or, without bytes, empty or not known. */
    public boolean isWholeKey() {
        return isWholeKey;
    }

    /** Of a keyed lock: by what keys are told apart, 32 hexadecimal digits. Else empty. */
    public String keyHash() {
        return parts == Parts.KEY ? String.format("%016x%016x", first, last) : "";
    }
}
