import turnlock.Acquisition;
import turnlock.DeadOwner;
import turnlock.LockFile;
import turnlock.Mutex;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Adds to a number in a plain file, together with other programs, one at a time.
 *
 * <pre>java -cp turnlock.jar:jna.jar:. Counter FOLDER TURNS [--die-at N]</pre>
 *
 * <p>A turn reads the number in {@code counter}, adds a line to {@code journal} and writes the number plus one. The lock
 * {@code counter} of {@code demo.lock} keeps other programs out meanwhile: examples/counter.c has the whole story.
 */
public final class Counter {
    private static final String ME = "Counter.java";

    private final Path counter;
    private final Path journal;
    private final Mutex mutex;

    private Counter(Path folder, LockFile file) {
        counter = folder.resolve("counter");
        journal = folder.resolve("journal");
        mutex = file.mutex("counter");
    }

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 2 && !(arguments.length == 4 && arguments[2].equals("--die-at"))) {
            System.err.println("usage: Counter FOLDER TURNS [--die-at N]");
            System.exit(64);
        }
        Path folder = Path.of(arguments[0]);
        int turns = Integer.parseInt(arguments[1]);
        int dieAt = arguments.length == 4 ? Integer.parseInt(arguments[3]) : 0;
        // The label is what others read when this program dies.
        try (LockFile file = LockFile.open(folder.resolve("demo.lock"), new LockFile.Options().label(ME))) {
            Counter counter = new Counter(folder, file);
            for (int turn = 1; turn <= turns; turn++) {
                counter.takeTurn(turn, dieAt);
            }
        }
        System.out.println(ME + ": done, " + turns + " turns");
    }

    private void takeTurn(int turn, int dieAt) throws IOException {
        try (Acquisition held = mutex.acquire()) {
            if (held.ownerDied()) {
                repair();
            }
            long count = Long.parseLong(Files.readString(counter).trim());
            Files.writeString(journal, ME + " " + held.fencingToken() + "\n", StandardOpenOption.APPEND);
            if (turn == dieAt) {
                System.out.println(ME + ": stopped half-way through turn " + turn + ", with fencing token "
                        + held.fencingToken() + "; now: kill -9 " + ProcessHandle.current().pid());
                System.in.read();
                Runtime.getRuntime().halt(1);
            }
            writeCounter(count + 1);
        } catch (IOException | RuntimeException failure) {
            // Half a turn may stand in the files: the next holder is told.
            if (mutex.isHeldByCurrentThread()) {
                mutex.abandon();
            }
            throw failure;
        }
    }

    /**
     * The holder before died inside, perhaps between the journal and the counter. The journal is written first, so it is
     * right; the counter is made to agree with it.
     */
    private void repair() throws IOException {
        long count = Files.readAllLines(journal).size();
        writeCounter(count);
        DeadOwner dead = mutex.previousOwner().orElseThrow();
        System.out.println(ME + ": told that " + dead.label() + " (process " + dead.pid() + ") died inside; set the counter to "
                + count);
        // Only now: a lock whose death policy is inform would be closed by an unlock without it.
        mutex.markConsistent();
    }

    /** In place, since the number never gets shorter. */
    private void writeCounter(long count) throws IOException {
        Files.writeString(counter, count + "\n", StandardOpenOption.WRITE);
    }
}
