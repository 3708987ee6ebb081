'use strict';
// What is done once. In the library it is a thread that does it. So each work by a promise has a thread of this package: that one
// begins it, stays while the work runs on the program's thread, and says what came of it.

const { DONE, FLAGS, OWNER_DEAD, native } = require('./native');
const { STATUS, TurnlockError, waitOptions, wrongType } = require('./errors');
const { Named, atMost, flagsOf, until } = require('./named');
const { deadOwner } = require('./participants');

class Once extends Named {
  // The calls that wait or are at it.
  #calls = 0;
  #isRunning = false;

  constructor(file, name, given) {
    const flags = { mustExist: FLAGS.ONCE_MUST_EXIST, acrossBoots: FLAGS.ONCE_ACROSS_BOOTS };
    super('once', file, name, [flagsOf('once', given, flags)], 1);
  }

  get isDone() {
    return this.ask('once_is_done') === 1;
  }

  async run(work, given) {
    const options = waitOptions(given);
    checkWork(work);
    options.signal?.throwIfAborted();
    if (this.isDone) return false;
    const limit = until(options);
    return await this.#calling({ signal: options.signal }, async (thread) => {
      const { status } = await thread.wait('once_begin', limit);
      if (status === DONE) return false;
      try {
        thread.checkNotEnded();
        this.#isRunning = true;
        await work(this.#deadRunner(status));
      } catch (error) {
        await thread.call('once_give_up');
        throw error;
      } finally {
        this.#isRunning = false;
      }
      await thread.call('once_complete');
      return true;
    });
  }

  runSync(work, given) {
    const options = waitOptions(given, { blocks: true });
    checkWork(work);
    if (this.isDone) return false;
    if (this.#calls > 0) {
      const story = 'this object is at it, or waits for it: blocking this thread might never end';
      throw new TurnlockError(STATUS.DEADLOCK, story);
    }
    const status = this.call('once_begin', ...atMost(options));
    if (status === DONE) return false;
    this.#calls++;
    this.#isRunning = true;
    try {
      const result = work(this.#deadRunner(status));
      if (typeof result?.then === 'function') {
        throw new TurnlockError(STATUS.INVALID_ARGUMENT, 'the work gives a promise, and runSync does not wait for one: call run');
      }
    } catch (error) {
      this.call('once_give_up');
      throw error;
    } finally {
      this.#calls--;
      this.#isRunning = false;
    }
    this.call('once_complete');
    return true;
  }

  async reset(given) {
    await this.#calling(waitOptions(given), ({ wait }) => wait('once_reset'));
  }

  close() {
    if (this.#isRunning) throw new TurnlockError(STATUS.STILL_HELD, 'the work of the once is running: close it afterwards');
    super.close();
  }

  async #calling(ending, use) {
    this.#calls++;
    try {
      return await this.onThread(ending, use);
    } finally {
      this.#calls--;
    }
  }

  #deadRunner(status) {
    return status === OWNER_DEAD ? deadOwner((owner) => native.lock_previous_owner(this.handle, owner)) : null;
  }
}

function checkWork(given) {
  if (typeof given !== 'function') throw wrongType('the work', 'a function', given);
}

module.exports = { Once };
