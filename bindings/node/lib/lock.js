'use strict';
// What the exclusive kinds of lock have in common. Each open lock has a participant of its own, so that it may be waited for
// on another thread; those who wait for the same object stand in line here, as one.

const { acquiredRoom, check, decode, native, openParticipant, room, structs } = require('./native');
const { STATUS, TurnlockError, waitOptions, wrongType } = require('./errors');
const { Held, deadOwner, listed, participantInfo } = require('./held');
const { Line } = require('./line');
const { deathPolicyOf, warnOfClosed } = require('./settings');
const { wait } = require('./waits');

// Closes the handles of a lock that is garbage. One that is held stays open, until the process ends.
const garbage = new FinalizationRegistry(({ kind, handle, participant }) => {
  if (native.participant_close(participant) >= 0) native[`${kind}_close`](handle);
});

class ExclusiveLock {
  #kind;
  #handle;
  #participant;
  #held = null;
  // The same, once what a dead one left is marked consistent.
  #marked = null;
  #isClosed = false;
  #line = new Line({
    mayTry: () => !this.#held && !this.#isClosed,
    tryTake: () => this.#tryTake(),
    wait: () => wait(`${this.#kind}_lock_as`, this.#handle, this.#participant, []),
    cancel: () => native.participant_cancel(this.#participant),
    taken: (_, { status, acquired }) => this.#taken(status, acquired),
    failed: () => {},
    giveBack: (_, { status }) => this.#giveBack(status),
    left: () => {
      // A cancel that came too late for a wait is not for the next one.
      native.participant_clear_cancel(this.#participant);
      if (this.#isClosed) this.#closeHandles();
    },
  });

  // `handle` is an open lock of this kind, which this closes.
  constructor(kind, handle, file, label) {
    this.#kind = kind;
    this.#handle = handle;
    try {
      this.#participant = openParticipant(file.handle, label);
    } catch (error) {
      native[`${kind}_close`](handle);
      throw error;
    }
    garbage.register(this, { kind, handle, participant: this.#participant }, this);
  }

  get held() {
    return this.#held;
  }

  get deathPolicy() {
    this.#checkOpen();
    return deathPolicyOf((policy) => native[`${this.#kind}_death_policy`](this.#handle, policy));
  }

  async lock(given) {
    const options = waitOptions(given);
    this.#checkOpen();
    options.signal?.throwIfAborted();
    return await this.#line.join(null, options);
  }

  lockSync(given) {
    const { nanoseconds } = waitOptions(given, { blocks: true });
    this.#checkOpen();
    if (this.#held || !this.#line.isEmpty) {
      throw new TurnlockError(STATUS.DEADLOCK, 'this object has the lock, or waits for it: blocking this thread would never end');
    }
    const acquired = acquiredRoom();
    const status =
      nanoseconds === null
        ? native[`${this.#kind}_lock_as`](this.#handle, this.#participant, acquired)
        : native[`${this.#kind}_lock_for_as`](this.#handle, this.#participant, nanoseconds, acquired);
    return this.#taken(check(status), acquired);
  }

  tryLock() {
    this.#checkOpen();
    return this.#held || !this.#line.isEmpty ? null : this.#tryTake();
  }

  async withLock(section, given) {
    if (typeof section !== 'function') throw wrongType('the section', 'a function', section);
    const held = await this.lock(given);
    let result;
    try {
      result = await section(held);
    } catch (error) {
      // The data may be half-done: the next holder is told.
      if (this.#held === held) held.abandon();
      throw error;
    }
    if (this.#held === held) held.unlock();
    return result;
  }

  async reset(given) {
    const { timeout, signal } = waitOptions(given);
    const limit = performance.now() + timeout;
    for (;;) {
      signal?.throwIfAborted();
      this.#checkOpen();
      const status = native[`${this.#kind}_reset_for`](this.#handle, 0);
      if (status !== STATUS.TIMED_OUT || performance.now() >= limit) {
        check(status);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  previousOwner() {
    this.#checkOpen();
    return deadOwner((owner) => native[`${this.#kind}_previous_owner`](this.#handle, owner));
  }

  holder() {
    this.#checkOpen();
    const bytes = room(structs.participantInfo);
    const status = native[`${this.#kind}_holder`](this.#handle, bytes);
    if (status === STATUS.NOT_FOUND) return null;
    check(status);
    return participantInfo(decode(structs.participantInfo, bytes));
  }

  waiters() {
    this.#checkOpen();
    return listed((...places) => native[`${this.#kind}_waiters`](this.#handle, ...places));
  }

  close() {
    if (this.#isClosed) return;
    if (this.#held) throw new TurnlockError(STATUS.STILL_HELD, 'the lock is held: unlock it before it is closed');
    this.#isClosed = true;
    this.#line.endAll(closed());
    if (!this.#line.isInLibrary) this.#closeHandles();
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    this.close();
  }

  // For the kinds: calls a function of the library with the handle.
  call(name, ...others) {
    this.#checkOpen();
    return check(native[name](this.#handle, ...others));
  }

  // The same with the participant.
  callAs(name, ...others) {
    return this.call(name, this.#participant, ...others);
  }

  #checkOpen() {
    if (this.#isClosed) throw closed();
  }

  #closeHandles() {
    garbage.unregister(this);
    native.participant_close(this.#participant);
    native[`${this.#kind}_close`](this.#handle);
  }

  #tryTake() {
    const acquired = acquiredRoom();
    const status = native[`${this.#kind}_try_lock_as`](this.#handle, this.#participant, acquired);
    return status === STATUS.WOULD_BLOCK ? null : this.#taken(check(status), acquired);
  }

  #taken(status, acquired) {
    this.#held = new Held(this, (held, call) => this.#byHolder(held, call), status, acquired);
    return this.#held;
  }

  // It came in spite of a cancel. Who died before is still to be told of.
  #giveBack(status) {
    const call = status > 0 ? 'abandon_as' : 'unlock_as';
    native[`${this.#kind}_${call}`](this.#handle, this.#participant);
  }

  // What a Held does with its lock.
  #byHolder(held, call) {
    if (this.#held !== held) throw new TurnlockError(STATUS.NOT_OWNER, 'this lock was unlocked before');
    const closes = call === 'unlock_as' && held.ownerDied && this.#marked !== held && this.deathPolicy === 'inform';
    const status = native[`${this.#kind}_${call}`](this.#handle, this.#participant);
    // An unlock that reports what happened to the file has unlocked.
    const isOver = status >= 0 || status === STATUS.DAMAGED || status === STATUS.REPLACED;
    if (call === 'mark_consistent_as' && status >= 0) this.#marked = held;
    if (!isOver || (call !== 'unlock_as' && call !== 'abandon_as')) return check(status);
    this.#held = this.#marked = null;
    if (closes) warnOfClosed();
    try {
      return check(status);
    } finally {
      this.#line.next();
    }
  }
}

function closed() {
  return new TurnlockError(STATUS.CLOSED, 'the lock is closed: open it again');
}

module.exports = { ExclusiveLock, closed };
