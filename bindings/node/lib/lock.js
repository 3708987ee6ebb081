'use strict';
// What the exclusive kinds of lock have in common. Each open lock has a participant of its own, so that it may be waited for
// on another thread; those who wait for the same object stand in line here, as one.

const { acquiredRoom, check, decode, native, options, room, structs } = require('./native');
const { STATUS, TurnlockError, milliseconds, object, optional, wrongType } = require('./errors');
const { Held, failure, notOwner, participantInfo } = require('./held');
const { wait } = require('./waits');

const LONGEST_TIMER = 2 ** 31 - 1;

// Closes the handles of a lock that is garbage. One that is held stays open, until the process ends.
const garbage = new FinalizationRegistry(({ kind, handle, participant }) => {
  if (native.participant_close(participant) >= 0) native[`${kind}_close`](handle);
});

class ExclusiveLock {
  #kind;
  #handle;
  #participant;
  #held = null;
  // Those who wait here, first the one that waits in the library. Each is {resolve, reject, ended, end}.
  #line = [];
  #isInLibrary = false;
  #isClosed = false;

  // `handle` is an open lock of this kind, which this closes.
  constructor(kind, handle, file, label) {
    this.#kind = kind;
    this.#handle = handle;
    const participant = [0];
    const status = native.participant_open(file, options(structs.participantOptions, { label: label ?? null }), participant);
    try {
      check(status);
    } catch (error) {
      native[`${kind}_close`](handle);
      throw error;
    }
    this.#participant = participant[0];
    garbage.register(this, { kind, handle, participant: this.#participant }, this);
  }

  get held() {
    return this.#held;
  }

  async lock(given) {
    const { timeout, signal } = waitOptions(given);
    this.#checkOpen();
    signal?.throwIfAborted();
    return await new Promise((resolve, reject) => {
      const waiter = { resolve, reject, ended: null, timer: undefined, onAbort: undefined, signal };
      if (signal) {
        waiter.onAbort = () => this.#end(waiter, signal.reason);
        signal.addEventListener('abort', waiter.onAbort, { once: true });
      }
      this.#line.push(waiter);
      this.#next(timeout === 0 ? waiter : null);
      if (timeout !== 0 && Number.isFinite(timeout)) this.#limit(waiter, performance.now() + timeout);
    });
  }

  lockSync(given) {
    const { timeout, signal } = waitOptions(given);
    if (signal) throw new TurnlockError(STATUS.INVALID_ARGUMENT, 'a signal cannot end a wait that blocks this thread: use lock()');
    this.#checkOpen();
    if (this.#held || this.#line.length > 0) {
      throw new TurnlockError(STATUS.DEADLOCK, 'this object has the lock, or waits for it: blocking this thread would never end');
    }
    const acquired = acquiredRoom();
    const nanoseconds = timeout * 1e6;
    const status =
      nanoseconds < 2 ** 64
        ? native[`${this.#kind}_lock_for_as`](this.#handle, this.#participant, BigInt(Math.floor(nanoseconds)), acquired)
        : native[`${this.#kind}_lock_as`](this.#handle, this.#participant, acquired);
    return this.#taken(check(status), acquired);
  }

  tryLock() {
    this.#checkOpen();
    if (this.#held || this.#line.length > 0) return null;
    const acquired = acquiredRoom();
    const status = this.#tryInLibrary(acquired);
    return status === STATUS.WOULD_BLOCK ? null : this.#taken(check(status), acquired);
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
    const native_ = this.#ask('previous_owner', structs.previousOwner);
    return native_ && { label: native_.label, pid: native_.pid, thread: native_.thread, fencingToken: BigInt(native_.fencing_token) };
  }

  holder() {
    const native_ = this.#ask('holder', structs.participantInfo);
    return native_ && participantInfo(native_);
  }

  waiters() {
    this.#checkOpen();
    for (let capacity = 8; ; ) {
      const bytes = room(structs.participantInfo, capacity);
      const count = Buffer.alloc(8);
      check(native[`${this.#kind}_waiters`](this.#handle, capacity, bytes, count));
      const found = Number(count.readBigUInt64LE());
      if (found <= capacity) {
        return Array.from({ length: found }, (_, i) => participantInfo(decode(structs.participantInfo, bytes, i)));
      }
      capacity = found;
    }
  }

  close() {
    if (this.#isClosed) return;
    if (this.#held) throw new TurnlockError(STATUS.STILL_HELD, 'the lock is held: unlock it before it is closed');
    this.#isClosed = true;
    for (const waiter of [...this.#line]) this.#end(waiter, closed());
    if (!this.#isInLibrary) this.#closeHandles();
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

  #ask(question, struct) {
    this.#checkOpen();
    const bytes = room(struct);
    const status = native[`${this.#kind}_${question}`](this.#handle, bytes);
    if (status === STATUS.NOT_FOUND) return null;
    check(status);
    return decode(struct, bytes);
  }

  #tryInLibrary(acquired) {
    return native[`${this.#kind}_try_lock_as`](this.#handle, this.#participant, acquired);
  }

  #taken(status, acquired) {
    this.#held = new Held(this, (held, call) => this.#byHolder(held, call), status, acquired);
    return this.#held;
  }

  // What a Held does with its lock.
  #byHolder(held, call) {
    if (this.#held !== held) throw notOwner();
    const status = native[`${this.#kind}_${call}`](this.#handle, this.#participant);
    // An unlock that reports what happened to the file has unlocked.
    const isOver = status >= 0 || status === STATUS.DAMAGED || status === STATUS.REPLACED;
    if (isOver && (call === 'unlock_as' || call === 'abandon_as')) {
      this.#held = null;
      try {
        return check(status);
      } finally {
        this.#next(null);
      }
    }
    return check(status);
  }

  // Has the first in line take the lock. `impatient` is one that does not wait.
  #next(impatient) {
    if (impatient && (this.#held || this.#isInLibrary || this.#line[0] !== impatient)) {
      this.#end(impatient, timedOut());
      return;
    }
    const waiter = this.#line[0];
    if (!waiter || this.#held || this.#isInLibrary) return;
    const acquired = acquiredRoom();
    const status = this.#tryInLibrary(acquired);
    if (status === STATUS.WOULD_BLOCK && !impatient) {
      this.#waitInLibrary(waiter);
      return;
    }
    try {
      check(status === STATUS.WOULD_BLOCK ? STATUS.TIMED_OUT : status);
      this.#leaveLine(waiter);
      waiter.resolve(this.#taken(status, acquired));
    } catch (error) {
      this.#leaveLine(waiter);
      waiter.reject(status === STATUS.WOULD_BLOCK ? timedOut() : error);
      this.#next(null);
    }
  }

  async #waitInLibrary(waiter) {
    this.#isInLibrary = true;
    let answer;
    try {
      answer = await wait(`${this.#kind}_lock_as`, this.#handle, this.#participant);
    } catch (error) {
      // The thread could not be started.
      answer = { status: STATUS.SYSTEM, story: error.message };
    }
    this.#isInLibrary = false;
    // A cancel that came too late for this wait is not for the next one.
    native.participant_clear_cancel(this.#participant);
    this.#leaveLine(waiter);
    if (waiter.ended) {
      // It came all the same. Who died before is still to be told of.
      if (answer.status >= 0) {
        const call = answer.status > 0 ? 'abandon_as' : 'unlock_as';
        native[`${this.#kind}_${call}`](this.#handle, this.#participant);
      }
      waiter.reject(waiter.ended.reason);
    } else if (answer.status < 0) {
      waiter.reject(failure(answer.status, answer.story));
    } else {
      waiter.resolve(this.#taken(answer.status, answer.acquired));
    }
    if (this.#isClosed) this.#closeHandles();
    else this.#next(null);
  }

  // Ends a wait: at once, or when the library has let go of it, so that nothing of it is left in the queue then.
  #end(waiter, reason) {
    if (waiter.ended || !this.#line.includes(waiter)) return;
    waiter.ended = { reason };
    if (this.#isInLibrary && this.#line[0] === waiter) {
      native.participant_cancel(this.#participant);
    } else {
      this.#leaveLine(waiter);
      waiter.reject(reason);
    }
  }

  #leaveLine(waiter) {
    this.#line.splice(this.#line.indexOf(waiter), 1);
    clearTimeout(waiter.timer);
    waiter.signal?.removeEventListener('abort', waiter.onAbort);
  }

  #limit(waiter, end) {
    if (!this.#line.includes(waiter)) return;
    const left = end - performance.now();
    if (left <= 0) this.#end(waiter, timedOut());
    else waiter.timer = setTimeout(() => this.#limit(waiter, end), Math.min(left, LONGEST_TIMER));
  }
}

function closed() {
  return new TurnlockError(STATUS.CLOSED, 'the lock is closed: open it again');
}

function timedOut() {
  return new TurnlockError(STATUS.TIMED_OUT, 'the time limit passed before the turn came');
}

function waitOptions(given) {
  const options = object('the options of a wait', given, ['timeout', 'signal']);
  const { signal } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw wrongType('options.signal', 'an AbortSignal', signal);
  return { timeout: optional(options, 'timeout', Infinity, milliseconds), signal };
}

module.exports = { ExclusiveLock };
