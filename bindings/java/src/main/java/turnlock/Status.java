package turnlock;

/** The failures of {@code turnlock.h}, under their names there. */
public enum Status {
    INVALID_ARGUMENT(-1),
    WOULD_BLOCK(-2),
    TIMED_OUT(-3),
    CANCELLED(-4),
    DEADLOCK(-5),
    NOT_OWNER(-6),
    NOT_RECOVERABLE(-7),
    CLOSED(-8),
    PARTICIPANTS_FULL(-9),
    LOCKS_FULL(-10),
    BAD_NAME(-11),
    NOT_A_LOCK_FILE(-12),
    VERSION(-13),
    DAMAGED(-14),
    REPLACED(-15),
    PERMISSION(-16),
    NOT_FOUND(-17),
    FILESYSTEM(-18),
    NO_SPACE(-19),
    SYSTEM(-20),
    KIND(-21),
    HOLD_BUSY(-22),
    INTERNAL(-23),
    STILL_HELD(-24),
    NOT_INCONSISTENT(-25),
    FILE_TOO_SMALL(-26),
    UNSUPPORTED(-27),
    INTERRUPTED(-28),
    NO_MEMORY(-29),
    IN_USE(-30),
    RECURSION_LIMIT(-31),
    NOT_UPGRADABLE(-32),
    NOT_EXCLUSIVE(-33),
    PERMITS(-34),
    TOO_MANY_RELEASED(-35),
    EMPTY_RANGE(-36),
    BROKEN_BARRIER(-37),
    CIRCULAR_WAIT(-38),
    LEASE_ENDED(-39),
    /** A number that this version does not know: a later library has more. */
    UNKNOWN(Integer.MIN_VALUE);

    private final int number;

    Status(int number) {
        this.number = number;
    }

    /** The number in {@code turnlock.h}. */
    public int number() {
        return number;
    }

    static Status of(int number) {
        for (Status status : values()) {
            if (status.number == number) {
                return status;
            }
        }
        return UNKNOWN;
    }
}
