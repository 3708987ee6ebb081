package turnlock;

/** What a holder's death means for a lock. It is said when the lock is created, and the lock keeps it. */
public enum DeathPolicy {
    /**
     * The next holder is told ({@code ownerDied}), and marks the data consistent before it unlocks; else the lock is closed for
     * everyone. All who take such a lock have to know it: a {@link java.util.concurrent.locks.Lock} does not show the notice.
     */
    INFORM,
    /** The next holder is told, and has nothing to mark consistent. */
    RELEASE;

    private static final System.Logger LOGGER = System.getLogger("turnlock");

    /** The flags of the library, which are the same for every kind; {@code null}: what the lock has, and RELEASE if it is new. */
    static int flags(DeathPolicy policy) {
        if (policy == null) {
            return Native.MUTEX_RELEASE_BY_DEFAULT;
        }
        return policy == INFORM ? Native.MUTEX_INFORM_ON_DEATH : Native.MUTEX_RELEASE_ON_DEATH;
    }

    /** That of a lock, by its number in the library. */
    static DeathPolicy of(int number) {
        return number == INFORM.ordinal() ? INFORM : RELEASE;
    }

    /** Warns of an unlock that has closed a lock for everyone. */
    static void warnOfClosed() {
        LOGGER.log(System.Logger.Level.WARNING,
                "a lock is closed for everyone from now on: a holder died inside, and the next one unlocked it without"
                        + " markConsistent(); look at the data, then call reset(), or run `turnlock reset`");
    }
}
