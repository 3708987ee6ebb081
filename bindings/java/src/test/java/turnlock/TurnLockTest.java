package turnlock;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.junit.rules.Timeout;
import org.junit.runner.RunWith;
import org.junit.runners.Parameterized;

/** What locks of both kinds do. */
@RunWith(Parameterized.class)
public class TurnLockTest {
    @Rule public final TemporaryFolder folder = new TemporaryFolder();
    @Rule public final Timeout limit = Timeout.seconds(60);

    private final boolean isRing;
    private final ExecutorService others = Executors.newCachedThreadPool();
    private LockFile file;

    public TurnLockTest(String kind) {
        isRing = kind.equals("ring");
    }

    @Parameterized.Parameters(name = "{0}")
    public static Object[] kinds() {
        return new Object[] {"mutex", "ring"};
    }

    @Before
    public void open() {
        file = LockFile.open(folder.getRoot().toPath().resolve("lock"));
    }

    @After
    public void close() {
        others.shutdownNow();
        file.close();
    }

    private TurnLock lock() {
        return open(file, isRing);
    }

    private static TurnLock open(LockFile file, boolean isRing) {
        return isRing ? file.turnRing("lock") : file.mutex("lock");
    }

    /** One that wants a repair after a death. */
    private TurnLock informing() {
        return isRing ? file.turnRing("lock", new TurnRing.Options().onDeath(DeathPolicy.INFORM))
                : file.mutex("lock", new Mutex.Options().onDeath(DeathPolicy.INFORM));
    }

    /** Another process takes the lock and is killed inside. */
    private void dieInside() throws Exception {
        Process child = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp",
                System.getProperty("java.class.path"), Child.class.getName(), file.path().toString(), "" + isRing)
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (InputStream said = child.getInputStream()) {
            assertEquals('i', said.read());
            child.destroyForcibly().waitFor();
        }
    }

    /** What that process does. */
    public static final class Child {
        public static void main(String[] arguments) throws Exception {
            LockFile.Options options = new LockFile.Options().label("the child");
            LockFile file = LockFile.open(Path.of(arguments[0]), options);
            open(file, Boolean.parseBoolean(arguments[1])).lock();
            System.out.print("i");
            System.out.flush();
            Thread.sleep(Long.MAX_VALUE);
        }
    }

    /** How often the package warned meanwhile. */
    static int warningsOf(Runnable act) {
        java.util.logging.Logger logger = java.util.logging.Logger.getLogger("turnlock");
        List<java.util.logging.LogRecord> records = new ArrayList<>();
        java.util.logging.Handler handler = new java.util.logging.Handler() {
            @Override
            public void publish(java.util.logging.LogRecord record) {
                records.add(record);
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        logger.addHandler(handler);
        try {
            act.run();
        } finally {
            logger.removeHandler(handler);
        }
        return records.size();
    }

    static void until(java.util.function.BooleanSupplier condition) throws InterruptedException {
        while (!condition.getAsBoolean()) {
            Thread.sleep(1);
        }
    }

    static void expect(Status status, org.junit.function.ThrowingRunnable use) {
        assertSame(status, assertThrows(TurnlockException.class, use).status());
    }

    @Test
    public void threadsAddUp() throws Exception {
        int[] count = {0};
        TurnLock shared = lock();
        List<Future<?>> all = new ArrayList<>();
        for (int worker = 0; worker < 8; worker++) {
            TurnLock lock = worker % 2 == 0 ? shared : lock();
            all.add(others.submit(() -> {
                for (int turn = 0; turn < 100; turn++) {
                    try (Acquisition held = lock.acquire()) {
                        count[0]++;
                    }
                }
            }));
        }
        for (Future<?> one : all) {
            one.get();
        }
        assertEquals(800, count[0]);
    }

    @Test
    public void fencingTokensIncrease() {
        long last = 0;
        TurnLock lock = lock();
        for (int turn = 0; turn < 5; turn++) {
            try (Acquisition held = lock.acquire()) {
                assertTrue(held.fencingToken() > last);
                assertSame(held, lock.acquisition());
                last = held.fencingToken();
            }
        }
    }

    @Test
    public void aThreadTakesItAgain() throws Exception {
        TurnLock lock = lock();
        lock.lock();
        long token = lock.acquisition().fencingToken();
        assertTrue(lock.tryLock() && lock.tryLock(1, TimeUnit.SECONDS));
        lock.lockInterruptibly();
        assertEquals(token, lock.acquire().fencingToken());
        for (int i = 0; i < 4; i++) {
            lock.unlock();
            assertTrue(lock.isHeldByCurrentThread());
        }
        assertFalse(others.submit(() -> lock.tryLock()).get());
        lock.unlock();
        assertFalse(lock.isHeldByCurrentThread());
    }

    @Test
    public void theNextHolderIsToldOfADeath() throws Exception {
        TurnLock lock = informing();
        assertTrue(lock.previousOwner().isEmpty());
        dieInside();
        try (Acquisition held = lock.acquire()) {
            assertTrue(held.ownerDied() && held.deadOwnerFencingToken() < held.fencingToken());
            DeadOwner dead = lock.previousOwner().get();
            assertEquals("the child", dead.label());
            assertEquals(held.deadOwnerPid(), dead.pid());
            assertEquals(held.deadOwnerFencingToken(), dead.fencingToken());
            lock.markConsistent();
        }
        try (Acquisition held = lock.acquire()) {
            assertFalse(held.ownerDied());
            expect(Status.NOT_INCONSISTENT, lock::markConsistent);
        }
    }

    @Test
    public void aKilledHolderEndsNoneOfTheOthers() throws Exception {
        dieInside();
        List<Future<?>> all = new ArrayList<>();
        int[] inside = {0};
        for (int other = 0; other < 7; other++) {
            TurnLock lock = lock();
            all.add(others.submit(() -> {
                for (int turn = 0; turn < 10; turn++) {
                    try (Acquisition held = lock.acquire()) {
                        inside[0]++;
                    }
                }
            }));
        }
        for (Future<?> other : all) {
            other.get();
        }
        assertEquals(70, inside[0]);
        assertSame(DeathPolicy.RELEASE, lock().deathPolicy());
    }

    @Test
    public void withoutARepairTheLockIsClosedUntilAReset() throws Exception {
        TurnLock lock = informing();
        assertSame(DeathPolicy.INFORM, lock().deathPolicy());
        dieInside();
        lock.lock();
        assertFalse(lock.tryReset());
        assertEquals(1, warningsOf(lock::unlock));
        expect(Status.NOT_RECOVERABLE, lock::lock);
        expect(Status.NOT_RECOVERABLE, lock::tryLock);
        expect(Status.NOT_RECOVERABLE, () -> lock.tryLock(1, TimeUnit.SECONDS));
        lock.reset();
        assertTrue(lock.tryReset());
        lock.acquire().close();
    }

    @Test
    public void whatIsAbandonedIsToldOf() {
        TurnLock lock = lock();
        lock.lock();
        lock.lock();
        lock.abandon();
        assertFalse(lock.isHeldByCurrentThread());
        try (Acquisition held = lock.acquire()) {
            assertEquals(ProcessHandle.current().pid(), held.deadOwnerPid());
            lock.markConsistent();
        }
    }

    @Test
    public void anInterruptEndsAWaitAndLeavesNothingInTheQueue() throws Exception {
        TurnLock holder = lock();
        TurnLock waiter = lock();
        holder.lock();
        List<Thread> threads = new ArrayList<>();
        List<Throwable> ends = java.util.Collections.synchronizedList(new ArrayList<>());
        // One waits in the library, the other one for it; one waits with a limit.
        for (int i = 0; i < 3; i++) {
            boolean limited = i == 2;
            TurnLock lock = limited ? lock() : waiter;
            threads.add(new Thread(() -> ends.add(assertThrows(InterruptedException.class, () -> {
                if (limited) {
                    lock.acquire(Duration.ofDays(1_000_000));
                } else {
                    lock.lockInterruptibly();
                }
            }))));
        }
        threads.forEach(Thread::start);
        until(() -> holder.waiters().size() == 2);
        for (Thread thread : threads) {
            thread.interrupt();
            thread.join();
        }
        assertEquals(3, ends.size());
        assertEquals(List.of(), holder.waiters());

        // lock() waits on, and the interrupt is not lost.
        Thread patient = new Thread(() -> {
            waiter.lock();
            assertTrue(Thread.interrupted());
            waiter.unlock();
            ends.clear();
        });
        patient.start();
        until(holder::isContended);
        patient.interrupt();
        patient.join(100);
        holder.unlock();
        patient.join();
        assertEquals(0, ends.size());
    }

    @Test
    public void limitsPass() throws Exception {
        TurnLock holder = lock();
        TurnLock another = lock();
        holder.lock();
        assertFalse(another.tryLock());
        assertFalse(another.tryLock(5, TimeUnit.MILLISECONDS));
        String why =
                assertThrows(TimeoutException.class, () -> another.acquire(Duration.ofMillis(5))).getMessage();
        assertTrue(why, why.contains(": process " + ProcessHandle.current().pid() + " ("));
        assertFalse(others.submit(() -> holder.tryLock(5, TimeUnit.MILLISECONDS)).get());
        holder.unlock();
        another.acquire(Duration.ofSeconds(50)).close();
    }

    @Test
    public void holdersAndWaitersAreSeen() throws Exception {
        TurnLock holder = isRing ? file.turnRing("lock", new TurnRing.Options().label("first"))
                : file.mutex("lock", new Mutex.Options().label("first").strict());
        assertTrue(holder.holder().isEmpty() && holder.waiters().isEmpty());
        holder.lock();
        List<Future<?>> all = new ArrayList<>();
        for (int worker = 0; worker < 10; worker++) {
            all.add(others.submit(() -> lock().acquire().close()));
        }
        until(() -> holder.waiters().size() == 10);
        ParticipantInfo info = holder.holder().get();
        assertEquals("first", info.label());
        assertEquals("java", info.program());
        assertEquals(holder.acquisition().fencingToken(), info.fencingToken());
        assertEquals(ParticipantInfo.Life.ALIVE, info.life());
        assertEquals(ParticipantInfo.State.HOLDING, info.state());
        assertTrue(info.duration().toNanos() > 0);
        holder.unlock();
        for (Future<?> one : all) {
            one.get();
        }
    }

    @Test
    public void aFileByItsDescriptor() throws Exception {
        TurnLock holder = lock();
        holder.lock();
        try (RandomAccessFile plain = new RandomAccessFile(file.path().toFile(), "rw")) {
            long descriptor = Files.list(Path.of("/proc/self/fd")).filter(fd -> {
                try {
                    return Files.readSymbolicLink(fd).equals(file.path());
                } catch (java.io.IOException gone) {
                    return false;
                }
            }).mapToInt(fd -> Integer.parseInt(fd.getFileName().toString())).max().getAsInt();
            try (LockFile same = LockFile.openDescriptor((int) descriptor, new LockFile.Options())) {
                assertFalse(open(same, isRing).tryLock());
                assertEquals(file.path(), same.path());
            }
        }
        holder.unlock();
    }

    @Test
    public void whatIsMisusedSaysSo() throws Exception {
        TurnLock lock = lock();
        for (org.junit.function.ThrowingRunnable use : List.<org.junit.function.ThrowingRunnable>of(
                lock::unlock, lock::abandon, lock::markConsistent, lock::isContended, lock::acquisition)) {
            assertThrows(IllegalMonitorStateException.class, use);
        }
        Acquisition held = lock.acquire();
        others.submit(() -> assertThrows(IllegalMonitorStateException.class, lock::unlock)).get();
        others.submit(held::close).get();
        assertTrue(lock.isHeldByCurrentThread());
        expect(Status.IN_USE, () -> file.removeLock("lock"));
        expect(Status.STILL_HELD, lock::close);
        held.close();
        held.close();
        assertThrows(UnsupportedOperationException.class, lock::newCondition);
        file.removeLock("lock");
        expect(Status.NOT_FOUND, lock::lock);
        expect(Status.NOT_FOUND, lock::tryLock);
    }

    @Test
    public void timesThatCannotBe() throws Exception {
        TurnLock lock = lock();
        TurnLock another = lock();
        lock.lock();
        assertFalse(another.tryLock(Long.MIN_VALUE, TimeUnit.DAYS));
        assertThrows(TimeoutException.class, () -> another.acquire(Duration.ofSeconds(Long.MIN_VALUE)));
        assertThrows(NullPointerException.class, () -> another.acquire(null));
        assertThrows(NullPointerException.class, () -> another.tryLock(1, null));
        lock.unlock();
        assertTrue(another.tryLock(Long.MAX_VALUE, TimeUnit.DAYS));
        another.unlock();
        another.acquire(Duration.ofSeconds(Long.MAX_VALUE)).close();
    }

    @Test
    public void whatIsClosedSaysSoAndItsWaitsEnd() throws Exception {
        TurnLock holder = lock();
        TurnLock lock = lock();
        holder.lock();
        List<Future<?>> waits = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            waits.add(others.submit(() -> expect(Status.CLOSED, lock::lock)));
        }
        until(() -> holder.waiters().size() == 1);
        lock.close();
        lock.close();
        for (Future<?> wait : waits) {
            wait.get();
        }
        assertEquals(List.of(), holder.waiters());
        for (org.junit.function.ThrowingRunnable use : List.<org.junit.function.ThrowingRunnable>of(
                lock::lock, lock::lockInterruptibly, lock::tryLock, () -> lock.tryLock(1, TimeUnit.DAYS), lock::acquire,
                lock::reset, lock::tryReset, lock::previousOwner, lock::holder, lock::waiters)) {
            expect(Status.CLOSED, use);
        }
        file.close();
        file.close();
        expect(Status.CLOSED, this::lock);
        expect(Status.CLOSED, file::path);
        expect(Status.CLOSED, () -> file.removeLock("lock"));
        // The locks stay open without their file.
        holder.unlock();
        holder.acquire().close();
    }
}
