package turnlock;

import static turnlock.TurnLockTest.expect;
import static turnlock.TurnLockTest.until;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertNotSame;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.NotSerializableException;
import java.io.ObjectOutputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;
import org.junit.rules.Timeout;

/** The lock that is a ReentrantReadWriteLock. */
public class ReadWriteLockTest {
    @Rule public final TemporaryFolder folder = new TemporaryFolder();
    @Rule public final Timeout limit = Timeout.seconds(60);

    private final ExecutorService others = Executors.newCachedThreadPool();
    private LockFile file;
    private TurnReentrantReadWriteLock lock;
    /** The same lock by another opening of the file, as another process has it. */
    private LockFile elsewhere;
    private TurnReentrantReadWriteLock there;

    @Before
    public void open() {
        file = LockFile.open(folder.getRoot().toPath().resolve("lock"));
        lock = file.readWriteLock("lock");
        elsewhere = LockFile.open(file.path());
        there = elsewhere.readWriteLock("lock");
    }

    @After
    public void close() {
        others.shutdownNow();
        file.close();
        elsewhere.close();
    }

    /** Whether another thread gets it without waiting; it does not keep it. */
    private boolean isFree(Lock one) throws Exception {
        return others.submit(() -> {
            boolean isTaken = one.tryLock();
            if (isTaken) {
                one.unlock();
            }
            return isTaken;
        }).get();
    }

    /** Another process takes the write lock, or the read lock. */
    private Process otherProcess(String which) throws Exception {
        Process child = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp",
                System.getProperty("java.class.path"), Child.class.getName(), file.path().toString(), which)
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        InputStream said = child.getInputStream();
        assertEquals('i', said.read());
        return child;
    }

    /** What that process does: it unlocks when its input ends. */
    public static final class Child {
        public static void main(String[] arguments) throws Exception {
            TurnReentrantReadWriteLock lock = LockFile.open(Path.of(arguments[0])).readWriteLock("lock");
            Lock one = arguments[1].equals("write") ? lock.writeLock() : lock.readLock();
            one.lock();
            System.out.print("i");
            System.out.flush();
            while (System.in.read() >= 0) {
                continue;
            }
            one.unlock();
        }
    }

    @Test
    public void aThreadMayTakeAgainWhatItHas() throws Exception {
        ReentrantReadWriteLock asTheJdk = lock;
        assertSame(lock.readLock(), asTheJdk.readLock());
        assertSame(lock.writeLock(), asTheJdk.writeLock());
        for (int i = 1; i <= 3; i++) {
            asTheJdk.writeLock().lock();
            assertEquals(i, lock.getWriteHoldCount());
        }
        asTheJdk.readLock().lockInterruptibly();
        assertTrue(lock.readLock().tryLock());
        assertEquals(2, lock.getReadHoldCount());
        assertEquals(2, lock.getReadLockCount());
        assertEquals(1, lock.holders().size());
        assertSame(Thread.currentThread(), lock.getOwner());
        assertNull(there.getOwner());
        assertTrue(there.isWriteLocked());
        lock.readLock().unlock();
        lock.readLock().unlock();
        for (int i = 3; i > 0; i--) {
            assertFalse(isFree(there.readLock()));
            assertFalse(isFree(lock.readLock()));
            lock.writeLock().unlock();
        }
        assertFalse(there.isWriteLocked());
        for (int i = 1; i <= 3; i++) {
            assertTrue(lock.readLock().tryLock(1, TimeUnit.SECONDS));
            assertEquals(i, lock.getReadHoldCount());
            assertEquals(1, there.getReadLockCount());
        }
        assertEquals(3, lock.getReadLockCount());
        for (int i = 3; i > 0; i--) {
            assertFalse(isFree(there.writeLock()));
            assertTrue(isFree(there.readLock()));
            lock.readLock().unlock();
        }
        assertTrue(isFree(there.writeLock()));
        assertEquals(List.of(), lock.holders());
    }

    @Test
    public void aWriterMayBecomeAReader() throws Exception {
        lock.writeLock().lock();
        long token = lock.fencingToken();
        lock.readLock().lock();
        assertFalse(isFree(there.readLock()));
        lock.writeLock().unlock();
        assertEquals(0, lock.getWriteHoldCount());
        assertEquals(1, lock.getReadLockCount());
        assertTrue(isFree(there.readLock()));
        assertTrue(isFree(lock.readLock()));
        assertFalse(isFree(there.writeLock()));
        assertEquals(token, lock.fencingToken());
        lock.readLock().lock();
        lock.readLock().unlock();
        assertFalse(isFree(lock.writeLock()));
        lock.readLock().unlock();
        assertTrue(isFree(there.writeLock()));
        assertThrows(IllegalMonitorStateException.class, lock::fencingToken);
    }

    @Test
    public void aReaderThatWantsToWriteIsRefused() throws Exception {
        lock.readLock().lock();
        expect(Status.DEADLOCK, () -> lock.writeLock().lock());
        expect(Status.DEADLOCK, () -> lock.writeLock().lockInterruptibly());
        assertFalse(lock.writeLock().tryLock());
        assertFalse(lock.writeLock().tryLock(5, TimeUnit.MILLISECONDS));
        lock.readLock().unlock();
        lock.writeLock().lock();
        lock.readLock().lock();
        lock.writeLock().lock();
        lock.writeLock().unlock();
        lock.readLock().unlock();
        lock.writeLock().unlock();
        assertTrue(isFree(there.writeLock()));
    }

    @Test
    public void onlyTheThreadThatHasItUnlocks() throws Exception {
        List<ThrowingRunnable> uses = List.of(() -> lock.writeLock().unlock(), () -> lock.readLock().unlock(), lock::ownerDied,
                lock::deadOwnerPid, lock::fencingToken, lock::isContended, lock::markConsistent, lock::abandon);
        for (ThrowingRunnable use : uses) {
            assertThrows(IllegalMonitorStateException.class, use);
        }
        lock.writeLock().lock();
        assertThrows(IllegalMonitorStateException.class, () -> lock.readLock().unlock());
        for (ThrowingRunnable use : uses) {
            others.submit(() -> assertThrows(IllegalMonitorStateException.class, use)).get();
        }
        lock.writeLock().unlock();
        lock.readLock().lock();
        assertThrows(IllegalMonitorStateException.class, () -> lock.writeLock().unlock());
        for (ThrowingRunnable use : uses) {
            others.submit(() -> assertThrows(IllegalMonitorStateException.class, use)).get();
        }
        expect(Status.NOT_EXCLUSIVE, lock::markConsistent);
        expect(Status.STILL_HELD, lock::close);
        lock.readLock().unlock();
        assertThrows(UnsupportedOperationException.class, () -> lock.writeLock().newCondition());
        assertThrows(UnsupportedOperationException.class, () -> lock.readLock().newCondition());
        assertThrows(NotSerializableException.class,
                () -> new ObjectOutputStream(new ByteArrayOutputStream()).writeObject(lock));
        lock.close();
        lock.close();
        for (Lock one : List.of(lock.readLock(), lock.writeLock())) {
            expect(Status.CLOSED, one::lock);
            expect(Status.CLOSED, one::lockInterruptibly);
            expect(Status.CLOSED, one::tryLock);
            expect(Status.CLOSED, () -> one.tryLock(1, TimeUnit.DAYS));
            assertThrows(IllegalMonitorStateException.class, one::unlock);
        }
        assertEquals(0, lock.getReadHoldCount() + lock.getWriteHoldCount());
    }

    @Test
    public void writersAreAloneAndReadersSeeWhatTheyWrote() throws Exception {
        int[] values = new int[2];
        List<Future<?>> all = new ArrayList<>();
        for (int worker = 0; worker < 8; worker++) {
            TurnReentrantReadWriteLock mine = worker % 2 == 0 ? lock : there;
            boolean writes = worker < 4;
            all.add(others.submit(() -> {
                for (int turn = 0; turn < 50; turn++) {
                    Lock one = writes ? mine.writeLock() : mine.readLock();
                    one.lock();
                    try {
                        assertEquals(values[0], values[1]);
                        if (writes) {
                            values[0]++;
                            Thread.yield();
                            values[1]++;
                        }
                    } finally {
                        one.unlock();
                    }
                }
            }));
        }
        for (Future<?> one : all) {
            one.get();
        }
        assertEquals(200, values[0]);
        assertEquals(0, lock.getReadLockCount());
        assertFalse(lock.isWriteLocked());
    }

    @Test
    public void interruptsAndTimeLimitsEndWaits() throws Exception {
        there.writeLock().lock();
        for (Lock one : List.of(lock.readLock(), lock.writeLock())) {
            assertFalse(others.submit(() -> one.tryLock(5, TimeUnit.MILLISECONDS)).get());
            assertFalse(others.submit(() -> one.tryLock(Long.MIN_VALUE, TimeUnit.DAYS)).get());
            for (boolean hasLimit : new boolean[] {false, true}) {
                AtomicInteger ended = new AtomicInteger();
                Thread waiter = new Thread(() -> {
                    assertThrows(InterruptedException.class, () -> {
                        if (hasLimit) {
                            one.tryLock(Long.MAX_VALUE, TimeUnit.DAYS);
                        } else {
                            one.lockInterruptibly();
                        }
                    });
                    assertFalse(Thread.currentThread().isInterrupted());
                    ended.incrementAndGet();
                });
                waiter.start();
                until(() -> lock.getQueuedThreads().contains(waiter) && there.waiters().size() == 1);
                assertFalse(lock.writeLock().isHeldByCurrentThread());
                assertNull(lock.getOwner());
                assertEquals(0, lock.getReadLockCount());
                waiter.interrupt();
                waiter.join();
                assertEquals(1, ended.get());
                assertEquals(List.of(), there.waiters());
            }
        }
        Thread patient = new Thread(() -> {
            lock.writeLock().lock();
            assertTrue(Thread.currentThread().isInterrupted());
            lock.writeLock().unlock();
        });
        patient.start();
        until(() -> there.isContended());
        patient.interrupt();
        there.writeLock().unlock();
        patient.join();
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> lock.writeLock().lockInterruptibly());
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> lock.readLock().tryLock(1, TimeUnit.DAYS));
        assertTrue(isFree(there.writeLock()));
    }

    @Test
    public void anotherProcessExcludesThreadsHere() throws Exception {
        Process writer = otherProcess("write");
        assertTrue(lock.isWriteLocked());
        assertFalse(lock.isWriteLockedByCurrentThread());
        assertFalse(lock.readLock().tryLock());
        Future<?> waits = others.submit(() -> {
            lock.readLock().lock();
            lock.readLock().unlock();
        });
        until(() -> there.waiters().size() == 1);
        writer.getOutputStream().close();
        waits.get();
        assertEquals(0, writer.waitFor());
        Process reader = otherProcess("read");
        assertEquals(1, lock.getReadLockCount());
        assertFalse(lock.writeLock().tryLock());
        assertTrue(lock.readLock().tryLock());
        assertEquals(2, lock.getReadLockCount());
        lock.readLock().unlock();
        reader.destroyForcibly().waitFor();
        lock.writeLock().lock();
        assertFalse(lock.ownerDied());
        lock.writeLock().unlock();
    }

    @Test
    public void aWriterThatWasKilledIsToldOf() throws Exception {
        Process writer = otherProcess("write");
        Future<Boolean> waits = others.submit(() -> {
            lock.writeLock().lock();
            try {
                return lock.ownerDied() && lock.deadOwnerPid() == writer.pid();
            } finally {
                lock.writeLock().unlock();
            }
        });
        until(() -> there.waiters().size() == 1);
        writer.destroyForcibly().waitFor();
        assertTrue(waits.get());
        assertEquals(writer.pid(), lock.previousOwner().get().pid());
        lock.writeLock().lock();
        assertFalse(lock.ownerDied());
        lock.writeLock().unlock();
    }

    @Test
    public void aLockThatInformsIsRepairedOrClosed() throws Exception {
        TurnReentrantReadWriteLock informs = file.readWriteLock("informs", new RwLock.Options().onDeath(DeathPolicy.INFORM));
        informs.writeLock().lock();
        informs.writeLock().lock();
        informs.readLock().lock();
        informs.abandon();
        assertEquals(0, informs.getWriteHoldCount() + informs.getReadHoldCount() + informs.getReadLockCount());
        informs.writeLock().lock();
        assertTrue(informs.ownerDied());
        informs.markConsistent();
        informs.writeLock().unlock();
        informs.readLock().lock();
        assertFalse(informs.ownerDied());
        informs.abandon();
        assertEquals(0, informs.getReadLockCount());
        informs.writeLock().lock();
        informs.abandon();
        informs.writeLock().lock();
        assertEquals(1, TurnLockTest.warningsOf(() -> informs.writeLock().unlock()));
        expect(Status.NOT_RECOVERABLE, () -> informs.readLock().lock());
        expect(Status.NOT_RECOVERABLE, () -> informs.writeLock().tryLock());
        assertEquals(0, informs.getWriteHoldCount() + informs.getReadHoldCount());
        informs.reset();
        informs.writeLock().lock();
        informs.writeLock().unlock();
    }

    @Test
    public void aStrictLockIsFair() throws Exception {
        assertFalse(lock.isFair());
        TurnReentrantReadWriteLock fair = file.readWriteLock("fair", new RwLock.Options().strict());
        assertTrue(fair.isFair());
        assertTrue(elsewhere.readWriteLock("fair").isFair());
        assertNotSame(fair, elsewhere.readWriteLock("fair"));
        expect(Status.KIND, () -> file.readWriteLock("lock", new RwLock.Options().strict()));
    }

    @Test
    public void closingEndsTheWaits() throws Exception {
        there.writeLock().lock();
        Future<?> waits = others.submit(() -> lock.readLock().lock());
        until(() -> there.waiters().size() == 1);
        lock.close();
        ExecutionException failure = assertThrows(ExecutionException.class, waits::get);
        assertEquals(Status.CLOSED, ((TurnlockException) failure.getCause()).status());
        there.writeLock().unlock();
        assertTrue(isFree(there.writeLock()));
    }
}
