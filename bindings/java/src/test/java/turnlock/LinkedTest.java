package turnlock;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertFalse;
import static org.junit.Assert.assertThrows;
import static org.junit.Assert.assertTrue;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.junit.After;
import org.junit.Before;
import org.junit.Rule;
import org.junit.Test;
import org.junit.rules.TemporaryFolder;
import org.junit.rules.Timeout;

/** Linked mutexes: what a program meets that has nothing to do with other hosts. Their agent is examples/agent.rs. */
public class LinkedTest {
    @Rule public final TemporaryFolder folder = new TemporaryFolder();
    @Rule public final Timeout limit = Timeout.seconds(60);

    private LockFile file;
    private Process agent;
    private BufferedReader said;
    private Mutex mutex;

    /** A lock that is linked, and home. */
    @Before
    public void open() throws Exception {
        file = LockFile.open(folder.getRoot().toPath().resolve("lock"));
        agent = new ProcessBuilder(System.getenv("TURNLOCK_AGENT"), file.path().toString(), "lock")
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        said = new BufferedReader(new InputStreamReader(agent.getInputStream(), StandardCharsets.UTF_8));
        tell("home");
        mutex = file.mutex("lock");
    }

    @After
    public void close() throws Exception {
        agent.getOutputStream().close();
        assertEquals(0, agent.waitFor());
        file.close();
    }

    /** Waits until the agent has done that. */
    private void tell(String word) throws IOException {
        agent.getOutputStream().write((word + "\n").getBytes(StandardCharsets.UTF_8));
        agent.getOutputStream().flush();
        assertEquals(word, said.readLine());
    }

    @Test
    public void aLinkedMutexIsEnteredWhileItIsHome() throws Exception {
        mutex.lock();
        assertTrue(mutex.stillOwner());
        mutex.unlock();
        tell("away");
        assertFalse(mutex.tryLock());
        assertFalse(mutex.tryLock(5, TimeUnit.MILLISECONDS));
        Thread waits = new Thread(() -> {
            mutex.lock();
            mutex.unlock();
        });
        waits.start();
        while (mutex.waiters().isEmpty()) {
            Thread.sleep(1);
        }
        tell("home");
        waits.join();
    }

    @Test
    public void aHolderSeesThatTheLeaseHasEnded() throws Exception {
        tell("lease");
        assertThrows(IllegalMonitorStateException.class, mutex::stillOwner);
        mutex.lock();
        assertTrue(mutex.stillOwner());
        tell("ended");
        assertFalse(mutex.stillOwner());
        assertEquals(Status.LEASE_ENDED, assertThrows(TurnlockException.class, mutex::unlock).status());
        // It is unlocked all the same.
        assertFalse(mutex.isHeldByCurrentThread());
        assertFalse(mutex.tryLock());
        tell("lease");
        assertTrue(mutex.tryLock());
        mutex.unlock();
        mutex.close();
    }

    @Test
    public void aMutexThatIsNotLinkedIsOfThisHostAlone() {
        Mutex plain = file.mutex("plain");
        plain.lock();
        assertTrue(plain.stillOwner());
        plain.unlock();
    }
}
