package turnlock;

import com.sun.jna.Memory;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;

/** Texts and times as the C ABI wants them. */
final class Texts {
    /** Of a wait that passed its limit before the library was asked. */
    static final String TURN_OF_ANOTHER_THREAD =
            "the time limit passed before the turn came: another thread of this program has or awaits the lock by the same object";

    private Texts() {}

    /** UTF-8 with a NUL at the end. A text that C would read otherwise is {@code failure}. */
    static byte[] bytes(String text, Status failure, String what) {
        Objects.requireNonNull(text, what);
        if (text.indexOf(0) >= 0) {
            throw new TurnlockException(failure, "the " + what + " has a NUL in it: leave it out");
        }
        try {
            ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            byte[] bytes = new byte[encoded.remaining() + 1];
            encoded.get(bytes, 0, bytes.length - 1);
            return bytes;
        } catch (CharacterCodingException error) {
            throw new TurnlockException(failure, "the " + what + " has half of a surrogate pair in it");
        }
    }

    static byte[] name(String name) {
        return bytes(name, Status.BAD_NAME, "name of a lock");
    }

    /** Memory with a label, which is null if there is none. */
    static Memory label(String label) {
        if (label == null) {
            return null;
        }
        byte[] bytes = bytes(label, Status.INVALID_ARGUMENT, "label");
        Memory memory = new Memory(bytes.length);
        memory.write(0, bytes, 0, bytes.length);
        return memory;
    }

    /** Nanoseconds: a negative duration is 0, and one that is too long is 292 years. */
    static long nanoseconds(Duration duration) {
        if (duration.isNegative()) {
            return 0;
        }
        try {
            return duration.toNanos();
        } catch (ArithmeticException tooLong) {
            return Long.MAX_VALUE;
        }
    }
}
