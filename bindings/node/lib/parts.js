'use strict';
// Locks of which each holder has a part: a range of numbers, or a key.

const { check, native, options, structs } = require('./native');
const { STATUS, TurnlockError, name, object, optional, text, waitOptions, wrongType } = require('./errors');
const { deadOwner } = require('./held');
const { OpenFile } = require('./openfile');
const { deathPolicyOf, settings } = require('./settings');
const { Hold, SeveralLock } = require('./several');

const MODES = ['exclusive', 'shared'];
const RANGE_END = 2n ** 64n - 1n;

class PartHeld extends Hold {
  #mode;

  constructor(state, onFree, participant, status, acquired, mode) {
    super(state, onFree, participant, status, acquired);
    this.#mode = mode;
  }

  static unlockCall = 'unlock_as';

  get mode() {
    return this.#mode;
  }

  unlock() {
    this.letGo('unlock_as');
  }

  // Nobody wants it any more. What a dead owner left, and nobody marks consistent, is told of again.
  giveBack() {
    this.unlock();
  }

  markConsistent() {
    check(this.native('mark_consistent_as'));
  }
}

// For the kinds: their parts are what `entry` of them is given, followed by a mode.
class PartsLock extends SeveralLock {
  constructor(kind, file, lockName, given) {
    const chosen = object('the options of a lock', given, ['mustExist', 'onDeath', 'label']);
    const { flags } = settings(kind, chosen);
    const label = optional(chosen, 'label', null, text);
    const handle = [0];
    const struct = options(structs.partsOptions, { flags });
    check(native[`${kind}_open`](OpenFile.handleOf(file), name(lockName), struct, handle));
    super(kind, handle[0], file, label, { isOfParts: true });
  }

  async reset(given) {
    const { timeout, signal } = waitOptions(given);
    const limit = performance.now() + timeout;
    for (;;) {
      signal?.throwIfAborted();
      const status = this.call('reset_for', 0);
      if (status !== STATUS.TIMED_OUT || performance.now() >= limit) {
        check(status);
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  get deathPolicy() {
    return deathPolicyOf((policy) => this.call('death_policy', policy));
  }

  previousOwner() {
    return deadOwner((owner) => this.call('previous_owner', owner));
  }

  async with(entry, section, given) {
    if (typeof section !== 'function') throw wrongType('the section', 'a function', section);
    const held = await this.take(entry, given);
    try {
      return await section(held);
    } finally {
      if (held.isHeld) held.unlock();
    }
  }
}

class RangeLock extends PartsLock {
  constructor(file, lockName, given) {
    super('rangelock', file, lockName, given);
  }

  async lock(start, end, mode, given) {
    return await this.take(rangeEntry(start, end, mode), given);
  }

  lockSync(start, end, mode, given) {
    return this.takeBlocking(rangeEntry(start, end, mode), given);
  }

  tryLock(start, end, mode) {
    return this.takeNow(rangeEntry(start, end, mode));
  }

  async withLock(start, end, mode, section, given) {
    return await this.with(rangeEntry(start, end, mode), section, given);
  }
}

class KeyedLock extends PartsLock {
  constructor(file, lockName, given) {
    super('keyedlock', file, lockName, given);
  }

  async lock(key, mode, given) {
    return await this.take(keyEntry(key, mode), given);
  }

  lockSync(key, mode, given) {
    return this.takeBlocking(keyEntry(key, mode), given);
  }

  tryLock(key, mode) {
    return this.takeNow(keyEntry(key, mode));
  }

  async withLock(key, mode, section, given) {
    return await this.with(keyEntry(key, mode), section, given);
  }
}

function rangeEntry(start, end, mode) {
  return entry([rangeNumber('the start', start), rangeNumber('the end', end)], mode);
}

function keyEntry(key, mode) {
  if (typeof key !== 'string' && !(key instanceof Uint8Array)) throw wrongType('the key', 'a string or a Uint8Array', key);
  // A copy with one byte more: an empty key has an address too.
  const bytes = Buffer.concat([typeof key === 'string' ? Buffer.from(key) : key, Buffer.alloc(1)]);
  return entry([bytes, bytes.length - 1], mode);
}

function entry(place, mode) {
  if (typeof mode !== 'string') throw wrongType('the mode', 'a string', mode);
  if (!MODES.includes(mode)) {
    throw new TurnlockError(STATUS.INVALID_ARGUMENT, `the mode is one of ${MODES.join(', ')}, and not ${mode}`);
  }
  return { call: `lock_${mode}`, arguments: place, Hold: PartHeld, details: mode };
}

// A number of a range, as a bigint; Infinity is the end.
function rangeNumber(what, given) {
  if (typeof given !== 'number' && typeof given !== 'bigint') throw wrongType(what, 'a number or a bigint', given);
  if (given === Infinity) return RANGE_END;
  const isOne = typeof given === 'bigint' ? given >= 0n && given <= RANGE_END : Number.isSafeInteger(given) && given >= 0;
  if (!isOne) {
    const error = new RangeError(`${what} must be a whole number from 0 to 2^64 - 1 (a bigint beyond 2^53), and is ${given}`);
    error.code = 'ERR_OUT_OF_RANGE';
    throw error;
  }
  return BigInt(given);
}

module.exports = { KeyedLock, PartHeld, RangeLock };
