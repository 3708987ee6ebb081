package turnlock;

import static turnlock.TurnLockTest.expect;
import static turnlock.TurnLockTest.until;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.InputStream;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;
import org.junit.rules.Timeout;

/** The semaphore that has the methods of the JDK's. */
public class CountingSemaphoreTest {
    @Rule public final TemporaryFolder folder = new TemporaryFolder();
    @Rule public final Timeout limit = Timeout.seconds(60);

    private final ExecutorService others = Executors.newCachedThreadPool();
    private LockFile file;
    private CountingSemaphore semaphore;
    /** The same semaphore by another opening of the file, as another process has it. */
    private LockFile elsewhere;
    private CountingSemaphore there;

    @Before
    public void open() {
        file = LockFile.open(folder.getRoot().toPath().resolve("lock"));
        semaphore = file.countingSemaphore("jobs", new TurnSemaphore.Options().permits(5));
        elsewhere = LockFile.open(file.path());
        there = elsewhere.countingSemaphore("jobs");
    }

    @After
    public void close() {
        others.shutdownNow();
        file.close();
        elsewhere.close();
    }

    @Test
    public void permitsAreCounted() throws Exception {
        semaphore.acquire();
        semaphore.acquire(2);
        assertTrue(there.tryAcquire());
        assertEquals(1, semaphore.availablePermits());
        assertTrue(there.toString(), there.toString().endsWith("[Permits = 1]"));
        assertFalse(there.tryAcquire(2));
        assertFalse(there.tryAcquire(2, 5, TimeUnit.MILLISECONDS));
        assertFalse(there.tryAcquire(2, Long.MIN_VALUE, TimeUnit.DAYS));
        assertTrue(there.tryAcquire(1, TimeUnit.MICROSECONDS));
        assertEquals(0, semaphore.drainPermits());
        // Two of one acquisition and one of another, by another thread.
        others.submit(() -> semaphore.release(2)).get();
        semaphore.release();
        assertEquals(3, there.availablePermits());
        assertEquals(3, there.drainPermits());
        assertEquals(0, there.availablePermits());
        there.release(5);
        semaphore.acquireUninterruptibly();
        semaphore.acquireUninterruptibly(4);
        semaphore.release(5);
        assertEquals(5, there.availablePermits());
        assertEquals(List.of(), there.holders());
        assertFalse(semaphore.isFair());
        assertTrue(file.countingSemaphore("fair", new TurnSemaphore.Options().strict()).isFair());
    }

    @Test
    public void noneAndTooManyAndTooFew() throws Exception {
        semaphore.acquire(0);
        semaphore.acquireUninterruptibly(0);
        semaphore.release(0);
        assertTrue(semaphore.tryAcquire(0) && semaphore.tryAcquire(0, 1, TimeUnit.DAYS));
        for (ThrowingRunnable use : List.<ThrowingRunnable>of(() -> semaphore.acquire(-1), () -> semaphore.tryAcquire(-1),
                () -> semaphore.acquireUninterruptibly(-1), () -> semaphore.tryAcquire(-1, 0, TimeUnit.DAYS),
                () -> semaphore.release(Integer.MIN_VALUE))) {
            assertThrows(IllegalArgumentException.class, use);
        }
        expect(Status.PERMITS, () -> semaphore.acquire(6));
        expect(Status.PERMITS, () -> semaphore.acquireUninterruptibly(Integer.MAX_VALUE));
        assertFalse(semaphore.tryAcquire(6));
        long began = System.nanoTime();
        assertFalse(semaphore.tryAcquire(6, 5, TimeUnit.MILLISECONDS));
        assertTrue(System.nanoTime() - began >= 5_000_000);
        expect(Status.TOO_MANY_RELEASED, () -> semaphore.release());
        there.acquire(3);
        semaphore.acquire();
        expect(Status.TOO_MANY_RELEASED, () -> semaphore.release(2));
        semaphore.release();
        semaphore.resize(2);
        assertEquals(2, there.permits());
        assertEquals(-1, semaphore.availablePermits());
        assertEquals(0, semaphore.drainPermits());
        there.release(2);
        assertEquals(1, semaphore.drainPermits());
        expect(Status.STILL_HELD, semaphore::close);
        semaphore.release();
        there.release();
        semaphore.close();
        semaphore.close();
        for (ThrowingRunnable use : List.<ThrowingRunnable>of(semaphore::acquire, semaphore::tryAcquire,
                semaphore::acquireUninterruptibly, semaphore::availablePermits, semaphore::getQueueLength,
                () -> semaphore.tryAcquire(1, TimeUnit.DAYS))) {
            expect(Status.CLOSED, use);
        }
    }

    @Test
    public void interruptsEndWaits() throws Exception {
        there.acquire(5);
        for (boolean hasLimit : new boolean[] {false, true}) {
            List<Thread> threads = new ArrayList<>();
            AtomicInteger ended = new AtomicInteger();
            for (int i = 0; i < 2; i++) {
                threads.add(new Thread(() -> {
                    assertThrows(InterruptedException.class, () -> {
                        if (hasLimit) {
                            semaphore.tryAcquire(Long.MAX_VALUE, TimeUnit.DAYS);
                        } else {
                            semaphore.acquire(3);
                        }
                    });
                    ended.incrementAndGet();
                }));
            }
            threads.forEach(Thread::start);
            until(() -> semaphore.getQueueLength() == 2);
            assertTrue(semaphore.getQueuedThreads().containsAll(threads));
            until(() -> there.hasQueuedThreads());
            assertEquals(List.of(), List.copyOf(there.getQueuedThreads()));
            for (Thread thread : threads) {
                thread.interrupt();
                thread.join();
            }
            assertEquals(2, ended.get());
            assertFalse(semaphore.hasQueuedThreads() || there.hasQueuedThreads());
        }
        Thread patient = new Thread(() -> {
            semaphore.acquireUninterruptibly(5);
            assertTrue(Thread.currentThread().isInterrupted());
            semaphore.release(5);
        });
        patient.start();
        until(() -> there.hasQueuedThreads());
        patient.interrupt();
        there.release(5);
        patient.join();
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> semaphore.acquire());
        Thread.currentThread().interrupt();
        assertThrows(InterruptedException.class, () -> semaphore.tryAcquire(1, TimeUnit.DAYS));
        assertEquals(5, semaphore.availablePermits());
    }

    @Test
    public void atMostSoManyAreInside() throws Exception {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        List<Future<?>> all = new ArrayList<>();
        for (int worker = 0; worker < 9; worker++) {
            CountingSemaphore mine = worker % 2 == 0 ? semaphore : there;
            all.add(others.submit(() -> {
                for (int turn = 0; turn < 20; turn++) {
                    mine.acquire();
                    most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                    Thread.yield();
                    inside.decrementAndGet();
                    mine.release();
                }
                return null;
            }));
        }
        for (Future<?> one : all) {
            one.get();
        }
        assertTrue("" + most, most.get() <= 5);
        assertEquals(5, semaphore.availablePermits());
    }

    /** Another process takes three of the five. */
    public static final class Child {
        public static void main(String[] arguments) throws Exception {
            CountingSemaphore semaphore = LockFile.open(Path.of(arguments[0])).countingSemaphore("jobs");
            semaphore.acquire(3);
            System.out.print("i");
            System.out.flush();
            Thread.sleep(Long.MAX_VALUE);
        }
    }

    @Test
    public void permitsOfAProcessThatWasKilledComeBack() throws Exception {
        Process child = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp",
                System.getProperty("java.class.path"), Child.class.getName(), file.path().toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try (InputStream said = child.getInputStream()) {
            assertEquals('i', said.read());
        }
        assertEquals(2, semaphore.availablePermits());
        assertFalse(semaphore.tryAcquire(3));
        Future<?> waits = others.submit(() -> semaphore.acquireUninterruptibly(5));
        until(() -> there.hasQueuedThreads());
        child.destroyForcibly().waitFor();
        waits.get();
        assertEquals(0, there.availablePermits());
        semaphore.release(5);
    }
}
