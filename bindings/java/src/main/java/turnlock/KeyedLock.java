package turnlock;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/** A lock for each key, which is any bytes. Keys need not be created, and take no room while they are not wanted. */
public final class KeyedLock extends PartsLock {
    KeyedLock(Handle.Shared file, String name, Options options) {
        super(ParticipantInfo.Parts.KEY, file, name, options, Native::turnlock_keyedlock_open, Native::turnlock_keyedlock_close);
    }

    /** Waits for the key as long as it takes; an interrupt does not end that. */
    public Part acquire(byte[] key, Mode mode) {
        return patiently(request(key, mode), mode);
    }

    /** Waits at most so long, or until the thread is interrupted. */
    public Part acquire(byte[] key, Mode mode, Duration limit) throws InterruptedException, TimeoutException {
        return within(request(key, mode), mode, limit);
    }

    /** The key if that needs no waiting. */
    public Optional<Part> tryAcquire(byte[] key, Mode mode) {
        return now(request(key, mode), mode);
    }

    private static Request request(byte[] key, Mode mode) {
        return Request.ofKey(number(mode), Objects.requireNonNull(key, "key"));
    }

    /** The same of a key's UTF-8. */
    public Part acquire(String key, Mode mode) {
        return acquire(key.getBytes(StandardCharsets.UTF_8), mode);
    }

    /** The same of a key's UTF-8. */
    public Part acquire(String key, Mode mode, Duration limit) throws InterruptedException, TimeoutException {
        return acquire(key.getBytes(StandardCharsets.UTF_8), mode, limit);
    }

    /** The same of a key's UTF-8. */
    public Optional<Part> tryAcquire(String key, Mode mode) {
        return tryAcquire(key.getBytes(StandardCharsets.UTF_8), mode);
    }
}
