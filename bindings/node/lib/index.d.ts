/**
 * Locks between processes that are nothing but a memory-mapped file. Programs in other languages that open the same lock
 * take turns with this one.
 *
 * Each acquisition takes a slot of the file, while it waits or is held; a mutex or a ring that was taken once keeps its slot while
 * it is open. Calls of the same object stand in line as one, but for range locks, keyed locks and group locks; to stand in the queue
 * separately, open the lock again.
 */

import {
  Holding,
  Lock,
  LockOfOne,
  LockOptions,
  Mode,
  OpenOptions,
  PatienceOptions,
  SyncWaitOptions,
  TellingHolding,
  TellingLock,
  WaitOptions,
} from './common';
import { Barrier, Condition, Event, Once } from './coordination';
import { RecursiveMutex } from './recursive';

export type { DeadOwner, DeathPolicy, KeyInfo, LockOptions, Mode, ParticipantInfo, SyncWaitOptions, WaitOptions } from './common';
export { Barrier, Condition, Event, Once } from './coordination';
export { Owner, RecursiveHeld, RecursiveMutex } from './recursive';

/** How to open, or create, a lock file. What is left out has the library's default. */
export interface FileOptions {
  /** How many participants may take part at once, 1 to 4096; 128 if the file is created and nothing is said. */
  participants?: number;
  /** How many named locks, 1 to 4096; 64 if the file is created and nothing is said. */
  locks?: number;
  /** The permission bits of a file that is created; 0o600 (0o660 with a group). */
  mode?: number;
  /** The number of the group that a file that is created is given to. */
  group?: number;
  mustExist?: boolean;
  /** Do without membarrier (TURNLOCK_FILE_FULL_FENCES). */
  fullFences?: boolean;
  /** What this process calls itself in `turnlock status` and in the owner-dead notice; the program's name. */
  label?: string;
}

export interface MutexOptions extends LockOptions, PatienceOptions {}

export interface RingOptions extends LockOptions {
  /** Which it must be; whichever it is, and 'raynal' if it is created now. */
  algorithm?: 'k-state' | 'raynal' | 'sum';
  /** Of the sum ring: from one slot to the next in order of turns; 1. */
  step?: number;
  /** After its first turn the participant stays in the ring, and the ring waits for it, until `leave`. */
  member?: boolean;
  /**
   * Its place on the ring: which of the file's slots it takes, from 0; a free one. With a place for each program, the order of
   * turns does not depend on which of them starts first. ERR_TURNLOCK_IN_USE, at the first lock, if it is taken.
   */
  slot?: number;
}

export interface SemaphoreOptions extends OpenOptions, PatienceOptions {
  /** How many permits it has, if it is created now; 1. */
  permits?: number;
}

export interface OnceOptions {
  mustExist?: boolean;
  /** What is done stays done when the machine boots, if it is created now. */
  acrossBoots?: boolean;
}

/** A lock file that is open. Locks that were opened from it stay open without it. */
export class LockFile {
  /** Opens the file, or creates it. */
  constructor(path: string, options?: FileOptions);
  /** Opens the lock file that a descriptor stands for. The descriptor stays the caller's. */
  static openDescriptor(descriptor: number, options?: FileOptions): LockFile;
  /** Opens the mutex of this name (1 to 63 bytes of UTF-8), or creates it. */
  mutex(name: string, options?: MutexOptions): Mutex;
  /** Opens the recursive mutex of this name, or creates it. ERR_TURNLOCK_KIND if it exists and is not recursive. */
  recursiveMutex(name: string, options?: MutexOptions): RecursiveMutex;
  /** Opens the turn ring of this name, or creates it. */
  turnRing(name: string, options?: RingOptions): TurnRing;
  /** Opens the reader/writer lock of this name, or creates it. */
  rwLock(name: string, options?: MutexOptions): RwLock;
  /** Opens the semaphore of this name, or creates it. */
  semaphore(name: string, options?: SemaphoreOptions): Semaphore;
  /** Opens the range lock of this name, or creates it. */
  rangeLock(name: string, options?: LockOptions): RangeLock;
  /** Opens the keyed lock of this name, or creates it. */
  keyedLock(name: string, options?: LockOptions): KeyedLock;
  /** Opens the group lock of this name, or creates it. */
  groupLock(name: string, options?: LockOptions): GroupLock;
  /** Opens the condition of this name, or creates it. It has another name than its lock. */
  condition(name: string, options?: { mustExist?: boolean }): Condition;
  /** Opens the event of this name, or creates it: then it is not set. */
  event(name: string, options?: { mustExist?: boolean }): Event;
  /**
   * Opens the barrier of this name, or creates it, with so many parties: ERR_TURNLOCK_KIND if it has another number. Without a number
   * it must exist.
   */
  barrier(name: string, parties?: number, options?: { mustExist?: boolean }): Barrier;
  /** Opens the once of this name, or creates it. */
  once(name: string, options?: OnceOptions): Once;
  /** Removes a lock that no process uses, of whatever kind. */
  removeLock(name: string): void;
  /** The path by which the file was opened last, its folder resolved. */
  readonly path: string;
  /** To close it again does nothing. */
  close(): void;
  [Symbol.dispose](): void;
}

/** A lock of a kind that one holds at a time. */
interface ExclusiveLock extends LockOfOne {
  /** Waits off the main thread. */
  lock(options?: WaitOptions): Promise<Held>;
  /** Waits and blocks this thread. ERR_TURNLOCK_DEADLOCK while this object has the lock or waits for it. */
  lockSync(options?: SyncWaitOptions): Held;
  /** The lock if that needs no waiting; else null. */
  tryLock(): Held | null;
  /**
   * Calls `section` while it has the lock, and unlocks. If `section` throws, or its promise is rejected, the lock is
   * abandoned: the next holder is told.
   */
  withLock<Result>(section: (held: Held) => Result | PromiseLike<Result>, options?: WaitOptions): Promise<Result>;
  /** The acquisition that this object holds now, if it does. */
  readonly held: Held | null;
}

/** A mutex: one at a time, first come first served after a moment of patience. A `RecursiveMutex` may be taken again. */
export class Mutex {
  private constructor();
  /** How long waiters let others pass here, in milliseconds, as its creator said; 0 is strictly first come first served. */
  readonly patience: number;
}
export interface Mutex extends ExclusiveLock {}

/** A lock whose turn goes round: a holder gets it again only after every other participant that wants it. */
export class TurnRing {
  private constructor();
  /** The participant, if it is a member of the ring, leaves it until its next turn is asked for. */
  leave(): void;
}
export interface TurnRing extends ExclusiveLock {}

/** A mutex or a ring that is held. */
export class Held {
  private constructor();
  readonly lock: Mutex | TurnRing;
  /**
   * Whether this host has the lock still: not, once the lease of a linked mutex has ended, from when on another host may have it. What
   * goes out to others needs the fencing token besides.
   */
  stillOwner(): boolean;
}
export interface Held extends TellingHolding {}

/**
 * A reader/writer lock: several that read, or one that writes. A caller waits for the earlier ones that stand in its
 * way. Callers that wait by the same object stand in line as one.
 */
export class RwLock {
  private constructor();
  /** Waits off the main thread. */
  lock(mode: Mode, options?: WaitOptions): Promise<RwHeld>;
  /** Waits and blocks this thread. ERR_TURNLOCK_DEADLOCK where this object has the lock and it is not free. */
  lockSync(mode: Mode, options?: SyncWaitOptions): RwHeld;
  /** The lock if that needs no waiting; else null. */
  tryLock(mode: Mode): RwHeld | null;
  /** Calls `section` while it has the lock, and unlocks; abandons it if `section` throws. */
  withLock<Result>(
    mode: Mode,
    section: (held: RwHeld) => Result | PromiseLike<Result>,
    options?: WaitOptions,
  ): Promise<Result>;
}
export interface RwLock extends TellingLock {}

/** A reader/writer lock that is held. */
export class RwHeld {
  private constructor();
  readonly mode: Mode;
  /** Makes an upgradable hold exclusive; no writer enters in between. On failure it stays held upgradable. */
  upgrade(options?: WaitOptions): Promise<void>;
  /** Whether it was upgraded, without waiting. */
  tryUpgrade(): boolean;
  /** Makes the hold less than it is; no writer enters in between. */
  downgrade(mode: 'upgradable' | 'shared'): void;
}
export interface RwHeld extends TellingHolding {}

/**
 * A number of permits, of which processes take some for a while, first come first served. Those of a process that dies come
 * back.
 */
export class Semaphore {
  private constructor();
  /** Takes so many (1 if nothing is said), all at once. Waits off the main thread. */
  acquire(count?: number, options?: WaitOptions): Promise<Permits>;
  /** Waits and blocks this thread. ERR_TURNLOCK_DEADLOCK where this object has permits and there are not enough left. */
  acquireSync(count?: number, options?: SyncWaitOptions): Permits;
  /** Permits if that needs no waiting; else null. */
  tryAcquire(count?: number): Permits | null;
  /** Calls `section` while it has so many permits, and gives them back. */
  withPermits<Result>(
    count: number,
    section: (permits: Permits) => Result | PromiseLike<Result>,
    options?: WaitOptions,
  ): Promise<Result>;
  /** How many permits there are, taken or not. */
  readonly permits: number;
  /** Makes it have so many, for all processes and at once. Those that are taken stay taken. */
  resize(permits: number): void;
}
export interface Semaphore extends Lock {}

/** Permits that are held. */
export class Permits {
  private constructor();
  /** How many are left. */
  readonly count: number;
  /** Gives so many back; all if nothing is said. */
  release(count?: number): void;
}
export interface Permits extends Holding {}

/** How a part of a lock is held: alone, or beside others that read. */
export type PartMode = 'exclusive' | 'shared';

/**
 * A lock of ranges of numbers: a caller waits for the earlier ranges that overlap with its own, unless both only read.
 * A range goes from `start` to before `end`; Infinity is the end of all, the last number included. An empty one, or a
 * reversed one, is ERR_TURNLOCK_EMPTY_RANGE. Each wait by the same object takes a slot.
 */
export class RangeLock {
  private constructor();
  /** Waits off the main thread. */
  lock(start: number | bigint, end: number | bigint, mode: PartMode, options?: WaitOptions): Promise<PartHeld>;
  /** Waits and blocks this thread. ERR_TURNLOCK_DEADLOCK where this object holds a part and the range is not free. */
  lockSync(start: number | bigint, end: number | bigint, mode: PartMode, options?: SyncWaitOptions): PartHeld;
  /** The part if that needs no waiting; else null. */
  tryLock(start: number | bigint, end: number | bigint, mode: PartMode): PartHeld | null;
  /** Calls `section` while it has the part, and unlocks. */
  withLock<Result>(
    start: number | bigint,
    end: number | bigint,
    mode: PartMode,
    section: (held: PartHeld) => Result | PromiseLike<Result>,
    options?: WaitOptions,
  ): Promise<Result>;
}
export interface RangeLock extends TellingLock {}

/** A lock for each key, which is any bytes; a string is its UTF-8. Keys need not be created. Each wait takes a slot. */
export class KeyedLock {
  private constructor();
  /** Waits off the main thread. */
  lock(key: string | Uint8Array, mode: PartMode, options?: WaitOptions): Promise<PartHeld>;
  /** Waits and blocks this thread. ERR_TURNLOCK_DEADLOCK where this object holds a part and the key is not free. */
  lockSync(key: string | Uint8Array, mode: PartMode, options?: SyncWaitOptions): PartHeld;
  /** The part if that needs no waiting; else null. */
  tryLock(key: string | Uint8Array, mode: PartMode): PartHeld | null;
  /** Calls `section` while it has the part, and unlocks. */
  withLock<Result>(
    key: string | Uint8Array,
    mode: PartMode,
    section: (held: PartHeld) => Result | PromiseLike<Result>,
    options?: WaitOptions,
  ): Promise<Result>;
}
export interface KeyedLock extends TellingLock {}

/** A part of a lock that is held. */
export class PartHeld {
  private constructor();
  readonly mode: PartMode;
}
export interface PartHeld extends TellingHolding {}

/**
 * A lock that any number of members of one group have together, and never two of different groups; first come first served. A
 * group is any number from 0 to 2^64 - 1 (a bigint beyond 2^53), and need not be created. Each wait takes a slot.
 *
 * A death is told to each member that enters afterwards, of whichever group, until one that was told has called `markConsistent`;
 * `unlock` without it closes nothing.
 */
export class GroupLock {
  private constructor();
  /** Enters as a member of the group. Waits off the main thread. */
  lock(group: number | bigint, options?: WaitOptions): Promise<MemberHeld>;
  /** Waits and blocks this thread. ERR_TURNLOCK_DEADLOCK where this object is inside and the group cannot enter at once. */
  lockSync(group: number | bigint, options?: SyncWaitOptions): MemberHeld;
  /** The place inside if that needs no waiting; else null. */
  tryLock(group: number | bigint): MemberHeld | null;
  /** Calls `section` inside, and unlocks; abandons the place if `section` throws. */
  withLock<Result>(
    group: number | bigint,
    section: (held: MemberHeld) => Result | PromiseLike<Result>,
    options?: WaitOptions,
  ): Promise<Result>;
}
export interface GroupLock extends TellingLock {}

/** A place inside a group lock. `markConsistent` is ERR_TURNLOCK_NOT_INCONSISTENT where another member has marked it before. */
export class MemberHeld {
  private constructor();
  readonly group: bigint;
}
export interface MemberHeld extends TellingHolding {}

/** A failure of turnlock; its message says which path, what was expected, what to do. */
export class TurnlockError extends Error {
  constructor(status: number, story: string);
  /** The number in turnlock.h: TURNLOCK_ERROR_... */
  readonly status: number;
  /** 'ERR_TURNLOCK_' and the name in turnlock.h, such as 'ERR_TURNLOCK_NOT_RECOVERABLE'. */
  readonly code: string;
}

/** The version of the library that is loaded, such as '0.1.0'. */
export const libraryVersion: string;
