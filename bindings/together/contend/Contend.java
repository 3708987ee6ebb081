import turnlock.DeadOwner;
import turnlock.DeathPolicy;
import turnlock.LockFile;
import turnlock.RwLock;
import turnlock.TurnSemaphore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** {@code Contend KIND FOLDER TURNS [--die-at N]}: contend.c in Java. */
public final class Contend {
    private static final String ME = "Contend.java";
    private static Path counter;
    private static Path journal;

    private Contend() {}

    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments[1]);
        counter = folder.resolve("counter");
        journal = folder.resolve("journal");
        int turns = Integer.parseInt(arguments[2]);
        int dieAt = arguments.length == 5 ? Integer.parseInt(arguments[4]) : 0;
        try (LockFile file = LockFile.open(folder.resolve("demo.lock"), new LockFile.Options().label(ME))) {
            if (arguments[0].equals("rwlock")) {
                // Readers rely on what a dead writer left being repaired first.
                RwLock lock = file.rwLock("rwlock", new RwLock.Options().onDeath(DeathPolicy.INFORM));
                for (int turn = 1; turn <= turns; turn++) {
                    writeAndRead(lock, turn == dieAt);
                }
            } else {
                TurnSemaphore semaphore = file.semaphore("semaphore");
                for (int turn = 1; turn <= turns; turn++) {
                    withPermit(semaphore, turn == dieAt);
                }
            }
        }
    }

    private static void writeAndRead(RwLock lock, boolean dies) throws IOException {
        try (RwLock.Hold writer = lock.acquire(RwLock.Mode.EXCLUSIVE)) {
            if (writer.ownerDied()) {
                writeCounter(journalLines());
                DeadOwner dead = lock.previousOwner().orElseThrow();
                System.out.println(ME + ": told that " + dead.label() + " (process " + dead.pid() + ") died inside");
                writer.markConsistent();
            }
            long count = readCounter();
            append(writer.fencingToken());
            if (dies) {
                waitToBeKilled();
            }
            writeCounter(count + 1);
        }
        try (RwLock.Hold reader = lock.acquire(RwLock.Mode.SHARED)) {
            if (!reader.ownerDied() && readCounter() != journalLines()) {
                throw new IllegalStateException("a reader saw half a turn");
            }
        }
    }

    private static void withPermit(TurnSemaphore semaphore, boolean dies) throws IOException {
        try (TurnSemaphore.Permits held = semaphore.acquire(1)) {
            if (dies) {
                waitToBeKilled();
            }
            long count = readCounter();
            append(0);
            writeCounter(count + held.count());
        }
    }

    private static long readCounter() throws IOException {
        return Long.parseLong(Files.readString(counter).trim());
    }

    private static long journalLines() throws IOException {
        return Files.readAllLines(journal).size();
    }

    private static void append(long token) throws IOException {
        Files.writeString(journal, ME + " " + token + "\n", StandardOpenOption.APPEND);
    }

    private static void writeCounter(long count) throws IOException {
        Files.writeString(counter, count + "\n", StandardOpenOption.WRITE);
    }

    private static void waitToBeKilled() throws IOException {
        System.out.println(ME + ": stopped inside; now: kill -9 " + ProcessHandle.current().pid());
        System.in.read();
        Runtime.getRuntime().halt(1);
    }
}
