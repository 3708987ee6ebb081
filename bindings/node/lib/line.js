'use strict';
// Those in this process who wait for a lock by the same object, in order. The first of them tries, and waits in the library on
// another thread; the others wait for it here.

const { TurnlockError, STATUS } = require('./errors');

const LONGEST_TIMER = 2 ** 31 - 1;

class Line {
  #owner;
  // Each is {entry, resolve, reject, ended, timer, onAbort, signal}.
  #waiters = [];
  #isInLibrary = false;

  // The owner, an open lock:
  //   mayTry()              whether the first in line may have the lock, as far as this object knows
  //   tryTake(entry)        what is held then; null if that needs a wait
  //   wait(entry)           a promise of {status, story, acquired}: what the library says
  //   cancel(entry)         ends that wait
  //   taken(entry, answer)  what is held then
  //   failed(entry)         it is not taken
  //   giveBack(entry, answer) it was taken, and nobody wants it any more
  //   left()                a wait in the library is over
  constructor(owner) {
    this.#owner = owner;
  }

  get isEmpty() {
    return this.#waiters.length === 0;
  }

  get isInLibrary() {
    return this.#isInLibrary;
  }

  join(entry, { timeout, signal }) {
    return new Promise((resolve, reject) => {
      const waiter = { entry, resolve, reject, ended: null, timer: undefined, onAbort: undefined, signal };
      if (signal) {
        waiter.onAbort = () => this.#end(waiter, signal.reason);
        signal.addEventListener('abort', waiter.onAbort, { once: true });
      }
      this.#waiters.push(waiter);
      this.next(timeout === 0 ? waiter : null);
      if (timeout !== 0 && Number.isFinite(timeout)) this.#limit(waiter, performance.now() + timeout);
    });
  }

  // Has the first in line take the lock. `impatient` is one that does not wait.
  next(impatient = null) {
    const waiter = this.#waiters[0];
    if (!waiter || this.#isInLibrary || !this.#owner.mayTry() || (impatient && impatient !== waiter)) {
      if (impatient) this.#end(impatient, timedOut());
      return;
    }
    let held;
    try {
      held = this.#owner.tryTake(waiter.entry);
    } catch (error) {
      this.#leave(waiter);
      waiter.reject(error);
      this.next();
      return;
    }
    if (held) {
      this.#leave(waiter);
      waiter.resolve(held);
      this.next();
    } else if (impatient) {
      this.#end(impatient, timedOut());
    } else {
      this.#waitInLibrary(waiter);
    }
  }

  endAll(reason) {
    for (const waiter of [...this.#waiters]) this.#end(waiter, reason);
  }

  async #waitInLibrary(waiter) {
    this.#isInLibrary = true;
    const { entry } = waiter;
    let answer;
    try {
      answer = await this.#owner.wait(entry);
    } catch (error) {
      // The thread could not be started.
      answer = { status: STATUS.SYSTEM, story: error.message };
    }
    this.#isInLibrary = false;
    this.#leave(waiter);
    if (answer.status < 0) this.#owner.failed(entry);
    else if (waiter.ended) this.#owner.giveBack(entry, answer);
    if (waiter.ended) waiter.reject(waiter.ended.reason);
    else if (answer.status < 0) waiter.reject(new TurnlockError(answer.status, answer.story));
    else waiter.resolve(this.#owner.taken(entry, answer));
    this.#owner.left();
    this.next();
  }

  // Ends a wait: at once, or when the library has let go of it, so that nothing of it is left in the queue then.
  #end(waiter, reason) {
    if (waiter.ended || !this.#waiters.includes(waiter)) return;
    waiter.ended = { reason };
    if (this.#isInLibrary && this.#waiters[0] === waiter) {
      this.#owner.cancel(waiter.entry);
    } else {
      this.#leave(waiter);
      waiter.reject(reason);
    }
  }

  #leave(waiter) {
    this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
    clearTimeout(waiter.timer);
    waiter.signal?.removeEventListener('abort', waiter.onAbort);
  }

  #limit(waiter, end) {
    if (!this.#waiters.includes(waiter)) return;
    const left = end - performance.now();
    if (left <= 0) this.#end(waiter, timedOut());
    else waiter.timer = setTimeout(() => this.#limit(waiter, end), Math.min(left, LONGEST_TIMER));
  }
}

function timedOut() {
  return new TurnlockError(STATUS.TIMED_OUT, 'the time limit passed before the turn came');
}

module.exports = { Line };
