'use strict';
// A lock that is held, and a participant as others see it.

const { CONTENDED, OWNER_DEAD, check } = require('./native');
const { STATUS, TurnlockError } = require('./errors');

class Held {
  #lock;
  #end;

  constructor(lock, end, status, acquired) {
    this.#lock = lock;
    this.#end = end;
    this.fencingToken = acquired.readBigUInt64LE(8);
    this.ownerDied = status === OWNER_DEAD;
    this.deadOwner = this.ownerDied
      ? { pid: acquired.readUInt32LE(24), fencingToken: acquired.readBigUInt64LE(16) }
      : null;
    Object.freeze(this);
  }

  get lock() {
    return this.#lock;
  }

  unlock() {
    this.#end(this, 'unlock_as');
  }

  abandon() {
    this.#end(this, 'abandon_as');
  }

  markConsistent() {
    this.#end(this, 'mark_consistent_as');
  }

  isContended() {
    return this.#end(this, 'is_contended_as') === CONTENDED;
  }

  [Symbol.dispose ?? Symbol.for('nodejs.dispose')]() {
    if (this.#lock.held === this) this.unlock();
  }
}

const LIVES = ['unknown', 'alive', 'stopped', 'dead'];
const STATES = [undefined, 'holding', 'queued', 'standing by', 'standing'];

function participantInfo(native) {
  return {
    label: native.label,
    program: native.program,
    fencingToken: BigInt(native.fencing_token),
    durationMs: Number(native.duration_ns) / 1e6,
    slot: native.slot,
    pid: native.pid,
    thread: native.thread,
    life: LIVES[native.life] ?? 'unknown',
    state: STATES[native.state] ?? 'unknown',
  };
}

function notOwner() {
  return new TurnlockError(STATUS.NOT_OWNER, 'this lock was unlocked before');
}

// The story of a wait that another thread made.
function failure(status, story) {
  return new TurnlockError(status, story);
}

module.exports = { Held, check, failure, notOwner, participantInfo };
