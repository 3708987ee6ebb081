'use strict';
// Those in this process that wait for a lock by the same object, in order. The first of them tries, and waits in
// the library on another thread; the others wait for it here.

const { Ending, timedOut } = require('./waits');

class Line {
  #mayTry;
  #left;
  #holders;
  // Each is {acquisition, resolve, reject, ended, ending}.
  #waiters = [];
  #isInLibrary = false;

  // mayTry()  whether the first in line may have the lock, as far as its object knows
  // left()    a wait in the library is over
  // holders(acquisition) who has what it wants, for the text of a time-out
  constructor(mayTry, left, holders) {
    this.#mayTry = mayTry;
    this.#left = left;
    this.#holders = holders;
  }

  get isEmpty() {
    return this.#waiters.length === 0;
  }

  get isInLibrary() {
    return this.#isInLibrary;
  }

  join(acquisition, options) {
    return new Promise((resolve, reject) => {
      const waiter = { acquisition, resolve, reject, ended: null, ending: null };
      this.#waiters.push(waiter);
      if (options.timeout === 0) {
        this.next(waiter);
      } else {
        waiter.ending = new Ending(options, (reason) => this.#end(waiter, reason), () => this.#holders(acquisition));
        this.next();
      }
    });
  }

  // Has the first in line take the lock. `impatient` is one that does not wait.
  next(impatient = null) {
    const waiter = this.#waiters[0];
    if (!waiter || this.#isInLibrary || !this.#mayTry() || (impatient && impatient !== waiter)) {
      if (impatient) this.#end(impatient, timedOut(() => this.#holders(impatient.acquisition)));
      return;
    }
    let held;
    try {
      held = waiter.acquisition.tryNow();
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
      this.#end(impatient, timedOut(() => this.#holders(impatient.acquisition)));
    } else {
      this.#waitInLibrary(waiter);
    }
  }

  endAll(reason) {
    for (const waiter of [...this.#waiters]) this.#end(waiter, reason);
  }

  async #waitInLibrary(waiter) {
    this.#isInLibrary = true;
    const { held, error } = await waiter.acquisition.wait().then(
      (held) => ({ held }),
      (error) => ({ error }),
    );
    this.#isInLibrary = false;
    this.#leave(waiter);
    if (waiter.ended) {
      try {
        held?.giveBack();
      } catch {
        // It is given back all the same. What happened to the file, the next one is told.
      }
      waiter.reject(waiter.ended.reason);
    } else if (held) {
      waiter.resolve(held);
    } else {
      waiter.reject(error);
    }
    this.#left();
    this.next();
  }

  // Ends a wait: at once, or when the library has let go of it, so that nothing of it is left in the queue then.
  #end(waiter, reason) {
    if (waiter.ended || !this.#waiters.includes(waiter)) return;
    waiter.ended = { reason };
    if (this.#isInLibrary && this.#waiters[0] === waiter) {
      waiter.acquisition.cancel();
    } else {
      this.#leave(waiter);
      waiter.acquisition.drop();
      waiter.reject(reason);
    }
  }

  #leave(waiter) {
    this.#waiters.splice(this.#waiters.indexOf(waiter), 1);
    waiter.ending?.clear();
  }
}

module.exports = { Line };
