'use strict';
// A lock that is held.

const { CONTENDED, MODES, OWNER_DEAD, check, native } = require('./native');
const { STATUS, TurnlockError } = require('./errors');

const MODE_NAMES = Object.keys(MODES);

// What it is of every kind. ERR_TURNLOCK_NOT_OWNER once it is over.
class Hold {
  // What it was acquired by: see acquisition.js.
  #by;
  #hold;
  #acquired;
  #ownerDied;

  constructor(by, hold, status, acquired) {
    this.#by = by;
    this.#hold = hold;
    by.handles.held.add(this);
    this.took(status, acquired);
  }

  get isHeld() {
    return this.#hold !== null;
  }

  get fencingToken() {
    return this.#acquired.readBigUInt64LE(8);
  }

  get ownerDied() {
    return this.#ownerDied;
  }

  get deadOwner() {
    if (!this.#ownerDied) return null;
    return { pid: this.#acquired.readUInt32LE(24), fencingToken: this.#acquired.readBigUInt64LE(16) };
  }

  isContended() {
    return check(this.call('hold_is_contended')) === CONTENDED;
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    if (this.isHeld) this.leave({ failed: false });
  }

  // The rest is for the kinds.
  get by() {
    return this.#by;
  }

  // Its handle.
  get hold() {
    if (this.#hold === null) throw new TurnlockError(STATUS.NOT_OWNER, 'it was released before');
    return this.#hold;
  }

  // The status of a function of the library that is called with it.
  call(name, ...others) {
    return native[name](this.hold, ...others);
  }

  // What the library said of it.
  took(status, acquired) {
    this.#acquired = acquired;
    this.#ownerDied = status === OWNER_DEAD;
  }

  // Ends it, by that function.
  end(name) {
    const status = this.call(name);
    try {
      check(status);
    } finally {
      // A release that reports what happened to the file has released.
      if (status >= 0 || status === STATUS.DAMAGED || status === STATUS.REPLACED) {
        this.#by.handles.closeHold(this.#hold);
        this.#by.handles.held.delete(this);
        this.#hold = null;
        this.#by.freed();
      }
    }
  }

  // Ends it as its section ends, which failed or did not.
  leave() {
    this.end('hold_release');
  }

  // Ends it, where it came too late: it is not wanted any more.
  giveBack() {
    this.leave({ failed: false });
  }
}

// What it is of the kinds whose next holder is told of a death.
class TellingHold extends Hold {
  #mode;
  // What a dead one left is marked consistent.
  #isMarked = false;

  constructor(by, hold, status, acquired) {
    super(by, hold, status, acquired);
    this.#mode = MODE_NAMES[by.request.mode];
  }

  get mode() {
    return this.#mode;
  }

  unlock() {
    const closes = this.#isToBeMarked && this.by.lock.deathPolicy === 'inform';
    this.end('hold_release');
    if (closes) warnOfClosed();
  }

  abandon() {
    this.end('hold_abandon');
  }

  markConsistent() {
    check(this.call('hold_mark_consistent'));
    this.#isMarked = true;
  }

  leave({ failed }) {
    // The data may be half-done: the next holder is told.
    if (failed) this.abandon();
    else this.unlock();
  }

  giveBack() {
    // The notice of an earlier death is still to be given.
    this.leave({ failed: this.#isToBeMarked });
  }

  // For the kinds: as what it is held from now on.
  become(mode) {
    this.#mode = mode;
  }

  get #isToBeMarked() {
    return this.ownerDied && !this.#isMarked && this.#mode === 'exclusive';
  }
}

class Held extends TellingHold {
  get lock() {
    return this.by.lock;
  }
}

// Warns of an unlock that has closed a lock for everyone.
function warnOfClosed() {
  const story =
    'a lock is closed for everyone from now on: a holder died inside, and the next one unlocked it without markConsistent(); ' +
    'look at the data, then call reset(), or run `turnlock reset`';
  process.emitWarning(story, { type: 'TurnlockWarning', code: 'TURNLOCK_NOT_RECOVERABLE' });
}

// Calls `section` with what is held, and ends that.
async function inside(held, section) {
  let result;
  try {
    result = await section(held);
  } catch (error) {
    if (held.isHeld) held.leave({ failed: true });
    throw error;
  }
  if (held.isHeld) held.leave({ failed: false });
  return result;
}

module.exports = { Held, Hold, TellingHold, inside };
