'use strict';
// What a lock is created with, and keeps: its patience and its death policy. What is not asked for is whatever it has. And in
// which mode it is wanted.

const { LOCK_FLAGS, MODES } = require('./native');
const { STATUS, TurnlockError, boolean, milliseconds, nanoseconds, optional, wrongType } = require('./errors');

// By their numbers.
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
  let flags = optional(chosen, 'mustExist', false, boolean) ? LOCK_FLAGS.MUST_EXIST : 0;
  if (optional(chosen, 'strict', false, boolean)) flags |= LOCK_FLAGS.STRICT;
  const patience = optional(chosen, 'patience', null, milliseconds);
  // To the library 0 is what the lock has.
  if (patience === 0) flags |= LOCK_FLAGS.STRICT;
  const policy = optional(chosen, 'onDeath', null, deathPolicy);
  // A new one releases: a holder by `withLock` is not shown the notice.
  if (kind !== 'semaphore') flags |= LOCK_FLAGS[policy === null ? 'RELEASE_BY_DEFAULT' : `${policy.toUpperCase()}_ON_DEATH`];
  if (patience === null) return { flags };
  return { flags, patience_ns: nanoseconds(Math.max(patience, 1e-6)) };
}

// The number of a mode, which is one of these.
function modeNumber(mode, known) {
  if (typeof mode !== 'string') throw wrongType('the mode', 'a string', mode);
  if (!known.includes(mode)) {
    throw new TurnlockError(STATUS.INVALID_ARGUMENT, `the mode is one of ${known.join(', ')}, and not ${mode}`);
  }
  return MODES[mode];
}

module.exports = { POLICIES, modeNumber, settings };
