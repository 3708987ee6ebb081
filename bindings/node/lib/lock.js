'use strict';
// What locks of every kind have in common. Each acquisition has a hold of its own (a slot in the file), so that it may be waited
// for on another thread. Callers that wait by the same object stand in line here, and only the first of them waits in
// the library, so that a crowd takes one slot more than those inside; of locks of parts, and of groups, each waits there, since a
// waiter for one part does not hinder a caller that wants another.

const { check, native, openHold, openLock } = require('./native');
const { STATUS, TurnlockError, name, waitOptions, wrongType } = require('./errors');
const { Acquisition } = require('./acquisition');
const { inside } = require('./held');
const { Line } = require('./line');
const { OpenFile } = require('./openfile');
const { deadOwner, listed } = require('./participants');
const { POLICIES } = require('./settings');
const { oneOf, timedOut } = require('./waits');

// Closes the handles of a lock that is garbage. One that is held stays open, until the process ends.
const garbage = new FinalizationRegistry((handles) => handles.close());

// The handles: what is left of a lock that is garbage.
class Handles {
  // What is held of it.
  held = new Set();
  // What waits at a condition, and will be held again.
  away = new Set();
  // Of a lock of one, which keeps its place in a ring by it, and a mutex biased to it; and where a label is asked for, since those
  // that the library keeps have none: the hold that stays open.
  #kept = null;
  #isKeptInUse = false;

  constructor(kind, lock, file, { label, slot, isOfOne }) {
    Object.assign(this, { kind, lock, file, label, slot, isOfOne });
    file.keep();
  }

  get kept() {
    return this.#kept;
  }

  openHold() {
    if (this.#kept !== null && this.#isKeptInUse) return openHold(this.file.handle, this.label, null);
    const hold = this.#kept ?? openHold(this.file.handle, this.label, this.slot);
    if (this.isOfOne || this.label !== null) {
      this.#kept = hold;
      this.#isKeptInUse = true;
    }
    return hold;
  }

  closeHold(hold) {
    if (hold === this.#kept) this.#isKeptInUse = false;
    else native.hold_close(hold);
  }

  close() {
    if (this.held.size + this.away.size > 0) return;
    if (this.#kept !== null) native.hold_close(this.#kept);
    native[`${this.kind}_close`](this.lock);
    this.file.drop();
  }
}

class Lock {
  #handles;
  #Held;
  #isClosed = false;
  #isOfParts;
  // Of a lock of parts a line for each that waits; else one.
  #lines = new Set();

  // Opens the lock of this kind and name as the members of its options say. `Held` is what an acquisition becomes. `isOfOne`: one
  // at a time holds it; `isOfParts`: each holds a part.
  constructor(kind, file, lockName, members, { label, slot = null, Held, isOfOne = false, isOfParts = false }) {
    const lock = openLock(kind, OpenFile.handleOf(file), name(lockName), members);
    this.#handles = new Handles(kind, lock, file, { label, slot, isOfOne });
    this.#Held = Held;
    this.#isOfParts = isOfParts;
    if (!isOfParts) this.#lines.add(this.#newLine());
    garbage.register(this, this.#handles, this);
  }

  waiters() {
    return listed(this.#handles.kind, (...places) => this.call('lock_waiters', ...places));
  }

  holders() {
    return listed(this.#handles.kind, (...places) => this.call('lock_holders', ...places));
  }

  close() {
    if (this.#isClosed) return;
    if (this.#handles.held.size + this.#handles.away.size > 0) {
      throw new TurnlockError(STATUS.STILL_HELD, 'the lock is held, or waited with at a condition: unlock it before it is closed');
    }
    this.#isClosed = true;
    for (const line of this.#lines) line.endAll(closed());
    this.#closeIfLeft();
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    this.close();
  }

  // The rest is for the kinds. A request is the members of a turnlock_request that say what is wanted.
  async take(request, given) {
    const options = waitOptions(given);
    this.checkOpen();
    options.signal?.throwIfAborted();
    const line = this.#isOfParts ? this.#newLine() : this.#onlyLine;
    this.#lines.add(line);
    try {
      return await line.join(this.#acquisition(request, line), options);
    } finally {
      if (this.#isOfParts) this.#lines.delete(line);
    }
  }

  takeNow(request) {
    this.checkOpen();
    const line = this.#onlyLine;
    if (line && !(line.isEmpty && this.#mayTry())) return null;
    const acquisition = this.#acquisition(request, line);
    const held = acquisition.tryNow();
    if (held === null) acquisition.drop();
    return held;
  }

  takeBlocking(request, given) {
    const { nanoseconds } = waitOptions(given, { blocks: true });
    this.checkOpen();
    if (this.#handles.held.size > 0 || this.isAwaited) {
      const held = this.takeNow(request);
      if (held) return held;
      const story = 'this object has the lock, or waits for it: blocking this thread might never end';
      throw new TurnlockError(STATUS.DEADLOCK, story);
    }
    return this.#acquisition(request, this.#onlyLine).block(nanoseconds);
  }

  async takeInside(request, section, given) {
    if (typeof section !== 'function') throw wrongType('the section', 'a function', section);
    return await inside(await this.take(request, given), section);
  }

  // The status of a function of the library that is called with the lock.
  call(name, ...others) {
    this.checkOpen();
    return native[name](this.#handles.lock, ...others);
  }

  checkOpen() {
    if (this.#isClosed) throw closed();
  }

  // Of a lock of one: what is held of it, if it is.
  get only() {
    const [held] = this.#handles.held;
    return held ?? null;
  }

  // Of a lock of one: the status of a function of the library that is called with its hold, once it was taken, and the lock.
  callKept(name) {
    this.checkOpen();
    const { kept, lock } = this.#handles;
    return kept === null ? 0 : native[name](kept, lock);
  }

  // Whether a promise waits for it by this object.
  get isAwaited() {
    return this.#handles.away.size > 0 || [...this.#lines].some((line) => !line.isEmpty);
  }

  get #onlyLine() {
    return this.#isOfParts ? null : this.#lines.values().next().value;
  }

  #newLine() {
    return new Line(
      () => this.#mayTry(),
      () => this.#closeIfLeft(),
      // Other holders of a lock of parts may have what no caller waits for here.
      (acquisition) => (this.#isOfParts ? acquisition.refusedBy() : oneOf(this.holders())),
    );
  }

  #mayTry() {
    return !this.#isClosed && !(this.#handles.isOfOne && this.#handles.held.size > 0);
  }

  #acquisition(request, line) {
    const freed = () => line?.next();
    return new Acquisition({ handles: this.#handles, lock: this, Held: this.#Held, request, freed });
  }

  // Of a lock that is closed, when no call waits in the library any more.
  #closeIfLeft() {
    if (!this.#isClosed || [...this.#lines].some((line) => line.isInLibrary)) return;
    garbage.unregister(this);
    this.#handles.close();
  }
}

// Of the kinds whose next holder is told of a death.
class TellingLock extends Lock {
  get deathPolicy() {
    const bytes = Buffer.alloc(4);
    check(this.call('lock_death_policy', bytes));
    return POLICIES[bytes.readUInt32LE()] ?? 'unknown';
  }

  previousOwner() {
    return deadOwner((owner) => this.call('lock_previous_owner', owner));
  }

  // On this thread, since it does not wait: it asks again and again.
  async reset(given) {
    const { timeout, signal } = waitOptions(given);
    const limit = performance.now() + timeout;
    for (;;) {
      signal?.throwIfAborted();
      const status = this.call('lock_try_reset');
      if (status !== STATUS.WOULD_BLOCK) {
        check(status);
        return;
      }
      if (performance.now() >= limit) throw timedOut(() => oneOf(this.holders()));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

function closed() {
  return new TurnlockError(STATUS.CLOSED, 'the lock is closed: open it again');
}

module.exports = { Lock, TellingLock };
