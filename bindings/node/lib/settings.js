'use strict';
// What a lock is created with, and keeps: its patience and its death policy. What is not asked for is whatever it has.

const { FLAGS, check } = require('./native');
const { STATUS, TurnlockError, boolean, milliseconds, nanoseconds, optional, wrongType } = require('./errors');

const POLICIES = ['inform', 'release'];

function deathPolicy(what, given) {
  if (typeof given !== 'string') throw wrongType(what, 'a string', given);
  if (!POLICIES.includes(given)) {
    throw new TurnlockError(STATUS.INVALID_ARGUMENT, `${what} is one of ${POLICIES.join(', ')}, and not ${given}`);
  }
  return given;
}

// The flags and the patience that the options of a lock of this kind ask for.
function settings(kind, chosen) {
  const flag = (name) => FLAGS[`${kind.toUpperCase()}_${name}`];
  let flags = optional(chosen, 'mustExist', false, boolean) ? flag('MUST_EXIST') : 0;
  if (optional(chosen, 'strict', false, boolean)) flags |= flag('STRICT');
  const patience = optional(chosen, 'patience', null, milliseconds);
  // To the library 0 is what the lock has.
  if (patience === 0) flags |= flag('STRICT');
  const policy = optional(chosen, 'onDeath', null, deathPolicy);
  // A new one releases: who takes a lock by `withLock` is not shown the notice.
  if (kind !== 'semaphore') flags |= flag(policy === null ? 'RELEASE_BY_DEFAULT' : `${policy.toUpperCase()}_ON_DEATH`);
  const patience_ns = patience === null ? 0n : nanoseconds(Math.max(patience, 1e-6));
  return { flags, patience_ns };
}

// What a holder's death means for an open lock, as `ask` fills it in.
function deathPolicyOf(ask) {
  const bytes = Buffer.alloc(4);
  check(ask(bytes));
  return POLICIES[bytes.readUInt32LE()] ?? 'unknown';
}

// Warns of an unlock that has closed a lock for everyone.
function warnOfClosed() {
  const story =
    'a lock is closed for everyone from now on: a holder died inside, and the next one unlocked it without markConsistent(); ' +
    'look at the data, then call reset(), or run `turnlock reset`';
  process.emitWarning(story, { type: 'TurnlockWarning', code: 'TURNLOCK_NOT_RECOVERABLE' });
}

module.exports = { deathPolicyOf, settings, warnOfClosed };
