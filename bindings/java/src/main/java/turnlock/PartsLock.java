package turnlock;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeoutException;
import java.util.function.ToIntFunction;

/**
 * What range locks and keyed locks have in common: each holder has a part of the lock. What is taken is a {@link Part}, which
 * any thread may let go; it is not reentrant.
 */
public abstract class PartsLock extends SeveralLock {
    /** How a part is held. */
    public enum Mode {
        /** Alone. */
        EXCLUSIVE,
        /** Beside others that read. */
        SHARED
    }

    /** How to open, or create, a lock of parts, or a group lock. One that exists keeps what it was created with. */
    public static final class Options {
        private boolean mustExist;
        private DeathPolicy onDeath;
        String label;

        /** Do not create the lock. */
        public Options mustExist() {
            mustExist = true;
            return this;
        }

        /**
         * What a holder's death must mean; else {@link Status#KIND}. If nothing is said: what it means to the lock, and {@link
         * DeathPolicy#RELEASE} if it is created now.
         */
        public Options onDeath(DeathPolicy policy) {
            onDeath = Objects.requireNonNull(policy, "policy");
            return this;
        }

        /** What the holds of this object call themselves; the file's label if nothing is said. */
        public Options label(String label) {
            this.label = label;
            return this;
        }
    }

    /** A part as it is held. To close it unlocks. Its methods throw {@link IllegalMonitorStateException} afterwards. */
    public final class Part extends Held {
        private final Mode mode;

        private Part(OpenLock.Taken taken, Mode mode) {
            super(PartsLock.this, taken);
            this.mode = mode;
        }

        /** How it is held. */
        public Mode mode() {
            return mode;
        }
    }

    private final ParticipantInfo.Parts parts;

    PartsLock(ParticipantInfo.Parts parts, Handle.Shared file, String name, Options options, OpenLock.Opens opens,
            ToIntFunction<Pointer> close) {
        super(OpenLock.open(file, name, struct(Objects.requireNonNull(options, "options")), options.label, false, opens, close),
                Integer.MAX_VALUE);
        this.parts = parts;
    }

    static Memory struct(Options options) {
        Memory struct = Native.struct(16);
        // The flags of these kinds are the same numbers.
        struct.setInt(8, (options.mustExist ? Native.RANGELOCK_MUST_EXIST : 0)
                | DeathPolicy.flags(options.onDeath));
        return struct;
    }

    /** That of the library. */
    static int number(Mode mode) {
        return Objects.requireNonNull(mode, "mode") == Mode.SHARED ? Native.MODE_SHARED : Native.MODE_EXCLUSIVE;
    }

    final Part patiently(Request request, Mode mode) {
        return new Part(takePatiently(request), mode);
    }

    final Part within(Request request, Mode mode, Duration limit) throws InterruptedException, TimeoutException {
        return new Part(take(request, Texts.nanoseconds(Objects.requireNonNull(limit, "limit"))), mode);
    }

    final Optional<Part> now(Request request, Mode mode) {
        return Optional.ofNullable(tryTake(request)).map(taken -> new Part(taken, mode));
    }

    /** Marks all parts consistent that dead participants left, while no part is held: the data were repaired or given up. */
    public final void reset() {
        use(open -> open.call(lock -> Native.turnlock_lock_reset_for(lock, Long.MAX_VALUE)));
    }

    /** The participant that died last while it held a part exclusively. */
    public final Optional<DeadOwner> previousOwner() {
        return use(OpenLock::previousOwner);
    }

    /** The holders of parts, dead or alive. */
    public final List<ParticipantInfo> holders() {
        return use(open -> open.holders(parts));
    }

    /** The waiters for parts. */
    public final List<ParticipantInfo> waiters() {
        return use(open -> open.waiters(parts));
    }
}
