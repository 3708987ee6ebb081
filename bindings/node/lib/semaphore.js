'use strict';
// Semaphores.

const { check } = require('./native');
const { STATUS, TurnlockError, object, optional, text, uint32 } = require('./errors');
const { Hold } = require('./held');
const { Lock } = require('./lock');
const { settings } = require('./settings');

class Permits extends Hold {
  #count;

  constructor(by, hold, status, acquired) {
    super(by, hold, status, acquired);
    this.#count = by.request.permits;
  }

  get count() {
    return this.#count;
  }

  release(count = this.#count) {
    uint32('the number of permits', count);
    if (this.isHeld && count === this.#count) this.end('hold_release');
    else check(this.call('hold_release_permits', count));
    this.#count -= count;
  }

  leave() {
    this.release();
  }
}

class Semaphore extends Lock {
  constructor(file, lockName, given) {
    const known = ['permits', 'mustExist', 'strict', 'patience', 'label'];
    const chosen = object('the options of a semaphore', given, known);
    const permits = optional(chosen, 'permits', 1, somePermits);
    const label = optional(chosen, 'label', null, text);
    super('semaphore', file, lockName, { permits, ...settings('semaphore', chosen) }, { label, Held: Permits });
  }

  async acquire(count = 1, given) {
    return await this.take(request(count), given);
  }

  acquireSync(count = 1, given) {
    return this.takeBlocking(request(count), given);
  }

  tryAcquire(count = 1) {
    return this.takeNow(request(count));
  }

  async withPermits(count = 1, section, given) {
    return await this.takeInside(request(count), section, given);
  }

  get permits() {
    const bytes = Buffer.alloc(4);
    check(this.call('semaphore_permits', bytes));
    return bytes.readUInt32LE();
  }

  resize(permits) {
    check(this.call('semaphore_resize', uint32('the number of permits', permits)));
  }
}

// To the library 0 is 1.
function somePermits(what, given) {
  if (uint32(what, given) === 0) throw new TurnlockError(STATUS.PERMITS, `${what} must be at least 1`);
  return given;
}

function request(count) {
  return { permits: somePermits('the number of permits', count) };
}

module.exports = { Permits, Semaphore };
