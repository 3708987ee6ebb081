package turnlock;

import static turnlock.TurnLockTest.expect;
import static turnlock.TurnLockTest.until;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import turnlock.PartsLock.Mode;
import turnlock.PartsLock.Part;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.junit.rules.Timeout;

/** Range locks and keyed locks. */
public class PartsLockTest {
    @Rule public final TemporaryFolder folder = new TemporaryFolder();
    @Rule public final Timeout limit = Timeout.seconds(60);

    private static final Duration MOMENT = Duration.ofMillis(5);
    private static final Duration LONG = Duration.ofDays(1);

    private final ExecutorService others = Executors.newCachedThreadPool();
    private LockFile file;

    @Before
    public void open() {
        file = LockFile.open(folder.getRoot().toPath().resolve("lock"));
    }

    @After
    public void close() {
        others.shutdownNow();
        file.close();
    }

    /** Another process takes the part and is killed inside. */
    private void dieInside(String kind) throws Exception {
        Process child = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp",
                System.getProperty("java.class.path"), Child.class.getName(), file.path().toString(), kind)
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (InputStream said = child.getInputStream()) {
            assertEquals('i', said.read());
            child.destroyForcibly().waitFor();
        }
    }

    /** What that process does. */
    public static final class Child {
        public static void main(String[] arguments) throws Exception {
            LockFile file = LockFile.open(Path.of(arguments[0]), new LockFile.Options().label("the child"));
            AutoCloseable held = arguments[1].equals("ranges")
                    ? file.rangeLock("ranges").acquire(5, 8, Mode.EXCLUSIVE) : file.keyedLock("keys").acquire("mine", Mode.EXCLUSIVE);
            assertNotNull(held);
            System.out.print("i");
            System.out.flush();
            Thread.sleep(Long.MAX_VALUE);
        }
    }

    @Test
    public void rangesThatOverlapExcludeEachOtherAndOthersDoNot() throws Exception {
        RangeLock lock = file.rangeLock("ranges");
        Part held = lock.acquire(0, 10, Mode.EXCLUSIVE);
        assertTrue(lock.tryAcquire(9, RangeLock.END, Mode.SHARED).isEmpty());
        assertThrows(TimeoutException.class, () -> lock.acquire(9, 20, Mode.EXCLUSIVE, MOMENT));
        Future<Part> later = others.submit(() -> lock.acquire(0, 1, Mode.EXCLUSIVE));
        until(() -> lock.waiters().size() == 1);
        // A waiter for one part does not keep another from being taken by the same object.
        try (Part beside = lock.acquire(10, RangeLock.END, Mode.EXCLUSIVE, LONG);
                Part last = file.rangeLock("ranges").tryAcquire(1, 2, Mode.SHARED).orElse(beside)) {
            assertEquals(2, lock.holders().size());
            assertEquals(beside, last);
            // Not before the waiter parks.
            until(held::isContended);
            expect(Status.STILL_HELD, lock::close);
        }
        held.close();
        held.close();
        later.get().unlock();
        try (Part reader = lock.acquire(0, 10, Mode.SHARED); Part another = lock.tryAcquire(5, 6, Mode.SHARED).get()) {
            assertEquals(Mode.SHARED, another.mode());
            assertFalse(reader.ownerDied());
            assertTrue(lock.tryAcquire(9, 10, Mode.EXCLUSIVE).isEmpty());
        }
        assertThrows(IllegalMonitorStateException.class, held::unlock);
        assertThrows(IllegalMonitorStateException.class, held::markConsistent);
        assertThrows(IllegalMonitorStateException.class, held::isContended);
    }

    @Test
    public void keysAreIndependentOfEachOther() throws Exception {
        KeyedLock lock = file.keyedLock("keys");
        try (Part mine = lock.acquire("mine", Mode.EXCLUSIVE); Part empty = lock.acquire("", Mode.EXCLUSIVE, LONG);
                Part other = lock.acquire(new byte[] {'m', 'i', 'n', 'e', 0}, Mode.EXCLUSIVE)) {
            assertTrue(lock.tryAcquire(new byte[] {'m', 'i', 'n', 'e'}, Mode.SHARED).isEmpty());
            assertTrue(file.keyedLock("keys").tryAcquire(new byte[0], Mode.EXCLUSIVE).isEmpty());
            Future<?> interrupted = others.submit(() -> assertThrows(InterruptedException.class,
                    () -> lock.acquire("mine", Mode.SHARED, LONG)));
            until(() -> lock.waiters().size() == 1);
            others.shutdownNow();
            interrupted.get();
            assertEquals(List.of(), lock.waiters());
            assertTrue(mine.fencingToken() != other.fencingToken() && empty.mode() == Mode.EXCLUSIVE);
        }
    }

    @Test
    public void whatIsHeldAndWantedIsShown() throws Exception {
        RangeLock ranges = file.rangeLock("ranges");
        Part held = ranges.acquire(5, 8, Mode.SHARED);
        ParticipantInfo shown = ranges.holders().get(0);
        assertEquals(List.of(5L, 8L, 0L), List.of(shown.start(), shown.end(), shown.group()));
        assertEquals(ParticipantInfo.Mode.SHARED, shown.mode());
        assertEquals("", shown.keyHash());
        Future<Part> later = others.submit(() -> ranges.acquire(7, RangeLock.END, Mode.EXCLUSIVE));
        until(() -> ranges.waiters().size() == 1);
        shown = ranges.waiters().get(0);
        assertEquals(List.of(7L, RangeLock.END), List.of(shown.start(), shown.end()));
        held.close();
        later.get().close();
        KeyedLock keys = file.keyedLock("keys");
        Set<String> hashes = new HashSet<>();
        for (String key : List.of("", "a\0é", "k".repeat(47), "k".repeat(48))) {
            try (Part one = keys.acquire(key, Mode.EXCLUSIVE)) {
                assertEquals(Mode.EXCLUSIVE, one.mode());
                shown = keys.holders().get(0);
                String begins = key.substring(0, Math.min(key.length(), 47));
                assertEquals(begins, new String(shown.key(), StandardCharsets.UTF_8));
                assertEquals(!key.isEmpty() && begins.equals(key), shown.isWholeKey());
                assertEquals(0, shown.start() + shown.end());
                hashes.add(shown.keyHash());
            }
        }
        assertEquals(4, hashes.size());
        assertTrue(hashes.stream().allMatch(hash -> hash.matches("[0-9a-f]{32}")));
    }

    @Test
    public void aDeadOwnerConcernsItsPart() throws Exception {
        PartsLock.Options informs = new PartsLock.Options().onDeath(DeathPolicy.INFORM);
        RangeLock ranges = file.rangeLock("ranges", informs);
        assertTrue(ranges.previousOwner().isEmpty());
        dieInside("ranges");
        try (Part other = ranges.acquire(8, 9, Mode.EXCLUSIVE)) {
            assertFalse(other.ownerDied());
            expect(Status.NOT_INCONSISTENT, other::markConsistent);
        }
        try (Part reader = ranges.acquire(7, 20, Mode.SHARED)) {
            assertTrue(reader.ownerDied());
        }
        try (Part mine = ranges.acquire(5, 8, Mode.EXCLUSIVE)) {
            assertEquals("the child", ranges.previousOwner().get().label());
            assertEquals(ranges.previousOwner().get().pid(), mine.deadOwnerPid());
            mine.markConsistent();
        }
        try (Part mine = ranges.acquire(5, 8, Mode.EXCLUSIVE)) {
            assertFalse(mine.ownerDied());
        }
        KeyedLock keys = file.keyedLock("keys", informs);
        dieInside("keys");
        try (Part other = keys.acquire("other", Mode.EXCLUSIVE)) {
            assertFalse(other.ownerDied());
        }
        try (Part mine = keys.acquire("mine", Mode.EXCLUSIVE)) {
            assertTrue(mine.ownerDied());
        }
        keys.reset();
        try (Part mine = keys.acquire("mine", Mode.EXCLUSIVE)) {
            assertFalse(mine.ownerDied());
        }
    }

    @Test
    public void partsThatCannotBe() {
        RangeLock ranges = file.rangeLock("ranges", new PartsLock.Options().onDeath(DeathPolicy.RELEASE));
        KeyedLock keys = file.keyedLock("keys");
        for (long[] reversed : new long[][] {{0, 0}, {5, 5}, {6, 5}}) {
            expect(Status.EMPTY_RANGE, () -> ranges.acquire(reversed[0], reversed[1], Mode.EXCLUSIVE));
            expect(Status.EMPTY_RANGE, () -> ranges.tryAcquire(reversed[0], reversed[1], Mode.SHARED));
        }
        for (long[] negative : new long[][] {{-1, 5}, {0, -2}, {Long.MIN_VALUE, RangeLock.END}}) {
            expect(Status.INVALID_ARGUMENT, () -> ranges.tryAcquire(negative[0], negative[1], Mode.SHARED));
        }
        assertThrows(NullPointerException.class, () -> ranges.acquire(0, 1, null));
        assertThrows(NullPointerException.class, () -> keys.acquire((byte[]) null, Mode.SHARED));
        assertThrows(NullPointerException.class, () -> keys.acquire((String) null, Mode.SHARED));
        assertThrows(NullPointerException.class, () -> keys.acquire("key", Mode.SHARED, null));
        assertThrows(NullPointerException.class, () -> file.rangeLock("null", null));
        expect(Status.BAD_NAME, () -> file.rangeLock("a\0b"));
        expect(Status.BAD_NAME, () -> file.keyedLock(""));
        expect(Status.KIND, () -> file.keyedLock("ranges"));
        expect(Status.NOT_FOUND, () -> file.keyedLock("absent", new PartsLock.Options().mustExist()));
        expect(Status.INVALID_ARGUMENT, () -> file.rangeLock("label", new PartsLock.Options().label("a\0b")));
    }

    @Test
    public void closingEndsTheWaits() throws Exception {
        KeyedLock holder = file.keyedLock("keys");
        KeyedLock waiter = file.keyedLock("keys");
        Part held = holder.acquire("key", Mode.EXCLUSIVE);
        List<Future<?>> waits = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            waits.add(others.submit(() -> expect(Status.CLOSED, () -> waiter.acquire("key", Mode.SHARED))));
        }
        until(() -> holder.waiters().size() == 2);
        waiter.close();
        for (Future<?> wait : waits) {
            wait.get();
        }
        held.close();
        holder.close();
        expect(Status.CLOSED, holder::holders);
    }
}
