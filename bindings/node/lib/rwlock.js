'use strict';
// Reader/writer locks.

const { WAITS, acquiredRoom, check, native } = require('./native');
const { STATUS, TurnlockError, object, optional, text, waitOptions } = require('./errors');
const { TellingHold } = require('./held');
const { TellingLock } = require('./lock');
const { modeNumber, settings } = require('./settings');
const { Ending, timedOut, wait } = require('./waits');

const KNOWN = ['exclusive', 'shared', 'upgradable'];

class RwHeld extends TellingHold {
  #isUpgrading = false;

  async upgrade(given) {
    const options = waitOptions(given);
    options.signal?.throwIfAborted();
    if (this.tryUpgrade()) return;
    if (options.timeout === 0) throw timedOut();
    const { hold } = this;
    let ended = null;
    const ending = new Ending(options, (reason) => {
      ended ??= { reason };
      native.hold_cancel(hold);
    });
    this.#isUpgrading = true;
    try {
      const { status, story, acquired } = await wait('hold_upgrade', hold, WAITS.FOREVER, 0);
      if (status >= 0) this.#upgraded(status, acquired);
      else throw ended && status === STATUS.CANCELLED ? ended.reason : new TurnlockError(status, story);
    } finally {
      this.#isUpgrading = false;
      ending.clear();
    }
  }

  tryUpgrade() {
    const acquired = acquiredRoom();
    const status = this.call('hold_upgrade', WAITS.NEVER, 0, acquired);
    if (status === STATUS.WOULD_BLOCK) return false;
    this.#upgraded(check(status), acquired);
    return true;
  }

  downgrade(mode) {
    check(this.call('hold_downgrade', modeNumber(mode, KNOWN)));
    this.become(mode);
  }

  get hold() {
    if (this.#isUpgrading) throw new TurnlockError(STATUS.NOT_OWNER, 'it waits for its upgrade');
    return super.hold;
  }

  #upgraded(status, acquired) {
    this.took(status, acquired);
    this.become('exclusive');
  }
}

class RwLock extends TellingLock {
  constructor(file, lockName, given) {
    const chosen = object('the options of a reader/writer lock', given, ['mustExist', 'strict', 'onDeath', 'patience', 'label']);
    const label = optional(chosen, 'label', null, text);
    super('rwlock', file, lockName, settings('rwlock', chosen), { label, Held: RwHeld });
  }

  async lock(mode, given) {
    return await this.take(request(mode), given);
  }

  lockSync(mode, given) {
    return this.takeBlocking(request(mode), given);
  }

  tryLock(mode) {
    return this.takeNow(request(mode));
  }

  async withLock(mode, section, given) {
    return await this.takeInside(request(mode), section, given);
  }
}

function request(mode) {
  return { mode: modeNumber(mode, KNOWN) };
}

module.exports = { RwHeld, RwLock };
