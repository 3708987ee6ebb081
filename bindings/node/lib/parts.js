'use strict';
// Locks of which each holder has a part: a range of numbers, or a key.

const { object, optional, text, uint64, wrongType } = require('./errors');
const { TellingHold } = require('./held');
const { TellingLock } = require('./lock');
const { modeNumber, settings } = require('./settings');

const KNOWN = ['exclusive', 'shared'];
const RANGE_END = 2n ** 64n - 1n;

class PartHeld extends TellingHold {
  // What a dead owner left, and is not marked consistent, closes nothing: the next one is told again.
  unlock() {
    this.end('hold_release');
  }

  leave() {
    this.unlock();
  }
}

class PartsLock extends TellingLock {
  constructor(kind, file, lockName, given) {
    const chosen = object('the options of a lock', given, ['mustExist', 'onDeath', 'label']);
    const label = optional(chosen, 'label', null, text);
    super(kind, file, lockName, settings(kind, chosen), { label, Held: PartHeld, isOfParts: true });
  }
}

class RangeLock extends PartsLock {
  constructor(file, lockName, given) {
    super('rangelock', file, lockName, given);
  }

  async lock(start, end, mode, given) {
    return await this.take(ofRange(start, end, mode), given);
  }

  lockSync(start, end, mode, given) {
    return this.takeBlocking(ofRange(start, end, mode), given);
  }

  tryLock(start, end, mode) {
    return this.takeNow(ofRange(start, end, mode));
  }

  async withLock(start, end, mode, section, given) {
    return await this.takeInside(ofRange(start, end, mode), section, given);
  }
}

class KeyedLock extends PartsLock {
  constructor(file, lockName, given) {
    super('keyedlock', file, lockName, given);
  }

  async lock(key, mode, given) {
    return await this.take(ofKey(key, mode), given);
  }

  lockSync(key, mode, given) {
    return this.takeBlocking(ofKey(key, mode), given);
  }

  tryLock(key, mode) {
    return this.takeNow(ofKey(key, mode));
  }

  async withLock(key, mode, section, given) {
    return await this.takeInside(ofKey(key, mode), section, given);
  }
}

function ofRange(start, end, mode) {
  const range = { start: rangeNumber('the start', start), end: rangeNumber('the end', end) };
  return { mode: modeNumber(mode, KNOWN), ranges: [range], range_count: 1 };
}

function ofKey(key, mode) {
  if (typeof key !== 'string' && !(key instanceof Uint8Array)) throw wrongType('the key', 'a string or a Uint8Array', key);
  // A copy of it, since the wait looks at it later.
  const data = Buffer.from(key);
  return { mode: modeNumber(mode, KNOWN), keys: [{ data, size: data.length }], key_count: 1 };
}

// A number of a range, as a bigint; Infinity is the end.
function rangeNumber(what, given) {
  return given === Infinity ? RANGE_END : uint64(what, given);
}

module.exports = { KeyedLock, PartHeld, RangeLock };
