package turnlock;

import static turnlock.TurnLockTest.expect;
import static turnlock.TurnLockTest.until;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertSame;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.function.ThrowingRunnable;
import org.junit.rules.TemporaryFolder;
import org.junit.rules.Timeout;

/** Conditions, events, barriers and onces. */
public class CoordinationTest {
    @Rule public final TemporaryFolder folder = new TemporaryFolder();
    @Rule public final Timeout limit = Timeout.seconds(60);

    private static final Duration MOMENT = Duration.ofMillis(20);

    private final ExecutorService others = Executors.newCachedThreadPool();
    private final List<Party> parties = new ArrayList<>();
    private LockFile file;

    @Before
    public void open() {
        file = LockFile.open(folder.getRoot().toPath().resolve("lock"));
    }

    @After
    public void close() {
        parties.forEach(party -> party.process.destroyForcibly());
        others.shutdownNow();
        file.close();
    }

    /** Another process, which does what it is told. */
    private final class Party {
        final Process process;
        private final BufferedReader said;

        Party() throws IOException {
            process = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp",
                    System.getProperty("java.class.path"), Child.class.getName(), file.path().toString())
                    .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            said = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
            parties.add(this);
            says("ready");
        }

        void says(String expected) throws IOException {
            assertEquals(expected, said.readLine());
        }

        void tell(String order) throws IOException {
            process.getOutputStream().write((order + "\n").getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().flush();
        }

        /** As {@code kill -9}. */
        void kill() throws InterruptedException {
            assertEquals(128 + 9, process.destroyForcibly().waitFor());
        }
    }

    /** What that process does. */
    public static final class Child {
        public static void main(String[] arguments) throws Exception {
            LockFile file = LockFile.open(Path.of(arguments[0]), new LockFile.Options().label("the child"));
            Mutex mutex = file.mutex("mutex");
            TurnCondition changed = file.condition("changed");
            say("ready");
            BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String order = orders.readLine(); order != null; order = orders.readLine()) {
                switch (order) {
                    case "lock":
                        mutex.lock();
                        say("locked");
                        break;
                    case "unlock":
                        mutex.unlock();
                        break;
                    case "signal":
                        say("signalled " + changed.signal());
                        break;
                    case "await":
                        changed.with(mutex).await();
                        say("notified " + mutex.isHeldByCurrentThread());
                        break;
                    case "event":
                        say("waits");
                        file.event("event").await();
                        say("set");
                        break;
                    case "set":
                        file.event("event").set();
                        break;
                    case "barrier":
                        say("on " + file.barrier("barrier", 2).await());
                        break;
                    default:
                        long works = order.equals("once for ever") ? Long.MAX_VALUE : 0;
                        say("ran " + file.once("once").run(dead -> {
                            say("at it");
                            Thread.sleep(works);
                        }));
                }
            }
        }

        private static void say(String text) {
            System.out.println(text);
            System.out.flush();
        }
    }

    /** Notifies again until one was notified. */
    private static void signalOne(TurnCondition condition) throws InterruptedException {
        until(() -> condition.signal() == 1);
    }

    private static void isThrown(Class<? extends Throwable> type, Future<?> by) throws InterruptedException {
        assertSame(type, assertThrows(ExecutionException.class, by::get).getCause().getClass());
    }

    @Test
    public void conditionBetweenProcesses() throws Exception {
        TurnCondition changed = file.condition("changed");
        Mutex mutex = file.mutex("mutex");
        Party party = new Party();
        party.tell("lock");
        party.says("locked");
        for (int turn = 0; turn < 3; turn++) {
            party.tell("await");
            signalOne(changed);
            party.says("notified true");
            assertFalse(mutex.tryLock());
        }
        party.tell("unlock");
        mutex.acquire().close();
        assertEquals(0, changed.signal());
        assertEquals(0, changed.signalAll());

        Condition ofMutex = changed.with(mutex);
        mutex.lock();
        party.tell("signal");
        // It may have come before the wait.
        while (!ofMutex.await(100, TimeUnit.MILLISECONDS)) {
            party.says("signalled 0");
            party.tell("signal");
        }
        party.says("signalled 1");
        mutex.unlock();
    }

    @Test
    public void othersTakeTheLockByTheSameObjectMeanwhile() throws Exception {
        TurnCondition changed = file.condition("changed");
        Mutex mutex = file.mutex("mutex");
        Condition ofMutex = changed.with(mutex);
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger back = new AtomicInteger();
        List<Future<?>> waits = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            CountDownLatch isLocked = new CountDownLatch(1);
            waits.add(others.submit(() -> {
                try (Acquisition held = mutex.acquire()) {
                    mutex.lock();
                    long before = held.fencingToken();
                    isLocked.countDown();
                    ofMutex.await();
                    assertEquals(1, inside.incrementAndGet());
                    assertTrue(mutex.isHeldByCurrentThread() && held.fencingToken() > before && !held.ownerDied());
                    assertSame(held, mutex.acquisition());
                    // It has it as often as before, and takes it again.
                    mutex.lock();
                    assertTrue(mutex.tryLock());
                    for (int times = 0; times < 3; times++) {
                        mutex.unlock();
                    }
                    assertTrue(mutex.isHeldByCurrentThread());
                    Thread.sleep(5);
                    back.incrementAndGet();
                    inside.decrementAndGet();
                }
                assertFalse(mutex.isHeldByCurrentThread());
                return null;
            }));
            isLocked.await();
        }
        mutex.lock();
        expect(Status.STILL_HELD, mutex::close);
        assertEquals(1, changed.signal());
        assertEquals(3, changed.signalAll());
        Thread.sleep(20);
        assertEquals(0, back.get());
        // One waits for the lock by this object, in line before those that come back or behind them.
        Future<?> another = others.submit(() -> {
            mutex.lock();
            assertEquals(0, inside.get());
            mutex.unlock();
        });
        Thread.sleep(20);
        mutex.unlock();
        for (Future<?> wait : waits) {
            wait.get();
        }
        another.get();
        assertEquals(4, back.get());
        assertTrue(mutex.holder().isEmpty());
        mutex.close();
    }

    @Test
    public void conditionsAddUp() throws Exception {
        TurnCondition notEmpty = file.condition("not empty");
        TurnCondition notFull = file.condition("not full");
        int[] queue = {0};
        int[] taken = {0};
        List<Future<?>> all = new ArrayList<>();
        Mutex shared = file.mutex("mutex");
        for (int worker = 0; worker < 6; worker++) {
            boolean puts = worker % 2 == 0;
            Mutex mutex = worker < 4 ? shared : file.mutex("mutex");
            Condition waits = (puts ? notFull : notEmpty).with(mutex);
            TurnCondition tells = puts ? notEmpty : notFull;
            all.add(others.submit(() -> {
                for (int turn = 0; turn < 200; turn++) {
                    try (Acquisition held = mutex.acquire()) {
                        while (queue[0] == (puts ? 3 : 0)) {
                            waits.await();
                        }
                        queue[0] += puts ? 1 : -1;
                        taken[0] += puts ? 0 : 1;
                        assertTrue(queue[0] >= 0 && queue[0] <= 3);
                    }
                    tells.signal();
                }
                return null;
            }));
        }
        for (Future<?> one : all) {
            one.get();
        }
        assertEquals(0, queue[0]);
        assertEquals(600, taken[0]);
    }

    @Test
    public void interruptsAndLimitsEndAWaitAtACondition() throws Exception {
        TurnCondition changed = file.condition("changed");
        Mutex mutex = file.mutex("mutex");
        Condition ofMutex = changed.with(mutex);
        mutex.lock();
        assertFalse(ofMutex.await(5, TimeUnit.MILLISECONDS));
        assertFalse(ofMutex.await(Long.MIN_VALUE, TimeUnit.DAYS));
        assertTrue(ofMutex.awaitNanos(5_000_000) <= 0);
        assertTrue(ofMutex.awaitNanos(-1) <= 0);
        assertFalse(ofMutex.awaitUntil(new Date(0)));
        assertFalse(ofMutex.awaitUntil(new Date(System.currentTimeMillis() + 10)));
        for (Callable<?> wait : List.<Callable<?>>of(() -> {
            ofMutex.await();
            return null;
        }, () -> ofMutex.await(1, TimeUnit.DAYS), () -> ofMutex.awaitNanos(Long.MAX_VALUE),
                () -> ofMutex.awaitUntil(new Date(Long.MAX_VALUE)))) {
            Thread thisThread = Thread.currentThread();
            Future<?> interrupts = others.submit(() -> {
                Thread.sleep(20);
                thisThread.interrupt();
                return null;
            });
            assertThrows(InterruptedException.class, wait::call);
            interrupts.get();
            assertTrue(mutex.isHeldByCurrentThread() && !Thread.currentThread().isInterrupted());
            // Also before it waits.
            Thread.currentThread().interrupt();
            assertThrows(InterruptedException.class, wait::call);
        }
        // A patient one waits on, and the interrupt is not lost.
        Thread.currentThread().interrupt();
        Future<?> signals = others.submit(() -> {
            Thread.sleep(100);
            signalOne(changed);
            return null;
        });
        ofMutex.awaitUninterruptibly();
        assertTrue(Thread.interrupted());
        signals.get();
        signals = others.submit(() -> {
            signalOne(changed);
            return null;
        });
        assertTrue(ofMutex.awaitNanos(TimeUnit.DAYS.toNanos(1)) > TimeUnit.HOURS.toNanos(23));
        signals.get();
        mutex.unlock();
        assertTrue(mutex.holder().isEmpty());
    }

    @Test
    public void aCloseEndsWaitsAtACondition() throws Exception {
        TurnCondition changed = file.condition("changed");
        Mutex mutex = file.mutex("mutex");
        mutex.lock();
        Future<?> closes = others.submit(() -> {
            mutex.lock();
            changed.close();
            changed.close();
            mutex.unlock();
        });
        expect(Status.CLOSED, () -> changed.with(mutex).await());
        closes.get();
        assertTrue(mutex.isHeldByCurrentThread());
        expect(Status.CLOSED, () -> changed.with(mutex).await());
        expect(Status.CLOSED, changed::signal);
        assertTrue(mutex.isHeldByCurrentThread());
        mutex.unlock();
        mutex.acquire().close();
    }

    @Test
    public void theNotificationOfAKilledWaiterGoesToTheNext() throws Exception {
        TurnCondition changed = file.condition("changed");
        Mutex mutex = file.mutex("mutex");
        Party party = new Party();
        party.tell("lock");
        party.says("locked");
        party.tell("await");
        Future<?> waits = others.submit(() -> {
            // The child has unlocked, so it waits.
            mutex.lock();
            changed.with(mutex).await();
            mutex.unlock();
            return null;
        });
        until(() -> mutex.holder().map(holder -> holder.pid() == party.process.pid()).orElse(true));
        Thread.sleep(100);
        Mutex another = file.mutex("mutex");
        another.lock();
        assertEquals(1, changed.signal());
        Thread.sleep(20);
        party.kill();
        another.unlock();
        waits.get();
    }

    @Test
    public void aWaiterIsToldOfADeath() throws Exception {
        TurnCondition changed = file.condition("changed");
        Mutex mutex = file.mutex("mutex", new Mutex.Options().onDeath(DeathPolicy.INFORM));
        Party party = new Party();
        try (Acquisition held = mutex.acquire()) {
            Future<?> dies = others.submit(() -> {
                party.tell("lock");
                party.says("locked");
                party.tell("signal");
                party.says("signalled 1");
                party.kill();
                return null;
            });
            changed.with(mutex).await();
            dies.get();
            assertTrue(held.ownerDied());
            assertEquals(party.process.pid(), held.deadOwnerPid());
            mutex.markConsistent();
            assertFalse(changed.with(mutex).await(5, TimeUnit.MILLISECONDS));
            assertFalse(held.ownerDied());
        }
        mutex.acquire().close();
    }

    @Test
    public void aLockThatWasClosedForEveryoneIsLost() throws Exception {
        TurnCondition changed = file.condition("changed");
        Mutex mutex = file.mutex("mutex", new Mutex.Options().onDeath(DeathPolicy.INFORM));
        Party party = new Party();
        party.tell("lock");
        party.says("locked");
        party.kill();
        try (Acquisition held = mutex.acquire()) {
            assertTrue(held.ownerDied());
            expect(Status.NOT_RECOVERABLE, () -> changed.with(mutex).await(20, TimeUnit.MILLISECONDS));
            assertFalse(mutex.isHeldByCurrentThread());
        }
        mutex.reset();
        mutex.acquire().close();
        mutex.close();
    }

    @Test
    public void conditionOfAReaderWriterLock() throws Exception {
        TurnCondition changed = file.condition("changed");
        RwLock lock = file.rwLock("lock");
        RwLock.Hold reader = lock.acquire(RwLock.Mode.SHARED);
        expect(Status.NOT_EXCLUSIVE, () -> changed.with(reader).await());
        assertTrue(reader.isHeld());
        reader.unlock();
        assertThrows(IllegalMonitorStateException.class, () -> changed.with(reader).await());
        RwLock.Hold writer = lock.acquire(RwLock.Mode.EXCLUSIVE);
        long before = writer.fencingToken();
        Future<?> signals = others.submit(() -> {
            try (RwLock.Hold other = lock.acquire(RwLock.Mode.SHARED)) {
                assertEquals(1, changed.signal());
            }
        });
        changed.with(writer).await();
        signals.get();
        assertTrue(writer.fencingToken() > before && writer.mode() == RwLock.Mode.EXCLUSIVE && !writer.ownerDied());
        assertFalse(lock.tryAcquire(RwLock.Mode.SHARED).isPresent());
        writer.close();
        lock.close();
    }

    @Test
    public void eventsBetweenProcesses() throws Exception {
        Event event = file.event("event");
        assertFalse(event.isSet());
        assertFalse(event.await(5, TimeUnit.MILLISECONDS));
        assertFalse(event.await(-1, TimeUnit.DAYS));
        Party party = new Party();
        party.tell("event");
        party.says("waits");
        Future<?> waits = others.submit(event::awaitUninterruptibly);
        Thread.sleep(20);
        event.set();
        party.says("set");
        waits.get();
        assertTrue(event.isSet() && event.await(1, TimeUnit.DAYS) && event.await(0, TimeUnit.DAYS));
        event.clear();
        assertFalse(event.isSet());
        // The child sets it, and dies at it.
        party.tell("set");
        event.await();
        event.clear();
        party.tell("event");
        party.says("waits");
        party.kill();
        assertFalse(event.await(5, TimeUnit.MILLISECONDS));
        event.set();
        event.await();
    }

    @Test
    public void interruptsAndClosesEndWaits() throws Exception {
        Event event = file.event("event");
        Barrier barrier = file.barrier("barrier", 2);
        Once once = file.once("once");
        CountDownLatch isAtIt = new CountDownLatch(1);
        Future<?> works = others.submit(() -> once.run(dead -> {
            isAtIt.countDown();
            Thread.sleep(Long.MAX_VALUE);
        }));
        isAtIt.await();
        Once another = file.once("once");
        List<ThrowingRunnable> waits = List.of(event::await, () -> event.await(1, TimeUnit.DAYS), barrier::await,
                () -> barrier.await(1, TimeUnit.DAYS), () -> another.run(dead -> {}, Duration.ofDays(1)));
        for (boolean early : new boolean[] {true, false}) {
            for (ThrowingRunnable wait : waits) {
                Thread thisThread = Thread.currentThread();
                if (early) {
                    thisThread.interrupt();
                } else {
                    others.submit(() -> {
                        Thread.sleep(20);
                        thisThread.interrupt();
                        return null;
                    });
                }
                assertThrows(InterruptedException.class, wait);
                barrier.reset();
            }
        }
        List<Future<?>> closed = new ArrayList<>();
        for (ThrowingRunnable wait : List.<ThrowingRunnable>of(event::await, event::awaitUninterruptibly, barrier::await,
                () -> another.run(dead -> {}), () -> another.run(dead -> {}, Duration.ofDays(1)), another::reset)) {
            closed.add(others.submit(() -> expect(Status.CLOSED, wait)));
        }
        Thread.sleep(50);
        for (Named one : List.of(event, barrier, another)) {
            one.close();
            one.close();
        }
        for (Future<?> one : closed) {
            one.get();
        }
        for (ThrowingRunnable use : List.<ThrowingRunnable>of(event::set, event::clear, event::isSet, event::await, barrier::await,
                barrier::abort, barrier::reset, barrier::isBroken, barrier::getParties, barrier::getNumberWaiting, another::isDone,
                another::reset, () -> another.run(dead -> {}))) {
            expect(Status.CLOSED, use);
        }
        assertFalse(works.isDone());
    }

    @Test
    public void partiesOfABarrierGoOnTogether() throws Exception {
        Barrier barrier = file.barrier("barrier", 2);
        assertEquals(2, barrier.getParties());
        assertEquals(2, file.barrier("barrier", new Barrier.Options()).getParties());
        Party party = new Party();
        for (int turn = 0; turn < 3; turn++) {
            Future<Boolean> waits = others.submit(() -> barrier.await());
            until(() -> barrier.getNumberWaiting() == 1);
            party.tell("barrier");
            assertFalse(waits.get());
            party.says("on true");
        }
        party.tell("barrier");
        until(() -> barrier.getNumberWaiting() == 1);
        assertTrue(barrier.await(1, TimeUnit.DAYS));
        party.says("on false");
        assertFalse(barrier.isBroken());
    }

    @Test
    public void aKilledPartyBreaksABarrierAndIsNamed() throws Exception {
        Barrier barrier = file.barrier("barrier", 2);
        // Between two waits, and while it waits.
        for (int waits = 0; waits < 2; waits++) {
            Party party = new Party();
            party.tell("barrier");
            barrier.await();
            String on = party.said.readLine();
            assertTrue(on, on.startsWith("on "));
            if (waits == 1) {
                party.tell("barrier");
                until(() -> barrier.getNumberWaiting() == 1);
            }
            party.kill();
            String why = assertThrows(BrokenBarrierException.class, () -> {
                // A dead party that waits is counted until it is found.
                barrier.await();
                barrier.await();
            }).getMessage();
            assertTrue(why, why.contains("process " + party.process.pid()));
            assertTrue(barrier.isBroken());
            assertThrows(BrokenBarrierException.class, () -> barrier.await(1, TimeUnit.DAYS));
            barrier.reset();
            assertFalse(barrier.isBroken());
            assertEquals(0, barrier.getNumberWaiting());
        }
    }

    @Test
    public void whatBreaksABarrier() throws Exception {
        Barrier barrier = file.barrier("barrier", 2);
        TimeoutException late =
                assertThrows(TimeoutException.class, () -> barrier.await(5, TimeUnit.MILLISECONDS));
        assertEquals("the time limit passed before all parties had arrived", late.getMessage());
        assertThrows(BrokenBarrierException.class, barrier::await);
        for (Runnable breaks : List.<Runnable>of(barrier::abort, barrier::reset)) {
            barrier.reset();
            Future<Boolean> waits = others.submit(() -> barrier.await());
            until(() -> barrier.getNumberWaiting() == 1);
            breaks.run();
            isThrown(BrokenBarrierException.class, waits);
        }
        assertFalse(barrier.isBroken());
        Thread waiter = new Thread(() -> assertThrows(InterruptedException.class, barrier::await));
        waiter.start();
        until(() -> barrier.getNumberWaiting() == 1);
        waiter.interrupt();
        waiter.join();
        assertThrows(BrokenBarrierException.class, barrier::await);
    }

    @Test
    public void oneOfManyDoesIt() throws Exception {
        Once once = file.once("once");
        AtomicInteger works = new AtomicInteger();
        List<Future<Boolean>> runs = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            Once one = i % 2 == 0 ? once : file.once("once");
            runs.add(others.submit(() -> one.run(dead -> {
                assertTrue(dead.isEmpty());
                Thread.sleep(10);
                works.incrementAndGet();
            })));
        }
        int here = 0;
        for (Future<Boolean> run : runs) {
            here += run.get() ? 1 : 0;
        }
        assertEquals(1, here);
        assertEquals(1, works.get());
        assertTrue(once.isDone());
        Party party = new Party();
        party.tell("once");
        party.says("ran false");
        once.reset();
        assertFalse(once.isDone());
        party.tell("once");
        party.says("at it");
        party.says("ran true");
        assertFalse(once.run(dead -> works.incrementAndGet(), Duration.ofDays(1)));
        assertEquals(1, works.get());
    }

    @Test
    public void theNextOneDoesItWhenOneWasKilledAtIt() throws Exception {
        Once once = file.once("once");
        Party party = new Party();
        party.tell("once for ever");
        party.says("at it");
        assertThrows(TimeoutException.class, () -> once.run(dead -> {}, MOMENT));
        List<Optional<DeadOwner>> told = new ArrayList<>();
        Future<Boolean> waits = others.submit(() -> once.run(told::add));
        Thread.sleep(50);
        assertFalse(waits.isDone());
        party.kill();
        assertTrue(waits.get());
        assertEquals(party.process.pid(), told.get(0).get().pid());
        assertEquals("the child", told.get(0).get().label());
        assertTrue(once.isDone());
    }

    @Test
    public void whatFailsIsNotDone() throws Exception {
        Once once = file.once("once");
        assertEquals("half-way", assertThrows(IOException.class, () -> once.run(dead -> {
            throw new IOException("half-way");
        })).getMessage());
        assertThrows(StackOverflowError.class, () -> once.run(dead -> {
            throw new StackOverflowError();
        }, Duration.ofDays(1)));
        assertFalse(once.isDone());
        assertTrue(once.run(dead -> {
            expect(Status.DEADLOCK, () -> once.run(again -> {}));
            expect(Status.DEADLOCK, once::reset);
            // It is open until the work is over.
            once.close();
        }));
        expect(Status.CLOSED, once::isDone);
        assertTrue(file.once("once").isDone());
    }

    @Test
    public void whatIsMisusedSaysSo() throws Exception {
        Mutex mutex = file.mutex("mutex");
        TurnCondition changed = file.condition("changed");
        Condition ofMutex = changed.with(mutex);
        for (ThrowingRunnable wait : List.<ThrowingRunnable>of(ofMutex::await, ofMutex::awaitUninterruptibly,
                () -> ofMutex.awaitNanos(1), () -> ofMutex.await(1, TimeUnit.DAYS), () -> ofMutex.awaitUntil(new Date()))) {
            assertThrows(IllegalMonitorStateException.class, wait);
        }
        ofMutex.signal();
        ofMutex.signalAll();
        mutex.lock();
        others.submit(() -> assertThrows(IllegalMonitorStateException.class, ofMutex::await)).get();
        LockFile another = LockFile.open(folder.getRoot().toPath().resolve("another"));
        expect(Status.INVALID_ARGUMENT, () -> another.condition("changed").with(mutex).await());
        assertTrue(mutex.isHeldByCurrentThread());
        another.close();
        // Others wait with another lock.
        RwLock.Hold writer = file.rwLock("lock").acquire(RwLock.Mode.EXCLUSIVE);
        Future<?> waits = others.submit(() -> {
            changed.with(writer).await();
            return null;
        });
        until(() -> file.rwLock("lock").holders().isEmpty());
        expect(Status.INVALID_ARGUMENT, ofMutex::await);
        assertTrue(mutex.isHeldByCurrentThread());
        signalOne(changed);
        waits.get();
        writer.close();
        mutex.unlock();

        for (ThrowingRunnable use : List.<ThrowingRunnable>of(() -> file.condition(null), () -> file.event(null),
                () -> file.barrier(null, 2), () -> file.once(null), () -> file.event("event", null),
                () -> file.condition("condition", null), () -> file.barrier("barrier", null), () -> file.once("once", null),
                () -> changed.with((Mutex) null), () -> changed.with((RwLock.Hold) null), () -> file.once("once").run(null),
                () -> file.once("once").run(dead -> {}, null))) {
            assertThrows(NullPointerException.class, use);
        }
        for (String name : List.of("", "a\0b", "n".repeat(64))) {
            expect(Status.BAD_NAME, () -> file.condition(name));
            expect(Status.BAD_NAME, () -> file.event(name));
            expect(Status.BAD_NAME, () -> file.barrier(name, 2));
            expect(Status.BAD_NAME, () -> file.once(name));
        }
        expect(Status.NOT_FOUND, () -> file.condition("none", new TurnCondition.Options().mustExist()));
        expect(Status.NOT_FOUND, () -> file.event("none", new Event.Options().mustExist()));
        expect(Status.NOT_FOUND, () -> file.barrier("none", new Barrier.Options().parties(2).mustExist()));
        expect(Status.NOT_FOUND, () -> file.barrier("none", new Barrier.Options()));
        expect(Status.NOT_FOUND, () -> file.once("none", new Once.Options().mustExist()));
        file.once("lasting", new Once.Options().acrossBoots());
        expect(Status.KIND, () -> file.event("mutex"));
        expect(Status.KIND, () -> file.mutex("changed"));
        file.barrier("barrier", 2);
        expect(Status.KIND, () -> file.barrier("barrier", 3));
        for (int parties : new int[] {0, -1, 5000}) {
            expect(Status.INVALID_ARGUMENT, () -> file.barrier("none", parties));
        }
        Event event = file.event("event");
        file.removeLock("event");
        expect(Status.NOT_FOUND, event::set);
        expect(Status.NOT_FOUND, event::await);
        file.close();
        expect(Status.CLOSED, () -> file.event("event"));
        // They stay open without their file.
        assertEquals(0, changed.signal());
    }
}
