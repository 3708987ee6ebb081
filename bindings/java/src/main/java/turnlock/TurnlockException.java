package turnlock;

/** A failure of turnlock. Its message says which path, what was expected, what to do. */
public class TurnlockException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final Status status;

    TurnlockException(Status status, String story) {
        super(story);
        this.status = status;
    }

    /** What failed. */
    public Status status() {
        return status;
    }
}
