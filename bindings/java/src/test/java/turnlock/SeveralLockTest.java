package turnlock;

import static turnlock.TurnLockTest.expect;
import static turnlock.TurnLockTest.until;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotNull;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.InputStream;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;
import org.junit.rules.Timeout;

/** Reader/writer locks and semaphores. */
public class SeveralLockTest {
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

    /** Another process takes the lock and is killed inside. */
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
            AutoCloseable held = arguments[1].equals("rwlock")
                    ? file.rwLock("lock").acquire(RwLock.Mode.EXCLUSIVE) : file.semaphore("lock").acquire(1);
            assertNotNull(held);
            System.out.print("i");
            System.out.flush();
            Thread.sleep(Long.MAX_VALUE);
        }
    }

    @Test
    public void permitsBoundAPool() throws Exception {
        TurnSemaphore shared = file.semaphore("jobs", new TurnSemaphore.Options().permits(3));
        TurnSemaphore another = file.semaphore("jobs");
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        List<Future<?>> all = new ArrayList<>();
        for (int worker = 0; worker < 12; worker++) {
            TurnSemaphore semaphore = worker % 2 == 0 ? shared : another;
            all.add(others.submit(() -> {
                for (int turn = 0; turn < 20; turn++) {
                    try (TurnSemaphore.Permits held = semaphore.acquire(1)) {
                        most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                        Thread.yield();
                        inside.decrementAndGet();
                    }
                }
            }));
        }
        for (Future<?> one : all) {
            one.get();
        }
        assertTrue("" + most, most.get() <= 3 && inside.get() == 0);
    }

    @Test
    public void permitsInPartsAndTooMany() throws Exception {
        TurnSemaphore semaphore = file.semaphore("permits", new TurnSemaphore.Options().permits(5).strict());
        TurnSemaphore.Permits three = semaphore.acquire(3);
        TurnSemaphore.Permits two = semaphore.acquire(2, LONG);
        assertTrue(semaphore.tryAcquire(1).isEmpty());
        assertThrows(TimeoutException.class, () -> semaphore.acquire(1, MOMENT));
        assertThrows(TimeoutException.class, () -> semaphore.acquire(1, Duration.ofSeconds(Long.MIN_VALUE)));
        expect(Status.TOO_MANY_RELEASED, () -> three.release(4));
        expect(Status.INVALID_ARGUMENT, () -> three.release(0));
        three.release(1);
        assertEquals(2, three.count());
        assertEquals(4, semaphore.holders().stream().mapToInt(ParticipantInfo::permits).sum());
        expect(Status.STILL_HELD, semaphore::close);
        others.submit(three::close).get();
        two.close();
        two.close();
        assertThrows(IllegalMonitorStateException.class, () -> two.release(1));
        for (int permits : new int[] {0, -1, Integer.MIN_VALUE, 6, Integer.MAX_VALUE}) {
            expect(Status.PERMITS, () -> semaphore.acquire(permits));
            expect(Status.PERMITS, () -> semaphore.tryAcquire(permits));
        }
        expect(Status.PERMITS, () -> new TurnSemaphore.Options().permits(0));
        expect(Status.PERMITS, () -> semaphore.resize(0));
        semaphore.resize(2);
        assertEquals(2, semaphore.permits());
        expect(Status.BAD_NAME, () -> file.semaphore("a\0b"));
        expect(Status.INVALID_ARGUMENT, () -> file.semaphore("b", new TurnSemaphore.Options().label("a\0b")));
        assertThrows(NullPointerException.class, () -> file.semaphore(null));
        semaphore.close();
        semaphore.close();
        for (ThrowingRunnable use : List.<ThrowingRunnable>of(() -> semaphore.acquire(1), () -> semaphore.tryAcquire(1),
                () -> semaphore.acquire(1, LONG), semaphore::permits, () -> semaphore.resize(1), semaphore::holders,
                semaphore::waiters)) {
            expect(Status.CLOSED, use);
        }
    }

    @Test
    public void anInterruptEndsAWaitForPermits() throws Exception {
        TurnSemaphore holder = file.semaphore("permits");
        TurnSemaphore waiter = file.semaphore("permits");
        TurnSemaphore.Permits held = holder.tryAcquire(1).get();
        AtomicInteger ended = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            threads.add(new Thread(() -> {
                assertThrows(InterruptedException.class, () -> waiter.acquire(1, LONG));
                ended.incrementAndGet();
            }));
        }
        threads.forEach(Thread::start);
        until(() -> holder.waiters().size() == 1);
        for (Thread thread : threads) {
            thread.interrupt();
            thread.join();
        }
        assertEquals(2, ended.get());
        assertEquals(List.of(), holder.waiters());
        held.close();
        waiter.acquire(1).close();
    }

    @Test
    public void permitsOfTheDeadComeBack() throws Exception {
        dieInside("semaphore");
        file.semaphore("lock").acquire(1).close();
    }

    @Test
    public void readersAreBesideEachOtherAndWritersAlone() throws Exception {
        RwLock lock = file.rwLock("lock");
        RwLock another = file.rwLock("lock", new RwLock.Options().label("another"));
        RwLock.Hold one = lock.acquire(RwLock.Mode.SHARED);
        RwLock.Hold two = lock.acquire(RwLock.Mode.SHARED, LONG);
        RwLock.Hold three = another.tryAcquire(RwLock.Mode.SHARED).get();
        assertTrue(lock.tryAcquire(RwLock.Mode.EXCLUSIVE).isEmpty());
        assertThrows(TimeoutException.class, () -> lock.acquire(RwLock.Mode.EXCLUSIVE, MOMENT));
        RwLock.Hold upgradable = another.acquire(RwLock.Mode.UPGRADABLE);
        assertFalse(upgradable.tryUpgrade());
        assertThrows(TimeoutException.class, () -> upgradable.upgrade(MOMENT));
        Future<?> upgraded = others.submit(() -> {
            upgradable.upgrade(LONG);
            return null;
        });
        until(() -> lock.holders().stream().anyMatch(info -> info.mode() == ParticipantInfo.Mode.UPGRADING));
        one.close();
        two.unlock();
        three.abandon();
        upgraded.get();
        assertEquals(RwLock.Mode.EXCLUSIVE, upgradable.mode());
        assertTrue(lock.tryAcquire(RwLock.Mode.SHARED).isEmpty());
        assertFalse(upgradable.isContended());
        upgradable.downgrade(RwLock.Mode.SHARED);
        RwLock.Hold reader = lock.acquire(RwLock.Mode.SHARED);
        assertEquals(upgradable.fencingToken(), reader.fencingToken());
        expect(Status.NOT_UPGRADABLE, () -> reader.downgrade(RwLock.Mode.UPGRADABLE));
        expect(Status.NOT_EXCLUSIVE, reader::markConsistent);
        expect(Status.NOT_UPGRADABLE, reader::tryUpgrade);
        expect(Status.STILL_HELD, lock::close);
        reader.close();
        reader.close();
        upgradable.close();
        for (ThrowingRunnable use : List.<ThrowingRunnable>of(reader::unlock, reader::abandon, reader::markConsistent,
                reader::tryUpgrade, reader::isContended, reader::fencingToken, () -> reader.upgrade(MOMENT),
                () -> reader.downgrade(RwLock.Mode.SHARED))) {
            assertThrows(IllegalMonitorStateException.class, use);
        }
        assertThrows(NullPointerException.class, () -> lock.acquire(null));
        assertThrows(NullPointerException.class, () -> lock.acquire(RwLock.Mode.SHARED, null));
        lock.close();
        expect(Status.CLOSED, () -> lock.acquire(RwLock.Mode.SHARED));
        expect(Status.CLOSED, lock::holders);
        expect(Status.KIND, () -> file.semaphore("lock"));
    }

    @Test
    public void readersThatTryAtOnceAllHaveIt() throws Exception {
        RwLock lock = file.rwLock("lock");
        List<Future<?>> all = new ArrayList<>();
        for (int reader = 0; reader < 8; reader++) {
            all.add(others.submit(() -> {
                for (int turn = 0; turn < 50; turn++) {
                    lock.tryAcquire(RwLock.Mode.SHARED).get().close();
                    lock.acquire(RwLock.Mode.SHARED, Duration.ZERO).close();
                }
                return null;
            }));
        }
        for (Future<?> one : all) {
            one.get();
        }
    }

    @Test
    public void readersAreToldOfAWriterThatDiedUntilAWriterRepairs() throws Exception {
        RwLock lock = file.rwLock("lock", new RwLock.Options().onDeath(DeathPolicy.INFORM));
        assertTrue(lock.previousOwner().isEmpty());
        dieInside("rwlock");
        try (RwLock.Hold reader = lock.acquire(RwLock.Mode.SHARED)) {
            assertTrue(reader.ownerDied());
        }
        RwLock.Hold closing = lock.acquire(RwLock.Mode.EXCLUSIVE);
        assertEquals("the child", lock.previousOwner().get().label());
        assertEquals(lock.previousOwner().get().pid(), closing.deadOwnerPid());
        assertEquals(1, TurnLockTest.warningsOf(closing::unlock));
        expect(Status.NOT_RECOVERABLE, () -> lock.tryAcquire(RwLock.Mode.SHARED));
        lock.reset();
        lock.acquire(RwLock.Mode.EXCLUSIVE).abandon();
        try (RwLock.Hold writer = lock.acquire(RwLock.Mode.EXCLUSIVE)) {
            assertEquals(ProcessHandle.current().pid(), writer.deadOwnerPid());
            writer.markConsistent();
        }
        try (RwLock.Hold reader = lock.acquire(RwLock.Mode.SHARED)) {
            assertFalse(reader.ownerDied());
        }
    }

    @Test
    public void closingEndsTheWaitsAndTheFileMayBeClosedBefore() throws Exception {
        TurnSemaphore holder = file.semaphore("permits");
        TurnSemaphore waiter = file.semaphore("permits");
        file.close();
        TurnSemaphore.Permits held = holder.acquire(1);
        List<Future<?>> waits = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            waits.add(others.submit(() -> expect(Status.CLOSED, () -> waiter.acquire(1))));
        }
        until(() -> holder.waiters().size() == 1);
        waiter.close();
        for (Future<?> wait : waits) {
            wait.get();
        }
        assertEquals(List.of(), holder.waiters());
        held.close();
        holder.close();
    }
}
