'use strict';
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { besides, dieInside, failure, newFile, until } = require('./support');

const wrongType = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
const outOfRange = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };

test('members of a group are inside together, and none of another', async (t) => {
  const file = newFile(t);
  const [lock, another] = [file.groupLock('lock'), file.groupLock('lock')];
  const held = await lock.lock(1);
  assert.equal(held.group, 1n);
  assert.ok(held.fencingToken > 0n);
  assert.ok(!held.ownerDied);
  const beside = [lock.lockSync(1), another.tryLock(1n)];
  assert.deepEqual(lock.holders().map((holder) => holder.group), [1n, 1n, 1n]);
  for (const group of [0, 2, 2n ** 64n - 1n]) assert.equal(another.tryLock(group), null);
  assert.throws(() => another.lockSync(2, { timeout: 1 }), failure('DEADLOCK'));
  assert.throws(() => lock.lockSync(2), failure('DEADLOCK'));
  for (const timeout of [0, 5]) {
    const by = new RegExp(`before the turn came: process ${process.pid} .* has (it|had it for)`);
    await assert.rejects(lock.lock(2, { timeout }), by);
  }
  const later = lock.lock(2);
  const end = new AbortController();
  const ends = assert.rejects(lock.lock(3, { signal: end.signal }), { name: 'AbortError' });
  await until(() => lock.waiters().length === 2);
  assert.deepEqual(lock.waiters().map((waiter) => waiter.group), [2n, 3n]);
  end.abort();
  await ends;
  await until(() => held.isContended());
  // First come first served: its own group is inside, and it stays behind the one that waits.
  assert.equal(another.tryLock(1), null);
  assert.throws(() => lock.close(), failure('STILL_HELD'));
  for (const one of [held, ...beside]) one.unlock();
  for (const method of ['unlock', 'abandon', 'markConsistent', 'isContended']) {
    assert.throws(() => held[method](), failure('NOT_OWNER'));
  }
  (await later).unlock();
  assert.equal(await lock.withLock(2n ** 64n - 1n, async (inside) => lock.withLock(inside.group, () => 7)), 7);
  await assert.rejects(lock.withLock(1, null), wrongType);
  assert.deepEqual(lock.holders(), []);
});

test('a group of another process keeps the others out', async (t) => {
  const file = newFile(t);
  const lock = file.groupLock('lock');
  const script = `
    const { LockFile } = require('turnlock');
    const lock = new LockFile(process.argv[1]).groupLock('lock');
    const held = lock.lockSync(1);
    console.log('inside');
    process.stdin.once('data', () => { held.unlock(); console.log('outside'); process.exit(); });`;
  const other = besides(t, script, file.path);
  assert.equal(await other.says(), 'inside');
  lock.tryLock(1).unlock();
  assert.equal(lock.tryLock(2), null);
  const waits = lock.lock(2);
  other.tell('go');
  assert.equal(await other.says(), 'outside');
  (await waits).unlock();
});

test('a death is told in every group until it is marked', async (t) => {
  const file = newFile(t);
  const lock = file.groupLock('lock', { onDeath: 'inform' });
  assert.equal(lock.previousOwner(), null);
  await lock.withLock(1, (held) => assert.throws(() => held.markConsistent(), failure('NOT_INCONSISTENT')));
  dieInside(file, 'groupLock');
  for (const group of [2, 1]) {
    await lock.withLock(group, (held) => {
      assert.ok(held.ownerDied);
      assert.equal(held.deadOwner.pid, lock.previousOwner().pid);
      assert.equal(lock.previousOwner().label, 'the child');
    });
  }
  const [one, two] = [lock.lockSync(2), lock.lockSync(2)];
  one.markConsistent();
  assert.throws(() => two.markConsistent(), failure('NOT_INCONSISTENT'));
  one.unlock();
  two.unlock();
  await lock.withLock(1, (held) => assert.ok(!held.ownerDied));
  // What throws inside, and what abandons its place, counts as a death.
  await assert.rejects(lock.withLock(1, () => Promise.reject(new Error('inside'))), /inside/);
  await lock.withLock(2, (held) => {
    assert.equal(held.deadOwner.pid, process.pid);
    held.markConsistent();
  });
  lock.lockSync(1).abandon();
  await lock.reset();
  await lock.withLock(2, (held) => assert.ok(!held.ownerDied));
});

test('closing a group lock ends the waits', async (t) => {
  const file = newFile(t);
  const [holder, waiter] = [file.groupLock('lock'), file.groupLock('lock')];
  const held = holder.tryLock(1);
  const waits = [waiter.lock(2), waiter.lock(3)];
  await until(() => holder.waiters().length === 2);
  waiter.close();
  waiter.close();
  await Promise.all(waits.map((wait) => assert.rejects(wait, failure('CLOSED'))));
  assert.deepEqual(holder.waiters(), []);
  held.unlock();
  holder.close();
  await assert.rejects(holder.lock(1), failure('CLOSED'));
  for (const method of ['holders', 'waiters', 'previousOwner']) assert.throws(() => holder[method](), failure('CLOSED'));
});

test('groups, names and options that cannot be', async (t) => {
  const file = newFile(t);
  const lock = file.groupLock('lock', { onDeath: 'release' });
  for (const bad of [-1, 0.5, NaN, Infinity, 2 ** 53, -1n, 2n ** 64n]) {
    assert.throws(() => lock.tryLock(bad), outOfRange);
    assert.throws(() => lock.lockSync(bad), outOfRange);
    await assert.rejects(lock.lock(bad), outOfRange);
  }
  for (const bad of [undefined, null, '7', {}, [7], true]) assert.throws(() => lock.tryLock(bad), wrongType);
  for (const name of ['', 'a\0b', 'n'.repeat(64)]) assert.throws(() => file.groupLock(name), failure('BAD_NAME'));
  assert.throws(() => file.groupLock('absent', { mustExist: true }), failure('NOT_FOUND'));
  assert.throws(() => file.groupLock('lock', { patience: 1 }), failure('INVALID_ARGUMENT'));
  assert.throws(() => file.mutex('lock'), failure('KIND'));
});
