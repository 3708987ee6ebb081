'use strict';
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { dieInside, failure, newFile, until } = require('./support');

const wrongType = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
const outOfRange = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };
// Of each kind: a part, what is the same or overlaps with it, and another.
const KINDS = {
  rangeLock: { mine: [5, 8], same: [7, 2n ** 63n], other: [8, Infinity] },
  keyedLock: { mine: ['mine'], same: [Buffer.from('mine')], other: ['mine\0'] },
};

test('what is held and wanted is shown', async (t) => {
  const file = newFile(t);
  const ranges = file.rangeLock('ranges');
  const held = ranges.tryLock(5, 8, 'shared');
  const [holder] = ranges.holders();
  assert.deepEqual(holder.range, { start: 5n, end: 8n });
  assert.deepEqual([holder.group, holder.key, holder.mode], [null, null, 'shared']);
  const later = ranges.lock(7, Infinity, 'exclusive');
  await until(() => ranges.waiters().length === 1);
  assert.deepEqual(ranges.waiters()[0].range, { start: 7n, end: 2n ** 64n - 1n });
  held.unlock();
  (await later).unlock();
  const keys = file.keyedLock('keys');
  const hashes = new Set();
  for (const key of ['', 'a\0é', 'k'.repeat(47), 'k'.repeat(48)]) {
    await keys.withLock(key, 'exclusive', () => {
      const [{ key: shown, range, group }] = keys.holders();
      assert.deepEqual([range, group], [null, null]);
      assert.equal(Buffer.from(shown.bytes).toString(), key.slice(0, 47));
      assert.equal(shown.isWhole, key.length > 0 && key.length < 48);
      assert.match(shown.hash, /^[0-9a-f]{32}$/);
      hashes.add(shown.hash);
    });
  }
  assert.equal(hashes.size, 4);
  const mutex = file.mutex('mutex');
  await mutex.withLock(() => {
    const { range, group, key } = mutex.holder();
    assert.deepEqual([range, group, key], [null, null, null]);
  });
});

for (const [kind, { mine, same, other }] of Object.entries(KINDS)) {
  test(`${kind}: parts that overlap exclude each other, and others do not`, async (t) => {
    const file = newFile(t);
    const [lock, another] = [file[kind]('lock'), file[kind]('lock')];
    const held = await lock.lock(...mine, 'exclusive');
    assert.equal(held.mode, 'exclusive');
    assert.equal(another.tryLock(...same, 'shared'), null);
    assert.throws(() => another.lockSync(...same, 'exclusive', { timeout: 1 }), failure('TIMED_OUT'));
    assert.throws(() => lock.lockSync(...same, 'exclusive'), failure('DEADLOCK'));
    await assert.rejects(lock.lock(...same, 'exclusive', { timeout: 5 }), failure('TIMED_OUT'));
    await assert.rejects(lock.lock(...same, 'exclusive', { timeout: 0 }), failure('TIMED_OUT'));
    for (const timeout of [0, 5]) {
      const by = new RegExp(`before the turn came: process ${process.pid} .* has (it|had it for)`);
      await assert.rejects(lock.lock(...same, 'exclusive', { timeout }), by);
      await assert.rejects(another.lock(...same, 'exclusive', { timeout }), by);
    }
    const later = lock.lock(...same, 'shared');
    const end = new AbortController();
    const ends = assert.rejects(lock.lock(...same, 'exclusive', { signal: end.signal }), { name: 'AbortError' });
    await until(() => lock.waiters().length === 2);
    end.abort();
    await ends;
    assert.equal(lock.waiters().length, 1);
    // A waiter for one part does not keep another from being taken by the same object.
    const beside = await lock.lock(...other, kind === 'rangeLock' ? 'shared' : 'exclusive', { timeout: 0 }).catch(() => null);
    if (kind === 'keyedLock') assert.ok(beside);
    // Not before the waiter parks.
    await until(() => held.isContended());
    assert.throws(() => lock.close(), failure('STILL_HELD'));
    held.unlock();
    const reader = await later;
    beside?.unlock();
    const readers = [reader, lock.lockSync(...mine, 'shared'), another.tryLock(...mine, 'shared')];
    assert.equal(lock.holders().length, 3);
    for (const one of readers) one.unlock();
    for (const method of ['unlock', 'markConsistent', 'isContended']) {
      assert.throws(() => reader[method](), failure('NOT_OWNER'));
    }
    const result = await lock.withLock(...mine, 'exclusive', async () => lock.withLock(...other, 'exclusive', () => 7));
    assert.equal(result, 7);
    await assert.rejects(lock.withLock(...mine, 'shared', null), wrongType);
    assert.deepEqual(lock.holders(), []);
  });

  test(`${kind}: a dead owner concerns its part`, async (t) => {
    const file = newFile(t);
    const lock = file[kind]('lock', { onDeath: 'inform' });
    assert.equal(lock.previousOwner(), null);
    dieInside(file, kind);
    await lock.withLock(...other, 'exclusive', (held) => {
      assert.ok(!held.ownerDied);
      assert.throws(() => held.markConsistent(), failure('NOT_INCONSISTENT'));
    });
    await lock.withLock(...mine, 'shared', (held) => assert.ok(held.ownerDied));
    await lock.withLock(...mine, 'exclusive', (held) => {
      assert.equal(held.deadOwner.pid, lock.previousOwner().pid);
      held.markConsistent();
    });
    await lock.withLock(...mine, 'exclusive', (held) => assert.ok(!held.ownerDied));
    await lock.withLock(...mine, 'exclusive', (held) => held.abandon());
    await lock.withLock(...mine, 'exclusive', (held) => {
      assert.equal(held.deadOwner.pid, process.pid);
      held.markConsistent();
    });
    dieInside(file, kind);
    await lock.reset();
    await lock.withLock(...mine, 'exclusive', (held) => assert.ok(!held.ownerDied));
  });

  test(`${kind}: closing ends the waits`, async (t) => {
    const file = newFile(t);
    const [holder, waiter] = [file[kind]('lock'), file[kind]('lock')];
    const held = holder.tryLock(...mine, 'exclusive');
    const waits = [waiter.lock(...mine, 'shared'), waiter.lock(...same, 'shared')];
    await until(() => holder.waiters().length === 2);
    waiter.close();
    waiter.close();
    await Promise.all(waits.map((wait) => assert.rejects(wait, failure('CLOSED'))));
    assert.deepEqual(holder.waiters(), []);
    held.unlock();
    holder.close();
    await assert.rejects(holder.lock(...mine, 'shared'), failure('CLOSED'));
    for (const method of ['holders', 'waiters', 'previousOwner']) assert.throws(() => holder[method](), failure('CLOSED'));
  });

  test(`${kind}: modes, names and options that cannot be`, (t) => {
    const file = newFile(t);
    const lock = file[kind]('lock', { onDeath: 'release' });
    for (const mode of [undefined, null, 7]) assert.throws(() => lock.tryLock(...mine, mode), wrongType);
    for (const mode of ['', 'upgradable']) assert.throws(() => lock.tryLock(...mine, mode), failure('INVALID_ARGUMENT'));
    for (const name of ['', 'a\0b', 'n'.repeat(64)]) assert.throws(() => file[kind](name), failure('BAD_NAME'));
    assert.throws(() => file[kind]('absent', { mustExist: true }), failure('NOT_FOUND'));
    assert.throws(() => file[kind]('lock', { strict: true }));
    assert.throws(() => file.mutex('lock'), failure('KIND'));
  });
}

test('ranges and keys that cannot be', async (t) => {
  const file = newFile(t);
  const [ranges, keys] = [file.rangeLock('ranges'), file.keyedLock('keys')];
  for (const [start, end] of [[0, 0], [6, 5], [Infinity, 0], [2n ** 64n - 2n, 5]]) {
    assert.throws(() => ranges.tryLock(start, end, 'exclusive'), failure('EMPTY_RANGE'));
    assert.throws(() => ranges.lockSync(start, end, 'shared'), failure('EMPTY_RANGE'));
    await assert.rejects(ranges.lock(start, end, 'shared'), failure('EMPTY_RANGE'));
  }
  for (const bad of [-1, 0.5, NaN, -Infinity, 2 ** 53, -1n, 2n ** 64n]) {
    assert.throws(() => ranges.tryLock(bad, 5, 'exclusive'), outOfRange);
  }
  for (const bad of [null, undefined, '5', {}]) assert.throws(() => ranges.tryLock(0, bad, 'exclusive'), wrongType);
  for (const bad of [null, undefined, 5, {}, [1]]) assert.throws(() => keys.tryLock(bad, 'exclusive'), wrongType);
  const empty = keys.tryLock('', 'exclusive');
  assert.equal(keys.tryLock(new Uint8Array(0), 'shared'), null);
  const waits = keys.lock('', 'shared');
  await until(() => empty.isContended());
  empty.unlock();
  (await waits).unlock();
});

test('a key is what it was when it was asked for', async (t) => {
  const file = newFile(t);
  const [lock, another] = [file.keyedLock('keys'), file.keyedLock('keys')];
  const held = lock.tryLock('ada', 'exclusive');
  const key = Buffer.from('ada');
  const waits = another.lock(key, 'exclusive');
  key.fill(0);
  await until(() => held.isContended());
  held.unlock();
  const got = await waits;
  assert.equal(lock.tryLock('ada', 'shared'), null);
  lock.tryLock(key, 'exclusive').unlock();
  got.unlock();
});
