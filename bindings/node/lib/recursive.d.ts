import { LockOfOne, SyncWaitOptions, TellingHolding, WaitOptions } from './common';

/**
 * One that takes recursive mutexes: a chain of calls, which hands it on. It is what a thread is to a recursive mutex elsewhere.
 * Two chains that run at once, say those of a `Promise.all`, are two owners. It takes no slot, and needs not be closed.
 */
export class Owner {
  // An object that looks like one is none.
  #private;
}

/**
 * A mutex that its owner may take again, and unlocks as often. To other processes it is taken once. One that another language
 * opens as recursive is the same lock: there a thread is the owner. Owners that wait by the same object stand in line as one.
 */
export class RecursiveMutex {
  private constructor();
  /**
   * At once, if `owner` has it already; else waits off the main thread. ERR_TURNLOCK_HOLD_BUSY if that owner waits
   * here already, ERR_TURNLOCK_RECURSION_LIMIT if it has the lock 65,535 times.
   */
  lock(owner: Owner, options?: WaitOptions): Promise<RecursiveHeld>;
  /** Waits and blocks this thread. ERR_TURNLOCK_DEADLOCK while another owner has this object's lock or waits for it. */
  lockSync(owner: Owner, options?: SyncWaitOptions): RecursiveHeld;
  /** The lock if that needs no waiting; else null. */
  tryLock(owner: Owner): RecursiveHeld | null;
  /**
   * Calls `section` while it has the lock, and unlocks. If `section` throws, or its promise is rejected, the lock is
   * abandoned: the next holder is told.
   */
  withLock<Result>(
    owner: Owner,
    section: (held: RecursiveHeld) => Result | PromiseLike<Result>,
    options?: WaitOptions,
  ): Promise<Result>;
  /** How often `owner` has the lock; 0: it has not. */
  depth(owner: Owner): number;
  /** How long waiters let others pass here, in milliseconds, as its creator said; 0 is strictly first come first served. */
  readonly patience: number;
}
export interface RecursiveMutex extends LockOfOne {}

/**
 * One time that a recursive mutex is taken. All times of an owner have one fencing token, and a death is told to the first of
 * them; the last one that is unlocked lets others have the lock: as an abandoned one, if any of them was abandoned.
 */
export class RecursiveHeld {
  private constructor();
  readonly lock: RecursiveMutex;
  /**
   * Whether this host has the lock still: not, once the lease of a linked mutex has ended, from when on another host may have it. What
   * goes out to others needs the fencing token besides.
   */
  stillOwner(): boolean;
}
export interface RecursiveHeld extends TellingHolding {}
