'use strict';
// Reader/writer locks.

const { check, native, options, structs } = require('./native');
const { STATUS, TurnlockError, name, object, optional, text, waitOptions, wrongType } = require('./errors');
const { deadOwner } = require('./held');
const { OpenFile } = require('./openfile');
const { deathPolicyOf, settings, warnOfClosed } = require('./settings');
const { Hold, SeveralLock } = require('./several');

const MODES = { exclusive: 1, shared: 2, upgradable: 3 };

class RwHeld extends Hold {
  #mode;
  #isMarked = false;

  constructor(state, onFree, participant, status, acquired, mode) {
    super(state, onFree, participant, status, acquired);
    this.#mode = mode;
  }

  static unlockCall = 'unlock_as';

  get mode() {
    return this.#mode;
  }

  unlock() {
    const closes = this.#mode === 'exclusive' && this.ownerDied && !this.#isMarked && this.lockPolicy() === 'inform';
    this.letGo('unlock_as');
    if (closes) warnOfClosed();
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    if (this.isHeld) this.unlock();
  }

  abandon() {
    this.letGo('abandon_as');
  }

  // Nobody wants it any more. Who died before is still to be told of.
  giveBack() {
    if (this.ownerDied && this.#mode === 'exclusive') this.abandon();
    else this.unlock();
  }

  markConsistent() {
    check(this.native('mark_consistent_as'));
    this.#isMarked = true;
  }

  async upgrade(given) {
    await this.more('upgrade_as', given);
    this.#mode = 'exclusive';
  }

  tryUpgrade() {
    const isTaken = this.tryMore('try_upgrade_as');
    if (isTaken) this.#mode = 'exclusive';
    return isTaken;
  }

  downgrade(mode) {
    check(this.native('downgrade_as', modeNumber(mode)));
    this.#mode = mode;
  }
}

class RwLock extends SeveralLock {
  constructor(file, lockName, given) {
    const chosen = object('the options of a reader/writer lock', given, ['mustExist', 'strict', 'onDeath', 'patience', 'label']);
    const struct = options(structs.rwlockOptions, settings('rwlock', chosen));
    const label = optional(chosen, 'label', null, text);
    const handle = [0];
    check(native.rwlock_open(OpenFile.handleOf(file), name(lockName), struct, handle));
    super('rwlock', handle[0], file, label);
  }

  async lock(mode, given) {
    return await this.take(entry(mode), given);
  }

  lockSync(mode, given) {
    return this.takeBlocking(entry(mode), given);
  }

  tryLock(mode) {
    return this.takeNow(entry(mode));
  }

  async withLock(mode, section, given) {
    if (typeof section !== 'function') throw wrongType('the section', 'a function', section);
    const held = await this.lock(mode, given);
    let result;
    try {
      result = await section(held);
    } catch (error) {
      // The data may be half-done: the next holder is told.
      if (held.isHeld) held.abandon();
      throw error;
    }
    if (held.isHeld) held.unlock();
    return result;
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
}

function modeNumber(mode) {
  if (typeof mode !== 'string') throw wrongType('the mode', 'a string', mode);
  if (!Object.hasOwn(MODES, mode)) {
    throw new TurnlockError(STATUS.INVALID_ARGUMENT, `the mode is one of ${Object.keys(MODES).join(', ')}, and not ${mode}`);
  }
  return MODES[mode];
}

function entry(mode) {
  modeNumber(mode);
  return { call: `lock_${mode}`, arguments: [], Hold: RwHeld, details: mode };
}

module.exports = { RwHeld, RwLock };
