'use strict';
// What becomes of the others when a holder dies; what a lock was created with.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { test } = require('node:test');
const { Owner } = require('turnlock');
const { dieInside, failure, newFile } = require('./support');

// How a program takes the lock that knows nothing of deaths.
const TAKE = {
  mutex: (lock, section) => lock.withLock(section),
  recursiveMutex: (lock, section) => lock.withLock(new Owner(), section),
  turnRing: (lock, section) => lock.withLock(section),
  rwLock: (lock, section) => lock.withLock('exclusive', section),
  rangeLock: (lock, section) => lock.withLock(0, 10, 'exclusive', section),
  keyedLock: (lock, section) => lock.withLock('mine', 'exclusive', section),
  groupLock: (lock, section) => lock.withLock(2, section),
};

for (const [kind, take] of Object.entries(TAKE)) {
  test(`${kind}: a holder that is killed ends none of the others`, async (t) => {
    const file = newFile(t);
    const warnings = [];
    const warned = (warning) => warnings.push(warning);
    process.on('warning', warned);
    dieInside(file, kind);
    let inside = 0;
    const others = Array.from({ length: 7 }, () => file[kind]('lock'));
    for (let turn = 0; turn < 3; turn++) await Promise.all(others.map((lock) => take(lock, () => inside++)));
    assert.equal(inside, 21);
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', warned);
    assert.deepEqual(warnings, []);
    assert.equal(others[0].deathPolicy, 'release');
  });

  test(`${kind}: a death policy that is asked for is the lock's or an error`, (t) => {
    const file = newFile(t);
    for (const [policy, other] of [['inform', 'release'], ['release', 'inform']]) {
      file[kind](policy, { onDeath: policy });
      assert.equal(file[kind](policy).deathPolicy, policy);
      assert.equal(file[kind](policy, { onDeath: policy }).deathPolicy, policy);
      assert.throws(() => file[kind](policy, { onDeath: other }), failure('KIND'));
    }
    assert.throws(() => file[kind]('lock', { onDeath: 'ignore' }), failure('INVALID_ARGUMENT'));
    assert.throws(() => file[kind]('lock', { onDeath: true }), TypeError);
  });
}

test("a patience that is asked for is the lock's or an error", (t) => {
  const file = newFile(t);
  for (const kind of ['mutex', 'recursiveMutex', 'rwLock', 'semaphore']) {
    file[kind](`${kind} strict`, { patience: 0 });
    file[kind](`${kind} strict`, { strict: true });
    file[kind](`${kind} usual`);
    for (const name of ['strict', 'usual']) {
      file[kind](`${kind} ${name}`);
      assert.throws(() => file[kind](`${kind} ${name}`, { patience: 3 }), failure('KIND'));
    }
    file[kind](`${kind} usual`, { patience: 1 });
    assert.throws(() => file[kind](`${kind} usual`, { patience: 0 }), failure('KIND'));
    assert.throws(() => file[kind](`${kind} usual`, { patience: 1e-9 }), failure('KIND'));
  }
  assert.equal(file.mutex('mutex strict').patience, 0);
});

test('a reader/writer lock that is closed by an unlock warns', async (t) => {
  const file = newFile(t);
  const lock = file.rwLock('lock', { onDeath: 'inform' });
  dieInside(file, 'rwLock');
  // A reader closes nothing.
  lock.lockSync('shared').unlock();
  const held = lock.lockSync('exclusive');
  const warned = once(process, 'warning');
  held.unlock();
  assert.equal((await warned)[0].code, 'TURNLOCK_NOT_RECOVERABLE');
  await assert.rejects(lock.lock('exclusive'), failure('NOT_RECOVERABLE'));
});
