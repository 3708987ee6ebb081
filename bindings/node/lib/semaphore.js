'use strict';
// Semaphores.

const { check, native, options, structs } = require('./native');
const { STATUS, TurnlockError, name, object, optional, text, uint32, wrongType } = require('./errors');
const { OpenFile } = require('./openfile');
const { settings } = require('./settings');
const { Hold, SeveralLock } = require('./several');

class Permits extends Hold {
  #count;

  constructor(state, onFree, participant, status, acquired, count) {
    super(state, onFree, participant, status, acquired);
    this.#count = count;
  }

  static unlockCall = 'release_as';

  get count() {
    return this.#count;
  }

  unlockArguments() {
    return [this.#count];
  }

  release(count = this.#count) {
    uint32('the number of permits', count);
    if (this.isHeld && count === this.#count) this.letGo('release_as', count);
    else check(this.native('release_as', count));
    this.#count -= count;
  }

  giveBack() {
    this.release();
  }
}

class Semaphore extends SeveralLock {
  constructor(file, lockName, given) {
    const known = ['permits', 'mustExist', 'strict', 'patience', 'label'];
    const chosen = object('the options of a semaphore', given, known);
    const permits = optional(chosen, 'permits', 1, somePermits);
    const label = optional(chosen, 'label', null, text);
    const handle = [0];
    const struct = options(structs.semaphoreOptions, { permits, ...settings('semaphore', chosen) });
    check(native.semaphore_open(OpenFile.handleOf(file), name(lockName), struct, handle));
    super('semaphore', handle[0], file, label);
  }

  async acquire(count = 1, given) {
    return await this.take(entry(count), given);
  }

  acquireSync(count = 1, given) {
    return this.takeBlocking(entry(count), given);
  }

  tryAcquire(count = 1) {
    return this.takeNow(entry(count));
  }

  async withPermits(count, section, given) {
    if (typeof section !== 'function') throw wrongType('the section', 'a function', section);
    const permits = await this.acquire(count, given);
    try {
      return await section(permits);
    } finally {
      if (permits.isHeld) permits.release();
    }
  }

  get permits() {
    const bytes = Buffer.alloc(4);
    check(this.call('permits', bytes));
    return bytes.readUInt32LE();
  }

  resize(permits) {
    check(this.call('resize', uint32('the number of permits', permits)));
  }
}

function somePermits(what, given) {
  if (uint32(what, given) === 0) throw new TurnlockError(STATUS.PERMITS, `${what} must be at least 1`);
  return given;
}

function entry(count) {
  uint32('the number of permits', count);
  return { call: 'acquire', arguments: [count], Hold: Permits, details: count };
}

module.exports = { Permits, Semaphore };
