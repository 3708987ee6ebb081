// What participants coordinate by, beside locks.

import { DeadOwner, SyncWaitOptions, WaitOptions } from './common';
import { Held, RwHeld } from './index';
import { RecursiveHeld } from './recursive';

/** An object of a lock file that is open, and is not held. */
interface Named {
  /** Ends the waits of this object with ERR_TURNLOCK_CLOSED. */
  close(): void;
  [Symbol.dispose](): void;
}

/**
 * A condition of a mutex, or of a reader/writer lock that is held exclusively: a holder unlocks it and waits, in one step, until
 * another participant notifies it; then it has the lock again. Waiters are notified in the order in which they came, and none without a
 * notification. The notification of a waiter that dies before it has the lock goes to the next one. It is used with one lock at a time.
 */
export class Condition {
  private constructor();
  /**
   * Waits off the main thread, with what is held. Meanwhile `held.isHeld` is false, and this process may take the lock by the same
   * object. Afterwards it is held again, also where the promise is rejected because of the time, the signal, or a condition that was
   * closed or removed; `held.isHeld` says so. It has a new fencing token then, and `ownerDied` if the last holder died. A recursive mutex
   * is unlocked however often it was taken. A time limit is for the notification; the lock is then waited for as long as it takes.
   *
   * ERR_TURNLOCK_NOT_OWNER if it is not held; _INVALID_ARGUMENT for a lock of another kind or another file, and where others wait
   * with another lock; _NOT_EXCLUSIVE for a reader; _NOT_RECOVERABLE, with the lock lost, if it was closed for everyone.
   */
  wait(held: Held | RwHeld | RecursiveHeld, options?: WaitOptions): Promise<void>;
  /** Waits and blocks this thread. ERR_TURNLOCK_DEADLOCK while promises wait for the lock by its object. */
  waitSync(held: Held | RwHeld | RecursiveHeld, options?: SyncWaitOptions): void;
  /** Notifies the one that has waited longest. Gives how many were notified: 0 or 1. The lock need not be held. */
  notifyOne(): number;
  /** Notifies all that wait by now. Gives how many. */
  notifyAll(): number;
}
export interface Condition extends Named {}

/** An event: it is set or not, and participants wait until it is set. It stays so until it is cleared, or the machine boots. */
export class Event {
  private constructor();
  /** Sets it: all that wait for it go on. */
  set(): void;
  /** Clears it: who waits from now on waits until it is set again. */
  clear(): void;
  readonly isSet: boolean;
  /** Waits off the main thread. A wait that began before it was set ends, also if it was cleared since. */
  wait(options?: WaitOptions): Promise<void>;
  /** Waits and blocks this thread. */
  waitSync(options?: SyncWaitOptions): void;
}
export interface Event extends Named {}

/**
 * A barrier: so many parties wait until all of them have come; then all go on. The death of a party breaks it for all, and so does one
 * whose wait is ended by its time limit or its signal: ERR_TURNLOCK_BROKEN_BARRIER, until a reset; the message says who it was.
 * Each wait by a promise has a thread of its own, which is a participant until the barrier is closed.
 */
export class Barrier {
  private constructor();
  /** Waits off the main thread. Gives true to the one that came last, and false to the others. */
  wait(options?: WaitOptions): Promise<boolean>;
  /** Waits and blocks this thread. */
  waitSync(options?: SyncWaitOptions): boolean;
  /** Breaks it, for those that wait and for those that come until a reset. */
  abort(): void;
  /** Opens it anew, broken or not. Those that wait get ERR_TURNLOCK_BROKEN_BARRIER; the deaths so far are forgotten. */
  reset(): void;
  readonly parties: number;
  /** How many wait at this moment. */
  readonly waiting: number;
  readonly isBroken: boolean;
}
export interface Barrier extends Named {}

/**
 * What is done once, by one participant of all that have the lock file open. If that one dies, the next one does it. It stays done until
 * a reset, or until the machine boots, unless it was created with `acrossBoots`.
 */
export class Once {
  private constructor();
  /**
   * Calls `work`, unless it is done; waits while another one is at it, off the main thread. Gives whether it ran here. `work` is given
   * the participant that was at it before and died. If `work` throws, or its promise is rejected, it is not done. The signal and the time
   * limit end the wait, and not the work.
   */
  run(work: (deadRunner: DeadOwner | null) => unknown, options?: WaitOptions): Promise<boolean>;
  /**
   * The same, blocking this thread, with a work that gives no promise. ERR_TURNLOCK_DEADLOCK while this object is at it or waits
   * for it.
   */
  runSync(work: (deadRunner: DeadOwner | null) => unknown, options?: SyncWaitOptions): boolean;
  readonly isDone: boolean;
  /** Has it be done again. Waits while a participant is at it. */
  reset(options?: WaitOptions): Promise<void>;
  /** Ends the waits of this object. ERR_TURNLOCK_STILL_HELD while its work runs. */
  close(): void;
}
export interface Once extends Named {}
