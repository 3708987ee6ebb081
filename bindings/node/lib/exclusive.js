'use strict';
// The exclusive kinds of lock.

const { FLAGS, MODES, check } = require('./native');
const { STATUS, TurnlockError, boolean, object, optional, text, uint32 } = require('./errors');
const { Held } = require('./held');
const { TellingLock } = require('./lock');
const { settings } = require('./settings');

const ALGORITHMS = { 'k-state': 2, raynal: 3, sum: 4 };
const EVERYTHING = { mode: MODES.exclusive };

class HeldExclusively extends Held {
  stillOwner() {
    // An error if it is not held.
    void this.hold;
    return this.lock.isOfThisHost();
  }
}

class ExclusiveLock extends TellingLock {
  constructor(kind, file, lockName, members, { label, slot = null }) {
    super(kind, file, lockName, members, { label, slot, Held: HeldExclusively, isOfOne: true });
  }

  get held() {
    return this.only;
  }

  async lock(given) {
    return await this.take(EVERYTHING, given);
  }

  lockSync(given) {
    return this.takeBlocking(EVERYTHING, given);
  }

  tryLock() {
    return this.takeNow(EVERYTHING);
  }

  async withLock(section, given) {
    return await this.takeInside(EVERYTHING, section, given);
  }

  holder() {
    return this.holders()[0] ?? null;
  }

  // Whether this host has it still. Of exclusive locks only mutexes can be linked.
  isOfThisHost() {
    return true;
  }
}

class Mutex extends ExclusiveLock {
  constructor(file, lockName, given, kindFlags = 0) {
    const known = ['mustExist', 'strict', 'onDeath', 'patience', 'label'];
    const chosen = object('the options of a mutex', given, known);
    const { flags, patience_ns } = settings('mutex', chosen);
    const label = optional(chosen, 'label', null, text);
    super('mutex', file, lockName, { flags: kindFlags | flags, patience_ns }, { label });
  }

  isOfThisHost() {
    const status = this.call('lock_still_owner');
    return status !== STATUS.LEASE_ENDED && check(status) === 0;
  }

  get patience() {
    const bytes = Buffer.alloc(8);
    check(this.call('lock_patience', bytes));
    return Number(bytes.readBigUInt64LE()) / 1e6;
  }
}

class TurnRing extends ExclusiveLock {
  constructor(file, lockName, given) {
    const known = ['algorithm', 'step', 'member', 'mustExist', 'onDeath', 'label', 'slot'];
    const chosen = object('the options of a ring', given, known);
    const algorithm = optional(chosen, 'algorithm', 0, ringAlgorithm);
    const step = optional(chosen, 'step', 0, uint32);
    const flags = settings('ring', chosen).flags | (optional(chosen, 'member', false, boolean) ? FLAGS.RING_MEMBER : 0);
    const label = optional(chosen, 'label', null, text);
    const slot = optional(chosen, 'slot', null, uint32);
    super('ring', file, lockName, { algorithm, flags, step }, { label, slot });
  }

  leave() {
    check(this.callKept('hold_leave_ring'));
  }
}

function ringAlgorithm(what, given) {
  const algorithm = Object.hasOwn(ALGORITHMS, given) ? ALGORITHMS[given] : undefined;
  if (algorithm === undefined) {
    const known = Object.keys(ALGORITHMS).join(', ');
    throw new TurnlockError(STATUS.INVALID_ARGUMENT, `${what} is one of ${known}, and not ${String(given)}`);
  }
  return algorithm;
}

module.exports = { Mutex, TurnRing };
