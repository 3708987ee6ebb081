'use strict';
// A mutex that its owner may take again.

const { FLAGS } = require('./native');
const { STATUS, TurnlockError, waitOptions, wrongType } = require('./errors');
const { Mutex } = require('./exclusive');
const { inside } = require('./held');

const MOST_TAKEN = 65_535;

// One that takes recursive mutexes: a chain of calls, which hands it on.
class Owner {
  #isOne = true;

  static check(given) {
    if (typeof given !== 'object' || given === null || !(#isOne in given)) throw wrongType('the owner', 'an Owner', given);
    return given;
  }
}

// One time that it is taken.
class RecursiveHeld {
  #lock;
  #by;
  #acquired;
  // The wait at a condition, while it waits at one; else null.
  #away = null;

  constructor(lock, by, acquired) {
    this.#lock = lock;
    this.#by = by;
    this.#acquired = acquired;
  }

  get lock() {
    return this.#lock;
  }

  get fencingToken() {
    return this.#acquired.fencingToken;
  }

  get deadOwner() {
    return this.#acquired.deadOwner;
  }

  get ownerDied() {
    return this.deadOwner !== null;
  }

  get isHeld() {
    return this.#by.has(this);
  }

  // As of a Held.
  async away(wait) {
    this.#away = this.#by.away(this, (first) => first.away(wait));
    try {
      return await this.#away;
    } finally {
      this.#away = null;
    }
  }

  awaySync(wait) {
    return this.#by.awaySync(this, (first) => first.awaySync(wait));
  }

  async isBack() {
    await this.#away;
  }

  retaken(acquired) {
    this.#acquired = acquired;
  }

  unlock() {
    this.leave({ failed: false });
  }

  abandon() {
    this.leave({ failed: true });
  }

  leave({ failed }) {
    this.#by.leave(this, failed);
  }

  markConsistent() {
    this.#by.first(this).markConsistent();
  }

  isContended() {
    return this.#by.first(this).isContended();
  }

  stillOwner() {
    return this.#by.first(this).stillOwner();
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    if (this.isHeld) this.unlock();
  }
}

class RecursiveMutex {
  #mutex;
  // The owner by this object, the acquisition, and the times that it is taken.
  #owner = null;
  #first = null;
  #held = new Set();
  // It was given up within.
  #isAbandoned = false;
  #waiting = new WeakSet();
  #by = {
    has: (held) => this.#held.has(held),
    first: (held) => this.#firstOf(held),
    leave: (held, abandons) => this.#leave(held, abandons),
    away: (held, wait) => this.#away(held, wait),
    awaySync: (held, wait) => this.#awaySync(held, wait),
  };

  constructor(file, lockName, given) {
    this.#mutex = new Mutex(file, lockName, given, FLAGS.MUTEX_RECURSIVE);
  }

  async lock(owner, given) {
    if (this.#has(owner)) {
      waitOptions(given).signal?.throwIfAborted();
      return this.#again();
    }
    if (this.#waiting.has(owner)) {
      const story = 'this owner waits for the lock already: give each chain of calls an Owner of its own';
      throw new TurnlockError(STATUS.HOLD_BUSY, story);
    }
    this.#waiting.add(owner);
    try {
      return this.#taken(owner, await this.#mutex.lock(given));
    } finally {
      this.#waiting.delete(owner);
    }
  }

  lockSync(owner, given) {
    if (!this.#has(owner)) return this.#taken(owner, this.#mutex.lockSync(given));
    waitOptions(given, { blocks: true });
    return this.#again();
  }

  tryLock(owner) {
    if (this.#has(owner)) return this.#again();
    const first = this.#mutex.tryLock();
    return first ? this.#taken(owner, first) : null;
  }

  async withLock(owner, section, given) {
    if (typeof section !== 'function') throw wrongType('the section', 'a function', section);
    return await inside(await this.lock(owner, given), section);
  }

  depth(owner) {
    return this.#has(owner) ? this.#held.size : 0;
  }

  get patience() {
    return this.#mutex.patience;
  }

  get deathPolicy() {
    return this.#mutex.deathPolicy;
  }

  async reset(given) {
    await this.#mutex.reset(given);
  }

  previousOwner() {
    return this.#mutex.previousOwner();
  }

  holder() {
    return this.#mutex.holder();
  }

  holders() {
    return this.#mutex.holders();
  }

  waiters() {
    return this.#mutex.waiters();
  }

  close() {
    this.#mutex.close();
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    this.close();
  }

  #has(owner) {
    return this.#owner === Owner.check(owner);
  }

  #taken(owner, first) {
    this.#owner = owner;
    this.#first = first;
    this.#isAbandoned = false;
    return this.#hold(first);
  }

  // The notice of a death came with the first of them.
  #again() {
    if (this.#held.size === MOST_TAKEN) {
      const story = 'this owner has the recursive lock 65,535 times, and cannot take it once more: unlock it as often as it was taken';
      throw new TurnlockError(STATUS.RECURSION_LIMIT, story);
    }
    return this.#hold({ fencingToken: this.#first.fencingToken, deadOwner: null });
  }

  #hold(acquired) {
    const held = new RecursiveHeld(this, this.#by, acquired);
    this.#held.add(held);
    return held;
  }

  // Lets other owners have it while its owner waits at a condition, however often that one has it.
  async #away(held, wait) {
    const aside = this.#setAside(held);
    this.#waiting.add(aside.owner);
    try {
      return await wait(aside.first);
    } finally {
      this.#waiting.delete(aside.owner);
      this.#comeBack(held, aside);
    }
  }

  #awaySync(held, wait) {
    const aside = this.#setAside(held);
    try {
      return wait(aside.first);
    } finally {
      this.#comeBack(held, aside);
    }
  }

  #setAside(held) {
    const aside = { first: this.#firstOf(held), owner: this.#owner, all: this.#held, isAbandoned: this.#isAbandoned };
    this.#owner = this.#first = null;
    this.#held = new Set();
    return aside;
  }

  // It is the owner's again, unless the lock could not be taken again. What is told of a death is told to the one that waited.
  #comeBack(held, { first, owner, all, isAbandoned }) {
    if (!first.isHeld) return;
    this.#owner = owner;
    this.#first = first;
    this.#held = all;
    this.#isAbandoned = isAbandoned;
    const { fencingToken, deadOwner } = first;
    // It was not unlocked.
    if (fencingToken === held.fencingToken) return;
    for (const one of all) one.retaken({ fencingToken, deadOwner: one === held ? deadOwner : null });
  }

  #firstOf(held) {
    if (!this.#held.has(held)) throw new TurnlockError(STATUS.NOT_OWNER, 'this lock was unlocked before');
    return this.#first;
  }

  #leave(held, abandons) {
    const first = this.#firstOf(held);
    this.#isAbandoned ||= abandons;
    if (this.#held.size > 1) {
      this.#held.delete(held);
      return;
    }
    try {
      if (this.#isAbandoned) first.abandon();
      else first.unlock();
    } finally {
      // An unlock that reports what happened to the file has unlocked.
      if (!first.isHeld) {
        this.#held.delete(held);
        this.#owner = this.#first = null;
      }
    }
  }
}

module.exports = { Owner, RecursiveHeld, RecursiveMutex };
