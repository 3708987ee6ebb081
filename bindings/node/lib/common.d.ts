// What locks of every kind have in common.

// A program that has neither the types of Node nor those of a browser knows no signals, and perhaps no `using`.
declare global {
  interface AbortSignal {}
  interface SymbolConstructor {
    readonly dispose: unique symbol;
  }
}

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

/** What a lock of any kind is opened with. */
export interface OpenOptions {
  mustExist?: boolean;
  /** What those call themselves that take it by this object; the file's label. */
  label?: string;
}

/** What a lock is opened with whose next holder is told of a death. */
export interface LockOptions extends OpenOptions {
  /** What it must have (ERR_TURNLOCK_KIND); whatever it has, and 'release' if it is created now. */
  onDeath?: DeathPolicy;
}

/** What a lock is opened with that lets others pass. */
export interface PatienceOptions {
  /**
   * How long a waiter lets others pass before it is queued for good, in milliseconds: what it must have (ERR_TURNLOCK_KIND);
   * whatever it has, and 1 if it is created now. 0 is `strict`.
   */
  patience?: number;
  /** No patience: strictly first come first served. */
  strict?: boolean;
}

/** A lock of any kind that is open. */
export interface Lock {
  /** The waiters, first the one that is next; of a ring also its other members. */
  waiters(): ParticipantInfo[];
  /** The holders of something of it, dead or alive. */
  holders(): ParticipantInfo[];
  /** Ends the waits of this object with ERR_TURNLOCK_CLOSED. ERR_TURNLOCK_STILL_HELD while it holds anything. */
  close(): void;
  [Symbol.dispose](): void;
}

/** One whose next holder is told when a holder died. */
export interface TellingLock extends Lock {
  /**
   * Opens a lock that is not recoverable again, after the data were repaired or given up. Of a lock of parts, or of groups: marks
   * consistent whatever dead participants left, while nothing of it is held.
   */
  reset(options?: WaitOptions): Promise<void>;
  /** What a holder's death means here, as its creator said. */
  readonly deathPolicy: DeathPolicy;
  /** The participant that died last while it held it exclusively, or as a member. */
  previousOwner(): DeadOwner | null;
}

/** A lock with one holder at a time. */
export interface LockOfOne extends TellingLock {
  /** The holder of the lock, dead or alive. */
  holder(): ParticipantInfo | null;
}

/** Something that is held. ERR_TURNLOCK_NOT_OWNER once it is released. */
export interface Holding {
  readonly isHeld: boolean;
  /**
   * Larger than that of every acquisition of this lock before; a reader's is that of the last writer: two readers with the same
   * one read the same.
   */
  readonly fencingToken: bigint;
  /** Whether another participant waits behind the holder. Calls that stand in line at the same object are not counted. */
  isContended(): boolean;
  /** Releases it, if that was not done. */
  [Symbol.dispose](): void;
}

/** Of a lock whose next holder is told when a holder died. */
export interface TellingHolding extends Holding {
  /**
   * The previous holder died inside, and what it left is not marked consistent yet: repair the data and
   * `markConsistent` before you unlock.
   */
  readonly ownerDied: boolean;
  readonly deadOwner: { readonly pid: number; readonly fencingToken: bigint } | null;
  /**
   * After a death without `markConsistent` this closes a lock for everyone whose death policy is 'inform', and warns; of a lock of
   * parts, or of groups, the next one is told again.
   */
  unlock(): void;
  /** Unlocks as a dying owner does, since the data were left half-done: the next holder is told, if it was held exclusively or as a member. */
  abandon(): void;
  /** Says, holding it exclusively or as a member after `ownerDied`, that the data are consistent again. */
  markConsistent(): void;
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
  /** For how long it has held or waited, in milliseconds; 0 where that is unknown. */
  durationMs: number;
  slot: number;
  pid: number;
  thread: number;
  life: 'unknown' | 'alive' | 'stopped' | 'dead';
  state: 'holding' | 'queued' | 'backed off' | 'ring member' | 'unknown';
  /** What it has of the lock, or wants. */
  mode: Mode | 'upgrading' | 'unknown';
  /** Of a semaphore: how many it has, or wants. */
  permits: number;
  /** Of a group lock: the group that it is in, or wants to enter. */
  group: bigint | null;
  /** Of a range lock: from where to before where it reaches; 2n ** 64n - 1n is the end of one that reaches to the end. */
  range: { start: bigint; end: bigint } | null;
  /** Of a keyed lock. */
  key: KeyInfo | null;
}

/** A key that is held or wanted. */
export interface KeyInfo {
  /** What it begins with, at most 47 bytes. */
  bytes: Uint8Array;
  /** Whether that is the whole key. Else it is longer, or, if there are no bytes, empty or not known. */
  isWhole: boolean;
  /** By what keys are told apart, in hexadecimal. */
  hash: string;
}
