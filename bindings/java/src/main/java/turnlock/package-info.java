/**
 * Locks between processes that are nothing but a memory-mapped file, by {@code libturnlock} and JNA. Programs in other
 * languages that open the same lock take turns with this one.
 *
 * <p>A mutex or a ring that is open is one participant, with a slot in the file; of other kinds each hold is. Threads that share an
 * object are queued as one, first come first served (of range locks, keyed locks and group locks each by itself); a thread that is to be queued by
 * itself opens the lock again.
 *
 * <p>{@link turnlock.TurnCondition}, {@link turnlock.Event}, {@link turnlock.Barrier} and {@link turnlock.Once} are for waiting for one
 * another. A thread that waits for one of the last three is a participant by itself.
 *
 * <p>{@link turnlock.TurnReentrantReadWriteLock} and {@link turnlock.CountingSemaphore} stand in the place of the
 * JDK's {@link java.util.concurrent.locks.ReentrantReadWriteLock} and {@link java.util.concurrent.Semaphore}.
 */
package turnlock;
