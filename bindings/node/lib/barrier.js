'use strict';
// Barriers.

const { FLAGS, check, native } = require('./native');
const { STATUS, TurnlockError, uint32, waitOptions } = require('./errors');
const { Named, atMost, flagsOf, until } = require('./named');

class Barrier extends Named {
  // To the library 0 parties are those that it has. A thread that has waited stays: with it the barrier would lose a party, whose
  // death the others are to be told of.
  constructor(file, name, parties, given) {
    if (uint32('the number of parties', parties ?? 0) === 0 && parties !== undefined) {
      throw new TurnlockError(STATUS.INVALID_ARGUMENT, 'the number of parties must be at least 1; without one the barrier must exist');
    }
    super('barrier', file, name, [parties ?? 0, flagsOf('barrier', given, { mustExist: FLAGS.BARRIER_MUST_EXIST })], Infinity);
  }

  async wait(given) {
    const options = waitOptions(given);
    const limit = until(options);
    const { filled } = await this.onThread({ signal: options.signal }, ({ wait }) => wait('barrier_wait', limit, Buffer.alloc(4)));
    return filled.readUInt32LE() === 1;
  }

  waitSync(given) {
    const isLast = Buffer.alloc(4);
    this.call('barrier_wait', ...atMost(waitOptions(given, { blocks: true })), isLast);
    return isLast.readUInt32LE() === 1;
  }

  abort() {
    this.call('barrier_abort');
  }

  reset() {
    this.call('barrier_reset');
  }

  get parties() {
    return this.#query().parties;
  }

  get waiting() {
    return this.#query().waiting;
  }

  get isBroken() {
    return this.#query().isBroken;
  }

  #query() {
    const [parties, waiting] = [Buffer.alloc(4), Buffer.alloc(4)];
    const status = native.barrier_query(this.handle, parties, waiting);
    const isBroken = status === STATUS.BROKEN_BARRIER;
    if (!isBroken) check(status);
    return { parties: parties.readUInt32LE(), waiting: waiting.readUInt32LE(), isBroken };
  }
}

module.exports = { Barrier };
