'use strict';
// One acquisition, of whatever kind of lock: the hold that it belongs to, and what it asks for.

const { WAITS, acquiredRoom, check, filled, lastErrorMessage, native, structs } = require('./native');
const { STATUS, TurnlockError } = require('./errors');
const { wait } = require('./waits');

class Acquisition {
  #by;
  #hold = null;

  // `by` is {handles, request, Held, freed, lock}: whose hold it is, members of a turnlock_request, what becomes of it, and what
  // is called when it is over.
  constructor(by) {
    this.#by = by;
  }

  // What is held; null if that needs a wait.
  tryNow() {
    const acquired = acquiredRoom();
    const status = native.hold_acquire(this.#open(), this.#request({ wait: WAITS.NEVER }), acquired);
    return status === STATUS.WOULD_BLOCK ? null : this.#checkTaken(status, acquired);
  }

  // The same after a wait that blocks this thread.
  block(nanoseconds) {
    const limit = nanoseconds === null ? { wait: WAITS.FOREVER } : { wait: WAITS.AT_MOST, time_ns: nanoseconds };
    const acquired = acquiredRoom();
    return this.#checkTaken(native.hold_acquire(this.#open(), this.#request(limit), acquired), acquired);
  }

  // The same, waiting on another thread.
  async wait() {
    const { status, story, acquired } = await wait('hold_acquire', this.#open(), this.#request({ wait: WAITS.FOREVER }));
    if (status >= 0) return this.#taken(status, acquired);
    this.drop();
    throw new TurnlockError(status, story);
  }

  // Who has what it asks for, as a sentence; '' if it is to be had. Asked by a try of its own.
  refusedBy() {
    const hold = this.#by.handles.openHold();
    try {
      const status = native.hold_acquire(hold, this.#request({ wait: WAITS.NEVER }), acquiredRoom());
      if (status === STATUS.WOULD_BLOCK) return lastErrorMessage().replace(/^.*?: /, '');
      if (status >= 0) native.hold_release(hold);
      return '';
    } finally {
      this.#by.handles.closeHold(hold);
    }
  }

  cancel() {
    native.hold_cancel(this.#hold);
  }

  // It was not taken, and is not wanted any more.
  drop() {
    if (this.#hold !== null) this.#by.handles.closeHold(this.#hold);
    this.#hold = null;
  }

  #open() {
    return (this.#hold ??= this.#by.handles.openHold());
  }

  #request(limit) {
    return filled(structs.request, { lock: this.#by.handles.lock, ...this.#by.request, ...limit });
  }

  #checkTaken(status, acquired) {
    try {
      return this.#taken(check(status), acquired);
    } catch (error) {
      this.drop();
      throw error;
    }
  }

  #taken(status, acquired) {
    const hold = this.#hold;
    this.#hold = null;
    return new this.#by.Held(this.#by, hold, status, acquired);
  }
}

module.exports = { Acquisition };
