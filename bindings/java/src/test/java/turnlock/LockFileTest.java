package turnlock;

import static turnlock.TurnLockTest.expect;
import static turnlock.TurnLockTest.until;
import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;
import static org.junit.Assume.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.junit.rules.Timeout;

/** Files, names and options, and what is garbage. */
public class LockFileTest {
    @Rule public final TemporaryFolder folder = new TemporaryFolder();
    @Rule public final Timeout limit = Timeout.seconds(60);

    private Path path() {
        return folder.getRoot().toPath().resolve("lock");
    }

    @Test
    public void settingsThatAreAskedForAreTheLocksOrAnError() throws Exception {
        try (LockFile file = LockFile.open(folder.getRoot().toPath().resolve("settings"))) {
            file.mutex("strict", new Mutex.Options().strict());
            file.mutex("patient", new Mutex.Options().patience(Duration.ofMillis(7)));
            // What is asked for is what it has, or an error; nothing may be asked for.
            file.mutex("patient");
            file.mutex("strict", new Mutex.Options().patience(Duration.ZERO));
            expect(Status.KIND, () -> file.mutex("patient", new Mutex.Options().strict()));
            expect(Status.KIND, () -> file.mutex("strict", new Mutex.Options().patience(Duration.ofMillis(1))));
            for (DeathPolicy policy : DeathPolicy.values()) {
                DeathPolicy other = policy == DeathPolicy.INFORM ? DeathPolicy.RELEASE : DeathPolicy.INFORM;
                file.mutex("m" + policy, new Mutex.Options().onDeath(policy));
                expect(Status.KIND, () -> file.mutex("m" + policy, new Mutex.Options().onDeath(other)));
                file.turnRing("t" + policy, new TurnRing.Options().onDeath(policy));
                expect(Status.KIND, () -> file.turnRing("t" + policy, new TurnRing.Options().onDeath(other)));
                file.rwLock("x" + policy, new RwLock.Options().onDeath(policy));
                expect(Status.KIND, () -> file.rwLock("x" + policy, new RwLock.Options().onDeath(other)));
                file.rangeLock("r" + policy, new PartsLock.Options().onDeath(policy));
                file.groupLock("g" + policy, new PartsLock.Options().onDeath(policy));
                expect(Status.KIND, () -> file.groupLock("g" + policy, new PartsLock.Options().onDeath(other)));
                expect(Status.KIND, () -> file.rangeLock("r" + policy, new PartsLock.Options().onDeath(other)));
                file.keyedLock("k" + policy, new PartsLock.Options().onDeath(policy));
                expect(Status.KIND, () -> file.keyedLock("k" + policy, new PartsLock.Options().onDeath(other)));
                file.mutex("m" + policy);
                file.rwLock("x" + policy);
                file.rangeLock("r" + policy);
                file.groupLock("g" + policy);
            }
        }
    }

    @Test
    public void namesAndPathsThatCannotBe() throws Exception {
        try (LockFile file = LockFile.open(path())) {
            for (String name : List.of("", "a\0b", "n".repeat(64), "ü".repeat(32), "\ud800")) {
                expect(Status.BAD_NAME, () -> file.mutex(name));
                expect(Status.BAD_NAME, () -> file.turnRing(name));
                expect(Status.BAD_NAME, () -> file.removeLock(name));
            }
            expect(Status.INVALID_ARGUMENT, () -> file.mutex("lock", new Mutex.Options().label("a\0b")));
            expect(Status.INVALID_ARGUMENT, () -> file.turnRing("ring", new TurnRing.Options().label("\ud800")));
            assertThrows(NullPointerException.class, () -> file.mutex(null));
            assertThrows(NullPointerException.class, () -> file.mutex("lock", null));
            assertThrows(NullPointerException.class, () -> file.turnRing("ring", null));
            assertThrows(NullPointerException.class, () -> file.removeLock(null));
        }
        assertThrows(NullPointerException.class, () -> LockFile.open(null));
        assertThrows(NullPointerException.class, () -> LockFile.open(path(), null));
        TurnlockException failure =
                assertThrows(TurnlockException.class, () -> LockFile.open(Path.of("/no/such/folder")));
        assertEquals(Status.NOT_FOUND, failure.status());
        assertTrue(failure.getMessage(), failure.getMessage().contains("/no/such"));
        Path text = folder.newFile().toPath();
        Files.writeString(text, "x".repeat(10_000));
        expect(Status.NOT_A_LOCK_FILE, () -> LockFile.open(text));
        assertTrue(LockFile.libraryVersion().matches("\\d+\\.\\d+\\.\\d+"));
    }

    @Test
    public void aMutexThatIsRecursiveForOthersToo() throws Exception {
        try (LockFile file = LockFile.open(path())) {
            Mutex mutex = file.mutex("lock", new Mutex.Options().recursive());
            try (Acquisition once = mutex.acquire(); Acquisition again = mutex.acquire()) {
                assertEquals(once.fencingToken(), again.fencingToken());
                assertFalse(file.mutex("lock").tryLock());
            }
            assertTrue(file.mutex("lock", new Mutex.Options().recursive()).tryLock());
        }
        Process status = new ProcessBuilder("turnlock", "status", "--json", path().toString()).redirectErrorStream(true).start();
        String said = new String(status.getInputStream().readAllBytes());
        assertTrue(said, said.replace(" ", "").contains("\"recursive\":true"));
    }

    @Test
    public void optionsThatCannotBe() {
        expect(Status.INVALID_ARGUMENT, () -> LockFile.open(path(), new LockFile.Options().participants(5000)));
        expect(Status.INVALID_ARGUMENT, () -> LockFile.open(path(), new LockFile.Options().locks(-1)));
        expect(Status.INVALID_ARGUMENT, () -> LockFile.open(path(), new LockFile.Options().mode(0666)));
        expect(Status.INVALID_ARGUMENT, () -> LockFile.open(path(), new LockFile.Options().label("a\0b")));
        expect(Status.NOT_FOUND, () -> LockFile.open(path(), new LockFile.Options().mustExist()));
        for (int descriptor : new int[] {-1, Integer.MIN_VALUE, 12345}) {
            expect(Status.INVALID_ARGUMENT, () -> LockFile.openDescriptor(descriptor, new LockFile.Options()));
        }
        try (LockFile file = LockFile.open(path(), new LockFile.Options().participants(10).locks(10).fullFences())) {
            expect(Status.NOT_FOUND, () -> file.mutex("lock", new Mutex.Options().mustExist()));
            assertEquals(Duration.ZERO, file.mutex("strict", new Mutex.Options().strict()).patience());
            Mutex.Options patient = new Mutex.Options().patience(Duration.ofMillis(7)).onDeath(DeathPolicy.RELEASE);
            assertEquals(Duration.ofMillis(7), file.mutex("patient", patient).patience());
            file.mutex("impatient", new Mutex.Options().patience(Duration.ofDays(-1)));
            file.mutex("very patient", new Mutex.Options().patience(Duration.ofSeconds(Long.MAX_VALUE)));
            expect(Status.KIND, () -> file.turnRing("strict"));
            expect(Status.KIND, () -> file.mutex("strict", new Mutex.Options().recursive()));
            TurnRing.Options sum = new TurnRing.Options().algorithm(TurnRing.Algorithm.SUM);
            expect(Status.INVALID_ARGUMENT, () -> file.turnRing("ring", sum.step(2)));
            TurnRing ring = file.turnRing("ring", sum.step(3).member());
            ring.acquire().close();
            assertEquals(ParticipantInfo.State.RING_MEMBER, ring.waiters().get(0).state());
            ring.leave();
            assertEquals(List.of(), ring.waiters());
        }
    }

    @Test
    public void garbageGivesItsSlotsBackAndACleanerMayUseWhatIsClosed() throws Exception {
        LockFile file = LockFile.open(path(), new LockFile.Options().participants(4));
        for (int i = 0; i < 20; ) {
            try {
                file.mutex("lock").acquire().close();
                i++;
            } catch (TurnlockException failure) {
                assertEquals(Status.PARTICIPANTS_FULL, failure.status());
                System.gc();
            }
        }
        AtomicReference<Throwable> said = new AtomicReference<>();
        file.close();
        LockFile.CLEANER.register(new Object(), () -> {
            try {
                file.mutex("lock");
            } catch (Throwable thrown) {
                said.set(thrown);
            }
        });
        until(() -> {
            System.gc();
            return said.get() != null;
        });
        assertEquals(Status.CLOSED, ((TurnlockException) said.get()).status());
    }

    /** In a file with slots for what is held at once, and for the thread that creates the locks, but no more. */
    @Test
    public void whatIsReleasedGivesItsSlotsBack() throws Exception {
        for (String label : new String[] {null, "with a label"}) {
            Path path = folder.newFolder().toPath().resolve("lock");
            try (LockFile file = LockFile.open(path, new LockFile.Options().participants(5))) {
                RwLock lock = file.rwLock("rwlock", new RwLock.Options().label(label));
                TurnSemaphore semaphore = file.semaphore("permits", new TurnSemaphore.Options().permits(4).label(label));
                RangeLock ranges = file.rangeLock("ranges", new PartsLock.Options().label(label));
                KeyedLock keys = file.keyedLock("keys", new PartsLock.Options().label(label));
                GroupLock groups = file.groupLock("groups", new PartsLock.Options().label(label));
                for (int turn = 0; turn < 20; turn++) {
                    try (RwLock.Hold one = lock.acquire(RwLock.Mode.SHARED);
                            RwLock.Hold two = lock.acquire(RwLock.Mode.SHARED);
                            RwLock.Hold three = lock.acquire(RwLock.Mode.UPGRADABLE)) {
                        assertTrue(lock.tryAcquire(RwLock.Mode.EXCLUSIVE).isEmpty());
                        assertEquals(one.fencingToken(), two.fencingToken());
                        assertEquals(RwLock.Mode.UPGRADABLE, three.mode());
                    }
                    try (TurnSemaphore.Permits some = semaphore.acquire(3);
                            PartsLock.Part range = ranges.acquire(1, 2, PartsLock.Mode.EXCLUSIVE);
                            PartsLock.Part key = keys.acquire("key", PartsLock.Mode.SHARED)) {
                        assertEquals(3, some.count());
                        assertTrue(keys.tryAcquire("key", PartsLock.Mode.EXCLUSIVE).isEmpty());
                        assertEquals(range.fencingToken(), ranges.holders().get(0).fencingToken());
                        assertTrue(label == null || label.equals(keys.holders().get(0).label()) && !key.ownerDied());
                    }
                }
                for (int turn = 0; turn < 20; turn++) {
                    try (GroupLock.Member one = groups.acquire(7); GroupLock.Member two = groups.acquire(7)) {
                        assertEquals(one.group(), two.group());
                        assertTrue(groups.tryAcquire(8).isEmpty());
                        assertTrue(label == null || label.equals(groups.holders().get(0).label()));
                    }
                }
                // Other slots are needed now than those that were given back.
                List<Mutex> all = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    all.add(file.mutex("mutex", new Mutex.Options().label("another")));
                }
                expect(Status.PARTICIPANTS_FULL, () -> lock.tryAcquire(RwLock.Mode.SHARED));
                all.forEach(Mutex::close);
                lock.acquire(RwLock.Mode.EXCLUSIVE).close();
            }
        }
    }

    /** Beside a library of another ABI number, which the check script names. */
    @Test
    public void aLibraryOfAnotherAbiNumberOrNoneIsRefused() throws Exception {
        String fake = System.getenv("TURNLOCK_FAKE_LIBRARY");
        assumeTrue("the check script names it", fake != null);
        assertTrue(refusal(fake).contains("ABI version 999"));
        assertTrue(refusal("/no/such/library.so").contains("is not found"));
    }

    private String refusal(String library) throws Exception {
        Process child = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-Dturnlock.library=" + library,
                "-cp", System.getProperty("java.class.path"), Opens.class.getName(), path().toString()).start();
        return new String(child.getInputStream().readAllBytes());
    }

    /** What that process does. */
    public static final class Opens {
        public static void main(String[] arguments) {
            try {
                LockFile.open(Path.of(arguments[0]));
            } catch (TurnlockException refused) {
                System.out.println(refused.status() + " " + refused.getMessage());
            }
        }
    }

    @Test
    public void theNumbersAreThoseOfTheHeader() throws Exception {
        String header = Files.readString(Path.of(System.getProperty("turnlock.header", "../../include/turnlock.h")));
        Matcher found = Pattern.compile("#define TURNLOCK_(\\w+) \\(?(-?\\d+)\\)?\n").matcher(header);
        int failures = 0;
        while (found.find()) {
            int number = Integer.parseInt(found.group(2));
            String name = found.group(1);
            if (name.startsWith("ERROR_")) {
                assertEquals(name, number, Status.valueOf(name.substring(6)).number());
                failures++;
            }
            Arrays.stream(Native.class.getDeclaredFields()).filter(field -> field.getName().equals(name))
                    .forEach(field -> {
                        try {
                            assertEquals(name, number, field.getInt(null));
                        } catch (IllegalAccessException error) {
                            throw new AssertionError(error);
                        }
                    });
        }
        assertEquals(Status.values().length - 1, failures);
    }

    @Test
    public void aSlotIsAPlaceOnTheRing() {
        try (LockFile file = LockFile.open(path())) {
            TurnRing.Options atFive = new TurnRing.Options().slot(5).member();
            TurnRing ring = file.turnRing("ring", atFive);
            ring.lock();
            assertEquals(5, ring.holder().orElseThrow().slot());
            ring.unlock();
            assertEquals(
                    Status.IN_USE, assertThrows(TurnlockException.class, () -> file.turnRing("ring", atFive)).status());
            TurnRing.Options atNone = new TurnRing.Options().slot(100_000);
            assertEquals(Status.INVALID_ARGUMENT,
                    assertThrows(TurnlockException.class, () -> file.turnRing("ring", atNone)).status());
            ring.close();
        }
    }
}
