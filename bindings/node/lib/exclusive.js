'use strict';
// The exclusive kinds of lock.

const { FLAGS, check, native, options, structs } = require('./native');
const { STATUS, TurnlockError, boolean, name, object, optional, text, uint32 } = require('./errors');
const { ExclusiveLock } = require('./lock');
const { OpenFile } = require('./openfile');
const { settings } = require('./settings');

const ALGORITHMS = { 'k-state': 2, raynal: 3, sum: 4 };

class Mutex extends ExclusiveLock {
  constructor(file, lockName, given, kindFlags = 0) {
    const known = ['mustExist', 'strict', 'onDeath', 'patience', 'label'];
    const chosen = object('the options of a mutex', given, known);
    const { flags: asked, patience_ns } = settings('mutex', chosen);
    const flags = kindFlags | asked;
    const label = optional(chosen, 'label', null, text);
    const handle = [0];
    check(native.mutex_open(OpenFile.handleOf(file), name(lockName), options(structs.mutexOptions, { flags, patience_ns }), handle));
    super('mutex', handle[0], file, label);
  }

  get patience() {
    const bytes = Buffer.alloc(8);
    this.call('mutex_patience', bytes);
    return Number(bytes.readBigUInt64LE()) / 1e6;
  }
}

class TurnRing extends ExclusiveLock {
  constructor(file, lockName, given) {
    const known = ['algorithm', 'step', 'standing', 'mustExist', 'onDeath', 'label'];
    const chosen = object('the options of a ring', given, known);
    const algorithm = optional(chosen, 'algorithm', 0, ringAlgorithm);
    const step = optional(chosen, 'step', 0, uint32);
    const flags = settings('ring', chosen).flags | (optional(chosen, 'standing', false, boolean) ? FLAGS.RING_STANDING : 0);
    const label = optional(chosen, 'label', null, text);
    const handle = [0];
    check(native.ring_open(OpenFile.handleOf(file), name(lockName), options(structs.ringOptions, { algorithm, flags, step }), handle));
    super('ring', handle[0], file, label);
  }

  leave() {
    this.callAs('ring_leave_as');
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
