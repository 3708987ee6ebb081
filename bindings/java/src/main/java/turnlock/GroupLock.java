package turnlock;

import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeoutException;

/**
 * A lock that any number of members of one group have together, and never two of different groups; first come, first served. A
 * group is any number, and need not be created; a negative one is what {@link Long#toUnsignedString(long)} says. What is taken
 * is a {@link Member}, which any thread may let go.
 *
 * <p>A death is told to each member that enters afterwards, of whichever group, until one that was told has called {@link
 * Member#markConsistent}. To unlock without it closes nothing.
 */
public final class GroupLock extends SeveralLock {
    /** A place inside. To close it unlocks. Its methods throw {@link IllegalMonitorStateException} afterwards. */
    public final class Member extends Held {
        private final long group;

        private Member(OpenLock.Taken taken, long group) {
            super(GroupLock.this, taken);
            this.group = group;
        }

        /** The group that it is of. */
        public long group() {
            return group;
        }

        /** Unlocks as a dying member does, since the data were left half-done: those that enter next are told. */
        public synchronized void abandon() {
            end(Native::turnlock_hold_abandon);
        }
    }

    GroupLock(Handle.Shared file, String name, PartsLock.Options options) {
        super(OpenLock.open(file, name, PartsLock.struct(Objects.requireNonNull(options, "options")), options.label, false,
                Native::turnlock_grouplock_open, Native::turnlock_grouplock_close), Integer.MAX_VALUE);
    }

    /** Enters as a member of the group, and waits for it as long as it takes; an interrupt does not end that. */
    public Member acquire(long group) {
        return new Member(takePatiently(Request.ofGroup(group)), group);
    }

    /** Waits at most so long, or until the thread is interrupted. */
    public Member acquire(long group, Duration limit) throws InterruptedException, TimeoutException {
        return new Member(take(Request.ofGroup(group), Texts.nanoseconds(Objects.requireNonNull(limit, "limit"))), group);
    }

    /** The place inside if that needs no waiting. */
    public Optional<Member> tryAcquire(long group) {
        return Optional.ofNullable(tryTake(Request.ofGroup(group))).map(taken -> new Member(taken, group));
    }

    /** Marks consistent whatever dead members left, while none is inside: the data were repaired or given up. */
    public void reset() {
        use(open -> open.call(lock -> Native.turnlock_lock_reset_for(lock, Long.MAX_VALUE)));
    }

    /** The participant that died last inside. */
    public Optional<DeadOwner> previousOwner() {
        return use(OpenLock::previousOwner);
    }

    /** The members that are inside, dead or alive. */
    public List<ParticipantInfo> holders() {
        return use(open -> open.holders(ParticipantInfo.Parts.GROUP));
    }

    /** The waiters, first the one that is next. */
    public List<ParticipantInfo> waiters() {
        return use(open -> open.waiters(ParticipantInfo.Parts.GROUP));
    }
}
