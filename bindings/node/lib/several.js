'use strict';
// What the kinds have in common that several may hold at once by one object. Each holding has a participant of its own, which a
// later one uses again. Only the first in line waits in the library, so that a crowd takes one slot more than those inside; of
// locks of parts each waits there, since who waits for one part is in nobody's way who wants another.

const { CONTENDED, OWNER_DEAD, acquiredRoom, check, native, openParticipant } = require('./native');
const { STATUS, TurnlockError, waitOptions } = require('./errors');
const { listed } = require('./held');
const { Line } = require('./line');
const { deathPolicyOf } = require('./settings');
const { closed } = require('./lock');
const { wait } = require('./waits');

// Closes the handles of a lock that is garbage. One that is held stays open, until the process ends.
const garbage = new FinalizationRegistry((state) => state.close());

// The handles: what is left of a lock that is garbage.
class State {
  constructor(kind, handle, file, label) {
    Object.assign(this, { kind, handle, file, label, idle: [], held: 0 });
    file.keep();
  }

  participant() {
    return this.idle.pop() ?? openParticipant(this.file.handle, this.label);
  }

  close() {
    if (this.held > 0) return;
    for (const participant of this.idle) native.participant_close(participant);
    native[`${this.kind}_close`](this.handle);
    this.file.drop();
  }
}

// A lock that is held. ERR_TURNLOCK_NOT_OWNER once it is let go.
class Hold {
  #state;
  #onFree;
  #participant;
  #acquired;
  #ownerDied;
  #isUpgrading = false;

  constructor(state, onFree, participant, status, acquired) {
    this.#state = state;
    this.#onFree = onFree;
    this.#participant = participant;
    this.#took(status, acquired);
  }

  get fencingToken() {
    return this.#acquired.readBigUInt64LE(8);
  }

  get ownerDied() {
    return this.#ownerDied;
  }

  get deadOwner() {
    if (!this.#ownerDied) return null;
    return { pid: this.#acquired.readUInt32LE(24), fencingToken: this.#acquired.readBigUInt64LE(16) };
  }

  // For the kinds: what a holder's death means for its lock.
  lockPolicy() {
    return deathPolicyOf((policy) => native[`${this.#state.kind}_death_policy`](this.#state.handle, policy));
  }

  get isHeld() {
    return this.#participant !== null;
  }

  isContended() {
    return check(this.native('is_contended_as')) === CONTENDED;
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    if (this.isHeld) this.letGo(this.constructor.unlockCall, ...this.unlockArguments());
  }

  // For the kinds: what their unlock is called with.
  unlockArguments() {
    return [];
  }

  // The status of a function of the library that has the lock and its participant.
  native(call, ...others) {
    if (this.#participant === null || this.#isUpgrading) {
      throw new TurnlockError(STATUS.NOT_OWNER, this.#isUpgrading ? 'it waits for its upgrade' : 'it was let go before');
    }
    return native[`${this.#state.kind}_${call}`](this.#state.handle, this.#participant, ...others);
  }

  // Lets go of the lock wholly, by that function.
  letGo(call, ...others) {
    const status = this.native(call, ...others);
    // An unlock that reports what happened to the file has unlocked.
    if (status < 0 && status !== STATUS.DAMAGED && status !== STATUS.REPLACED) check(status);
    this.#state.idle.push(this.#participant);
    this.#state.held--;
    this.#participant = null;
    try {
      check(status);
    } finally {
      this.#onFree();
    }
  }

  // More of the lock, at once. Whether it was taken.
  tryMore(call) {
    const acquired = acquiredRoom();
    const status = this.native(call, acquired);
    if (status === STATUS.WOULD_BLOCK) return false;
    this.#took(check(status), acquired);
    return true;
  }

  // More of the lock, waiting for it on another thread.
  async more(call, given) {
    const { timeout, signal } = waitOptions(given);
    signal?.throwIfAborted();
    if (this.tryMore(`try_${call}`)) return;
    const participant = this.#participant;
    let ended = null;
    const end = (reason) => {
      ended ??= { reason };
      native.participant_cancel(participant);
    };
    const onAbort = () => end(signal.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const late = () => end(new TurnlockError(STATUS.TIMED_OUT, 'the time limit passed before the readers had left'));
    const timer = timeout < 2 ** 31 ? setTimeout(late, timeout) : undefined;
    this.#isUpgrading = true;
    try {
      const { status, story, acquired } = await wait(`${this.#state.kind}_${call}`, this.#state.handle, participant, []);
      if (status >= 0) this.#took(status, acquired);
      else throw ended && status === STATUS.CANCELLED ? ended.reason : new TurnlockError(status, story);
    } finally {
      this.#isUpgrading = false;
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
      native.participant_clear_cancel(participant);
    }
  }

  #took(status, acquired) {
    this.#acquired = acquired;
    this.#ownerDied = status === OWNER_DEAD;
  }
}

// Entries are {call, arguments, Hold, details, participant}: the function of the library without its try_, _for and _as, what
// it is called with besides, and what becomes of it.
class SeveralLock {
  #state;
  #isClosed = false;
  #isOfParts;
  // Of a lock of parts a line for each that waits; else one.
  #lines = new Set();

  constructor(kind, handle, file, label, { isOfParts = false } = {}) {
    this.#state = new State(kind, handle, file, label);
    this.#isOfParts = isOfParts;
    if (!isOfParts) this.#lines.add(this.#newLine());
    garbage.register(this, this.#state, this);
  }

  waiters() {
    this.checkOpen();
    return listed((...places) => native[`${this.#state.kind}_waiters`](this.#state.handle, ...places));
  }

  holders() {
    this.checkOpen();
    return listed((...places) => native[`${this.#state.kind}_holders`](this.#state.handle, ...places));
  }

  close() {
    if (this.#isClosed) return;
    if (this.#state.held > 0) throw new TurnlockError(STATUS.STILL_HELD, 'the lock is held: let go of it before it is closed');
    this.#isClosed = true;
    for (const line of this.#lines) line.endAll(closed());
    this.#closeIfLeft();
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    this.close();
  }

  checkOpen() {
    if (this.#isClosed) throw closed();
  }

  // For the kinds: calls a function of the library with the handle.
  call(name, ...others) {
    this.checkOpen();
    return native[`${this.#state.kind}_${name}`](this.#state.handle, ...others);
  }

  async take(entry, given) {
    const options = waitOptions(given);
    this.checkOpen();
    options.signal?.throwIfAborted();
    const line = this.#isOfParts ? this.#newLine() : this.#onlyLine;
    this.#lines.add(line);
    try {
      return await line.join(entry, options);
    } finally {
      if (this.#isOfParts) this.#lines.delete(line);
    }
  }

  takeNow(entry) {
    this.checkOpen();
    return this.#isOfParts || this.#onlyLine.isEmpty ? this.#tryTake(entry, this.#onlyLine) : null;
  }

  takeBlocking(entry, given) {
    const { nanoseconds } = waitOptions(given, { blocks: true });
    const held = this.takeNow(entry);
    if (held) return held;
    if (this.#state.held > 0 || [...this.#lines].some((line) => !line.isEmpty)) {
      throw new TurnlockError(
        STATUS.DEADLOCK,
        'this object has the lock, or waits for it: blocking this thread might never end',
      );
    }
    const acquired = acquiredRoom();
    const participant = this.#state.participant();
    const { kind, handle } = this.#state;
    const status =
      nanoseconds === null
        ? native[`${kind}_${entry.call}_as`](handle, participant, ...entry.arguments, acquired)
        : native[`${kind}_${entry.call}_for_as`](handle, participant, ...entry.arguments, nanoseconds, acquired);
    return this.#checkTaken({ ...entry, participant }, status, acquired, this.#onlyLine);
  }

  get #onlyLine() {
    return this.#isOfParts ? null : this.#lines.values().next().value;
  }

  #newLine() {
    const line = new Line({
      mayTry: () => !this.#isClosed,
      tryTake: (entry) => this.#tryTake(entry, line),
      wait: (entry) => {
        entry.participant = this.#state.participant();
        return wait(`${this.#state.kind}_${entry.call}_as`, this.#state.handle, entry.participant, entry.arguments);
      },
      cancel: (entry) => native.participant_cancel(entry.participant),
      taken: (entry, { status, acquired }) => this.#taken(entry, status, acquired, line),
      failed: (entry) => {
        native.participant_clear_cancel(entry.participant);
        this.#state.idle.push(entry.participant);
      },
      giveBack: (entry, { status, acquired }) => this.#taken(entry, status, acquired, line).giveBack(),
      left: () => this.#closeIfLeft(),
    });
    return line;
  }

  #tryTake(entry, line) {
    const acquired = acquiredRoom();
    const participant = this.#state.participant();
    const { kind, handle } = this.#state;
    const status = native[`${kind}_try_${entry.call}_as`](handle, participant, ...entry.arguments, acquired);
    if (status === STATUS.WOULD_BLOCK) {
      this.#state.idle.push(participant);
      return null;
    }
    return this.#checkTaken({ ...entry, participant }, status, acquired, line);
  }

  #checkTaken(entry, status, acquired, line) {
    if (status < 0) this.#state.idle.push(entry.participant);
    return this.#taken(entry, check(status), acquired, line);
  }

  #taken(entry, status, acquired, line) {
    native.participant_clear_cancel(entry.participant);
    this.#state.held++;
    const onFree = () => line?.next();
    return new entry.Hold(this.#state, onFree, entry.participant, status, acquired, entry.details);
  }

  // Of a lock that is closed, when nobody waits in the library any more.
  #closeIfLeft() {
    if (!this.#isClosed || [...this.#lines].some((line) => line.isInLibrary)) return;
    garbage.unregister(this);
    this.#state.close();
  }
}

module.exports = { Hold, SeveralLock };
