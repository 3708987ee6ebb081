// What locks of every kind have in common.

/** What ends a wait before the lock comes. */
export interface WaitOptions {
  /** In milliseconds. A negative number is 0: no wait. Infinity, as if nothing were said: no limit. */
  timeout?: number;
  /** Promise forms only. The promise is rejected with `signal.reason` when nothing is left in the queue. */
  signal?: AbortSignal;
}

/** Of a wait that blocks this thread. */
export type SyncWaitOptions = Pick<WaitOptions, 'timeout'>;

/** How a reader/writer lock is held: alone; beside others that read; beside these, with the right to become exclusive. */
export type Mode = 'exclusive' | 'shared' | 'upgradable';

/**
 * What a holder's death means: the next one is told, and that is all ('release'); or it is told and calls `markConsistent` before
 * it unlocks, else the lock is closed for everyone ('inform'): all who take such a lock have to know it.
 */
export type DeathPolicy = 'inform' | 'release';

/** A lock of any kind that is open. */
export interface Lock {
  /** Who waits now, first the one that is next; of a ring also who stands in it. */
  waiters(): ParticipantInfo[];
  /** Ends the waits of this object with ERR_TURNLOCK_CLOSED. ERR_TURNLOCK_STILL_HELD while it holds anything. */
  close(): void;
  [Symbol.dispose](): void;
}

/** One whose next holder is told when a holder died. */
export interface TellingLock extends Lock {
  /** Opens a lock that is not recoverable again, after the data were repaired or given up. */
  reset(options?: WaitOptions): Promise<void>;
  /** What a holder's death means here, as its creator said. */
  readonly deathPolicy: DeathPolicy;
  /** Who died holding it exclusively, last. */
  previousOwner(): DeadOwner | null;
}

/** One that somebody holds alone. */
export interface LockOfOne extends TellingLock {
  /** Who has the lock now, dead or alive. */
  holder(): ParticipantInfo | null;
}

/** One that several may hold at once. */
export interface LockOfSeveral extends Lock {
  /** Who holds something of it now, dead or alive. */
  holders(): ParticipantInfo[];
}

export interface DeadOwner {
  label: string;
  pid: number;
  thread: number;
  fencingToken: bigint;
}

/** A participant at a lock, at one moment. */
export interface ParticipantInfo {
  label: string;
  program: string;
  /** Of a holder; else 0n. */
  fencingToken: bigint;
  /** For how long it has held or waited, in milliseconds; 0 where nobody knows. */
  durationMs: number;
  slot: number;
  pid: number;
  thread: number;
  life: 'unknown' | 'alive' | 'stopped' | 'dead';
  state: 'holding' | 'queued' | 'standing by' | 'standing' | 'unknown';
  /** What it has of the lock, or wants. */
  mode: Mode | 'upgrading' | 'unknown';
  /** Of a semaphore: how many it has, or wants. */
  permits: number;
}
