'use strict';
// A lock that is held.

const { CONTENDED, MODES, OWNER_DEAD, acquiredRoom, check, lastErrorMessage, native } = require('./native');
const { STATUS, TurnlockError } = require('./errors');

const MODE_NAMES = Object.keys(MODES);
const RELEASED_ALL_THE_SAME = [STATUS.DAMAGED, STATUS.REPLACED, STATUS.LEASE_ENDED];

// What it is of every kind. ERR_TURNLOCK_NOT_OWNER once it is over.
class Hold {
  // What it was acquired by: see acquisition.js.
  #by;
  #hold;
  #acquired;
  #ownerDied;
  // The wait at a condition, while it waits at one; else null.
  #away = null;

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
    if (this.#hold !== null) return this.#hold;
    const story = this.#away === null ? 'it was released before' : 'it waits at a condition, and is not held meanwhile';
    throw new TurnlockError(STATUS.NOT_OWNER, story);
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

  // Waits at a condition, by `wait`, which gives the status, the story of a failure, and the bytes of what is acquired. It is not held
  // meanwhile: others may take the lock by the same object. It is held again afterwards, unless the lock could not be taken again.
  async away(wait) {
    const hold = this.#setAside();
    this.#away = wait(hold);
    this.#by.freed();
    const answer = await this.#away;
    this.#comeBack(hold, answer.acquired);
    return answer;
  }

  // The same, by a call that blocks this thread and is given the place for these bytes.
  awaySync(wait) {
    if (this.#by.lock.isAwaited) {
      const story = 'promises of this process wait for the lock: blocking this thread might never end';
      throw new TurnlockError(STATUS.DEADLOCK, story);
    }
    const acquired = acquiredRoom();
    const hold = this.#setAside();
    const status = wait(hold, acquired);
    const story = status < 0 ? lastErrorMessage() : '';
    this.#comeBack(hold, acquired);
    return { status, story, acquired };
  }

  // When it does not wait at a condition any more.
  async isBack() {
    await this.#away;
  }

  // For the kinds: it was taken again after a wait at a condition.
  retaken() {}

  #setAside() {
    const { hold } = this;
    const { handles } = this.#by;
    this.#hold = null;
    handles.held.delete(this);
    handles.away.add(this);
    return hold;
  }

  #comeBack(hold, acquired) {
    const { handles } = this.#by;
    this.#away = null;
    handles.away.delete(this);
    if (native.hold_fencing_token(hold, Buffer.alloc(8)) === STATUS.NOT_OWNER) {
      handles.closeHold(hold);
      this.#by.freed();
      return;
    }
    this.#hold = hold;
    handles.held.add(this);
    // Else it was not unlocked.
    if (acquired.readBigUInt64LE(8) === 0n) return;
    this.took(acquired.readUInt32LE(28) === 0 ? 0 : OWNER_DEAD, acquired);
    this.retaken();
  }

  // Ends it, by that function.
  end(name) {
    const status = this.call(name);
    try {
      check(status);
    } finally {
      // A release that reports what happened to the file, or that the lease of a linked lock has ended, has released.
      if (status >= 0 || RELEASED_ALL_THE_SAME.includes(status)) {
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

  retaken() {
    this.#isMarked = false;
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
    await held.isBack();
    if (held.isHeld) held.leave({ failed: true });
    throw error;
  }
  await held.isBack();
  if (held.isHeld) held.leave({ failed: false });
  return result;
}

module.exports = { Held, Hold, TellingHold, inside };
