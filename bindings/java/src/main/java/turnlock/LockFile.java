package turnlock;

import com.sun.jna.CallbackReference;
import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.BiFunction;

/**
 * A lock file that is open. Any thread may use it. Locks that were opened from it stay open without it.
 *
 * <p>Every method throws a {@link TurnlockException} of status {@link Status#CLOSED} after {@link #close}.
 */
public final class LockFile implements AutoCloseable {
    static final Cleaner CLEANER = Cleaner.create();

    /** How to open, or create, a lock file. What is not said has the library's default. */
    public static final class Options {
        private int participants;
        private int locks;
        private int mode;
        private int group;
        private int flags;
        private String label;

        /** How many participants may take part at once, 1 to 4096; 128 if the file is created and nothing is said. */
        public Options participants(int participants) {
            this.participants = participants;
            return this;
        }

        /** How many named locks, 1 to 4096; 64 if the file is created and nothing is said. */
        public Options locks(int locks) {
            this.locks = locks;
            return this;
        }

        /** The permission bits of a file that is created; 0600 (0660 with a group) if nothing is said. */
        public Options mode(int mode) {
            this.mode = mode;
            return this;
        }

        /** The number of the group that a file that is created is given to. */
        public Options group(int group) {
            this.group = group;
            flags |= Native.FILE_GROUP;
            return this;
        }

        /** Do not create the file. */
        public Options mustExist() {
            flags |= Native.FILE_MUST_EXIST;
            return this;
        }

        /** Do without membarrier ({@code TURNLOCK_FILE_FULL_FENCES}). */
        public Options fullFences() {
            flags |= Native.FILE_FULL_FENCES;
            return this;
        }

        /** What this process calls itself in {@code turnlock status} and in the owner-dead notice. */
        public Options label(String label) {
            this.label = label;
            return this;
        }
    }

    private final Handle handle;
    /** Open as long as this file is, or a lock that opens holds in it. */
    private final Handle.Shared shared;

    private LockFile(Options options, BiFunction<Pointer, PointerByReference, Integer> open) {
        Native.load();
        Objects.requireNonNull(options, "options");
        Memory label = Texts.label(options.label);
        Memory struct = Native.struct(56);
        struct.setInt(8, options.participants);
        struct.setInt(12, options.locks);
        struct.setInt(16, options.mode);
        struct.setInt(20, options.group);
        struct.setInt(24, options.flags);
        struct.setPointer(32, label);
        struct.setPointer(40, CallbackReference.getFunctionPointer(Interrupts.END_WAITS));
        PointerByReference opened = new PointerByReference();
        Native.check(open.apply(struct, opened));
        Reference.reachabilityFence(label);
        Pointer file = opened.getValue();
        Handle.Shared kept = new Handle.Shared(file, () -> Native.turnlock_file_close(file));
        shared = kept;
        handle = new Handle(file, kept::drop);
        CLEANER.register(this, handle::close);
    }

    /** Opens the file, or creates it. */
    public static LockFile open(Path path) {
        return open(path, new Options());
    }

    /** Opens the file, or creates it. */
    public static LockFile open(Path path, Options options) {
        Objects.requireNonNull(path, "path");
        byte[] bytes = Texts.bytes(path.toString(), Status.INVALID_ARGUMENT, "path");
        return new LockFile(options, (struct, file) -> Native.turnlock_file_open(bytes, struct, file));
    }

    /** Opens the lock file that a descriptor stands for. The descriptor stays the caller's. */
    public static LockFile openDescriptor(int descriptor, Options options) {
        return new LockFile(options, (struct, file) -> Native.turnlock_file_open_descriptor(descriptor, struct, file));
    }

    /** The version of the library that is loaded, such as "0.1.0". */
    public static String libraryVersion() {
        Native.load();
        return Native.turnlock_version().getString(0, "UTF-8");
    }

    /** Opens the mutex of this name (1 to 63 bytes of UTF-8), or creates it. */
    public Mutex mutex(String name) {
        return mutex(name, new Mutex.Options());
    }

    /** Opens the mutex of this name (1 to 63 bytes of UTF-8), or creates it. */
    public Mutex mutex(String name, Mutex.Options options) {
        return handle.use(file -> new Mutex(shared, name, options));
    }

    /** Opens the turn ring of this name (1 to 63 bytes of UTF-8), or creates it. */
    public TurnRing turnRing(String name) {
        return turnRing(name, new TurnRing.Options());
    }

    /** Opens the turn ring of this name (1 to 63 bytes of UTF-8), or creates it. */
    public TurnRing turnRing(String name, TurnRing.Options options) {
        return handle.use(file -> new TurnRing(shared, name, options));
    }

    /** Opens the reader/writer lock of this name (1 to 63 bytes of UTF-8), or creates it. */
    public RwLock rwLock(String name) {
        return rwLock(name, new RwLock.Options());
    }

    /** Opens the reader/writer lock of this name (1 to 63 bytes of UTF-8), or creates it. */
    public RwLock rwLock(String name, RwLock.Options options) {
        return handle.use(file -> new RwLock(shared, name, options));
    }

    /**
     * Opens the reader/writer lock of this name (1 to 63 bytes of UTF-8), or creates it, in the place of a {@link
     * java.util.concurrent.locks.ReentrantReadWriteLock}.
     */
    public TurnReentrantReadWriteLock readWriteLock(String name) {
        return readWriteLock(name, new RwLock.Options());
    }

    /**
     * Opens the reader/writer lock of this name (1 to 63 bytes of UTF-8), or creates it, in the place of a {@link
     * java.util.concurrent.locks.ReentrantReadWriteLock}; of a fair one if the options are {@link RwLock.Options#strict}.
     */
    public TurnReentrantReadWriteLock readWriteLock(String name, RwLock.Options options) {
        return new TurnReentrantReadWriteLock(rwLock(name, options));
    }

    /** Opens the semaphore of this name (1 to 63 bytes of UTF-8), or creates it with one permit. */
    public TurnSemaphore semaphore(String name) {
        return semaphore(name, new TurnSemaphore.Options());
    }

    /** Opens the semaphore of this name (1 to 63 bytes of UTF-8), or creates it. */
    public TurnSemaphore semaphore(String name, TurnSemaphore.Options options) {
        return handle.use(file -> new TurnSemaphore(shared, name, options));
    }

    /**
     * Opens the semaphore of this name (1 to 63 bytes of UTF-8), or creates it with one permit, in the place of a {@link
     * java.util.concurrent.Semaphore}.
     */
    public CountingSemaphore countingSemaphore(String name) {
        return countingSemaphore(name, new TurnSemaphore.Options());
    }

    /**
     * Opens the semaphore of this name (1 to 63 bytes of UTF-8), or creates it, in the place of a {@link
     * java.util.concurrent.Semaphore}; of a fair one if the options are {@link TurnSemaphore.Options#strict}.
     */
    public CountingSemaphore countingSemaphore(String name, TurnSemaphore.Options options) {
        return new CountingSemaphore(semaphore(name, options));
    }

    /** Opens the range lock of this name (1 to 63 bytes of UTF-8), or creates it. */
    public RangeLock rangeLock(String name) {
        return rangeLock(name, new PartsLock.Options());
    }

    /** Opens the range lock of this name (1 to 63 bytes of UTF-8), or creates it. */
    public RangeLock rangeLock(String name, PartsLock.Options options) {
        return handle.use(file -> new RangeLock(shared, name, options));
    }

    /** Opens the keyed lock of this name (1 to 63 bytes of UTF-8), or creates it. */
    public KeyedLock keyedLock(String name) {
        return keyedLock(name, new PartsLock.Options());
    }

    /** Opens the keyed lock of this name (1 to 63 bytes of UTF-8), or creates it. */
    public KeyedLock keyedLock(String name, PartsLock.Options options) {
        return handle.use(file -> new KeyedLock(shared, name, options));
    }

    /** Opens the group lock of this name (1 to 63 bytes of UTF-8), or creates it. */
    public GroupLock groupLock(String name) {
        return groupLock(name, new PartsLock.Options());
    }

    /** Opens the group lock of this name (1 to 63 bytes of UTF-8), or creates it. */
    public GroupLock groupLock(String name, PartsLock.Options options) {
        return handle.use(file -> new GroupLock(shared, name, options));
    }

    /** Opens the condition of this name (1 to 63 bytes of UTF-8), or creates it. It has another name than its lock. */
    public TurnCondition condition(String name) {
        return condition(name, new TurnCondition.Options());
    }

    /** Opens the condition of this name (1 to 63 bytes of UTF-8), or creates it. It has another name than its lock. */
    public TurnCondition condition(String name, TurnCondition.Options options) {
        return handle.use(file -> new TurnCondition(shared, name, options));
    }

    /** Opens the event of this name (1 to 63 bytes of UTF-8), or creates it: then it is not set. */
    public Event event(String name) {
        return event(name, new Event.Options());
    }

    /** Opens the event of this name (1 to 63 bytes of UTF-8), or creates it: then it is not set. */
    public Event event(String name, Event.Options options) {
        return handle.use(file -> new Event(shared, name, options));
    }

    /** Opens the barrier of this name (1 to 63 bytes of UTF-8), or creates it, with so many parties. */
    public Barrier barrier(String name, int parties) {
        return barrier(name, new Barrier.Options().parties(parties));
    }

    /** Opens the barrier of this name (1 to 63 bytes of UTF-8), or creates it, if the options say with how many parties. */
    public Barrier barrier(String name, Barrier.Options options) {
        return handle.use(file -> new Barrier(shared, name, options));
    }

    /** Opens the once of this name (1 to 63 bytes of UTF-8), or creates it. */
    public Once once(String name) {
        return once(name, new Once.Options());
    }

    /** Opens the once of this name (1 to 63 bytes of UTF-8), or creates it. */
    public Once once(String name, Once.Options options) {
        return handle.use(file -> new Once(shared, name, options));
    }

    /** Removes a lock that no process uses, of whatever kind. */
    public void removeLock(String name) {
        byte[] bytes = Texts.name(name);
        handle.use(file -> Native.check(Native.turnlock_file_remove_lock(file, bytes)));
    }

    /** The path by which the file was opened last, its folder resolved. */
    public Path path() {
        byte[] path = new byte[4097];
        LongByReference length = new LongByReference();
        for (;;) {
            byte[] room = path;
            handle.use(file -> Native.check(Native.turnlock_file_path(file, room.length, room, length)));
            int bytes = (int) length.getValue();
            if (bytes < path.length) {
                return Path.of(new String(Arrays.copyOf(path, bytes), StandardCharsets.UTF_8));
            }
            path = new byte[bytes + 1];
        }
    }

    /** Closes the file. To close it again does nothing. */
    @Override
    public void close() {
        handle.close();
    }
}
