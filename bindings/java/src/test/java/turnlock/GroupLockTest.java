package turnlock;

import static turnlock.TurnLockTest.expect;
import static turnlock.TurnLockTest.until;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import turnlock.GroupLock.Member;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.junit.rules.Timeout;

/** Group locks. */
public class GroupLockTest {
    @Rule public final TemporaryFolder folder = new TemporaryFolder();
    @Rule public final Timeout limit = Timeout.seconds(60);

    private static final Duration MOMENT = Duration.ofMillis(5);
    private static final Duration LONG = Duration.ofDays(1);

    private final ExecutorService others = Executors.newCachedThreadPool();
    private final List<Process> children = new ArrayList<>();
    private LockFile file;

    @Before
    public void open() {
        file = LockFile.open(folder.getRoot().toPath().resolve("lock"));
    }

    @After
    public void close() {
        others.shutdownNow();
        children.forEach(Process::destroyForcibly);
        file.close();
    }

    /** Another process enters as a member of this group; it is killed if the test ends before. */
    private Process otherOf(int group) throws Exception {
        Process child = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-cp",
                System.getProperty("java.class.path"), Child.class.getName(), file.path().toString(), String.valueOf(group))
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        children.add(child);
        return child;
    }

    /** The next letter that it says: "i" inside, "d" inside after a death, "o" outside. */
    private static char said(Process child) throws Exception {
        return (char) child.getInputStream().read();
    }

    /** Another process is inside as a member of group 1. */
    private Process otherInside() throws Exception {
        Process child = otherOf(1);
        assertEquals('i', said(child));
        return child;
    }

    /** What that process does. */
    public static final class Child {
        public static void main(String[] arguments) throws Exception {
            LockFile file = LockFile.open(Path.of(arguments[0]), new LockFile.Options().label("the child"));
            Member held = file.groupLock("groups").acquire(Long.parseLong(arguments[1]));
            boolean ownerDied = held.ownerDied();
            if (ownerDied) {
                held.markConsistent();
            }
            say(ownerDied ? "d" : "i");
            System.in.read();
            held.close();
            say("o");
        }

        private static void say(String letter) {
            System.out.print(letter);
            System.out.flush();
        }
    }

    private static List<Long> groups(List<ParticipantInfo> infos) {
        return infos.stream().map(ParticipantInfo::group).collect(Collectors.toList());
    }

    @Test
    public void membersOfAGroupAreInsideTogetherAndNoneOfAnother() throws Exception {
        GroupLock lock = file.groupLock("groups");
        Member held = lock.acquire(1);
        assertEquals(1, held.group());
        assertFalse(held.ownerDied());
        try (Member beside = lock.tryAcquire(1).get(); Member another = file.groupLock("groups").acquire(1, LONG)) {
            assertTrue(beside.fencingToken() > 0 && another.fencingToken() > 0);
            assertEquals(List.of(1L, 1L, 1L), groups(lock.holders()));
            for (long group : new long[] {0, 2, -1, Long.MIN_VALUE}) {
                assertTrue(lock.tryAcquire(group).isEmpty());
            }
            assertThrows(TimeoutException.class, () -> lock.acquire(2, MOMENT));
        }
        Future<Member> later = others.submit(() -> lock.acquire(-1));
        until(() -> lock.waiters().size() == 1);
        // Not before the waiter parks.
        until(held::isContended);
        // First come first served: its own group is inside, and it stays behind the one that waits.
        assertTrue(lock.tryAcquire(1).isEmpty());
        Future<?> interrupted = others.submit(() -> assertThrows(InterruptedException.class, () -> lock.acquire(2, LONG)));
        until(() -> lock.waiters().size() == 2);
        assertEquals(List.of(-1L, 2L), groups(lock.waiters()));
        // It does not end the wait without a limit.
        others.shutdownNow();
        interrupted.get();
        assertEquals(1, lock.waiters().size());
        expect(Status.STILL_HELD, lock::close);
        held.close();
        held.close();
        Member last = later.get();
        assertEquals(-1, last.group());
        assertTrue(lock.tryAcquire(1).isEmpty());
        last.unlock();
        assertThrows(IllegalMonitorStateException.class, held::unlock);
        assertThrows(IllegalMonitorStateException.class, held::abandon);
        assertThrows(IllegalMonitorStateException.class, held::markConsistent);
        assertThrows(IllegalMonitorStateException.class, held::isContended);
    }

    @Test
    public void aDeathIsToldInEveryGroupUntilItIsMarked() throws Exception {
        GroupLock lock = file.groupLock("groups", new PartsLock.Options().onDeath(DeathPolicy.INFORM));
        assertTrue(lock.previousOwner().isEmpty());
        try (Member member = lock.acquire(1)) {
            expect(Status.NOT_INCONSISTENT, member::markConsistent);
        }
        Process other = otherInside();
        lock.tryAcquire(1).get().close();
        assertTrue(lock.tryAcquire(2).isEmpty());
        other.destroyForcibly().waitFor();
        for (long group : new long[] {2, 1}) {
            try (Member member = lock.acquire(group)) {
                assertTrue(member.ownerDied());
                assertEquals("the child", lock.previousOwner().get().label());
                assertEquals(lock.previousOwner().get().pid(), member.deadOwnerPid());
            }
        }
        try (Member one = lock.acquire(2); Member two = lock.acquire(2)) {
            one.markConsistent();
            expect(Status.NOT_INCONSISTENT, two::markConsistent);
        }
        Member well = lock.acquire(1);
        assertFalse(well.ownerDied());
        well.abandon();
        try (Member told = lock.acquire(2)) {
            assertEquals(ProcessHandle.current().pid(), told.deadOwnerPid());
        }
        lock.reset();
        try (Member member = lock.acquire(1)) {
            assertFalse(member.ownerDied());
        }
    }

    @Test
    public void processesOfOneGroupAreInsideTogetherAndAKilledOneIsTold() throws Exception {
        GroupLock lock = file.groupLock("groups", new PartsLock.Options().onDeath(DeathPolicy.INFORM));
        Process one = otherInside();
        Process beside = otherInside();
        Process other = otherOf(2);
        until(() -> lock.waiters().size() == 1);
        assertEquals(List.of(2L), groups(lock.waiters()));
        assertEquals(other.pid(), lock.waiters().get(0).pid());
        one.getOutputStream().close();
        assertEquals('o', said(one));
        // One of group 1 is inside still.
        assertTrue(lock.tryAcquire(1).isEmpty() && lock.tryAcquire(2).isEmpty());
        assertEquals(List.of(1L), groups(lock.holders()));
        assertEquals(beside.pid(), lock.holders().get(0).pid());
        beside.destroyForcibly().waitFor();
        assertEquals('d', said(other));
        assertTrue(lock.tryAcquire(1).isEmpty());
        // It has marked the death.
        try (Member mine = lock.tryAcquire(2).get()) {
            assertFalse(mine.ownerDied());
        }
        other.getOutputStream().close();
        assertEquals('o', said(other));
        lock.tryAcquire(1).get().close();
    }

    @Test
    public void groupLocksThatCannotBe() {
        GroupLock lock = file.groupLock("groups", new PartsLock.Options().onDeath(DeathPolicy.RELEASE));
        assertThrows(NullPointerException.class, () -> lock.acquire(1, null));
        assertThrows(NullPointerException.class, () -> file.groupLock("null", null));
        assertThrows(NullPointerException.class, () -> file.groupLock(null));
        expect(Status.BAD_NAME, () -> file.groupLock("a\0b"));
        expect(Status.BAD_NAME, () -> file.groupLock(""));
        expect(Status.BAD_NAME, () -> file.groupLock("n".repeat(64)));
        expect(Status.KIND, () -> file.keyedLock("groups"));
        expect(Status.NOT_FOUND, () -> file.groupLock("absent", new PartsLock.Options().mustExist()));
        expect(Status.INVALID_ARGUMENT, () -> file.groupLock("label", new PartsLock.Options().label("a\0b")));
    }

    @Test
    public void closingEndsTheWaits() throws Exception {
        GroupLock holder = file.groupLock("groups");
        GroupLock waiter = file.groupLock("groups");
        Member held = holder.acquire(1);
        List<Future<?>> waits = new ArrayList<>();
        for (long group = 2; group < 4; group++) {
            long other = group;
            waits.add(others.submit(() -> expect(Status.CLOSED, () -> waiter.acquire(other))));
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
