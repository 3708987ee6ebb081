'use strict';
const assert = require('node:assert/strict');
const { test } = require('node:test');
const { dieInside, failure, newFile, until } = require('./support');

const wrongType = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
const outOfRange = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };

test('permits bound a pool', async (t) => {
  const file = newFile(t);
  const objects = [file.semaphore('jobs', { permits: 3 }), file.semaphore('jobs')];
  let inside = 0;
  let most = 0;
  const works = async (semaphore) => {
    for (let turn = 0; turn < 5; turn++) {
      await semaphore.withPermits(1, async () => {
        most = Math.max(most, ++inside);
        await new Promise((resolve) => setTimeout(resolve, 1));
        inside--;
      });
    }
  };
  await Promise.all(Array.from({ length: 12 }, (_, i) => works(objects[i % 2])));
  assert.ok(most === 3 || most === 2, `${most} were inside`);
});

test('permits in parts, and too many', async (t) => {
  const file = newFile(t);
  const semaphore = file.semaphore('permits', { permits: 5 });
  const three = await semaphore.acquire(3);
  const two = semaphore.acquireSync(2);
  assert.equal(semaphore.tryAcquire(), null);
  assert.throws(() => semaphore.acquireSync(), failure('DEADLOCK'));
  await assert.rejects(semaphore.acquire(1, { timeout: 5 }), failure('TIMED_OUT'));
  assert.throws(() => three.release(4), failure('TOO_MANY_RELEASED'));
  three.release(1);
  assert.equal(three.count, 2);
  assert.deepEqual(semaphore.holders().map(({ permits }) => permits).sort(), [2, 2]);
  assert.equal(three.isContended(), false);
  assert.throws(() => semaphore.close(), failure('STILL_HELD'));
  three.release();
  two.release();
  for (const use of [() => two.release(), () => two.release(1), () => two.isContended()]) {
    assert.throws(use, failure('NOT_OWNER'));
  }
  for (const count of [0, 6]) {
    assert.throws(() => semaphore.tryAcquire(count), failure('PERMITS'));
    await assert.rejects(semaphore.acquire(count), failure('PERMITS'));
  }
  for (const count of [-1, 1.5, NaN, 2 ** 32]) assert.throws(() => semaphore.acquireSync(count), outOfRange);
  for (const count of [null, '1', {}]) assert.throws(() => semaphore.tryAcquire(count), wrongType);
  await assert.rejects(semaphore.withPermits(1, 'section'), wrongType);
  semaphore.resize(2);
  assert.equal(semaphore.permits, 2);
  assert.throws(() => semaphore.resize(0), failure('INVALID_ARGUMENT'));
  assert.throws(() => file.semaphore('none', { permits: 0 }), failure('PERMITS'));
  assert.throws(() => file.semaphore('a\0b'), failure('BAD_NAME'));
  semaphore.close();
  semaphore.close();
  assert.throws(() => semaphore.tryAcquire(), failure('CLOSED'));
  assert.throws(() => semaphore.permits, failure('CLOSED'));
  await assert.rejects(semaphore.acquire(), failure('CLOSED'));
});

test('a signal ends a wait for permits and leaves nothing in the queue', async (t) => {
  const file = newFile(t);
  const [holder, waiter] = [file.semaphore('permits'), file.semaphore('permits')];
  const held = holder.tryAcquire();
  const end = new AbortController();
  const waits = [waiter.acquire(1, { signal: end.signal }), waiter.acquire(1, { signal: end.signal })];
  await until(() => holder.waiters().length === 1);
  end.abort();
  await Promise.all(waits.map((wait) => assert.rejects(wait, { name: 'AbortError' })));
  assert.deepEqual(holder.waiters(), []);
  const last = waiter.acquire();
  await until(() => held.isContended());
  held.release();
  (await last).release();
  // Closing ends them too.
  const again = holder.tryAcquire();
  const closed = waiter.acquire();
  await until(() => holder.waiters().length === 1);
  waiter.close();
  await assert.rejects(closed, failure('CLOSED'));
  again.release();
});

test('permits of the dead come back', async (t) => {
  const file = newFile(t);
  dieInside(file, 'semaphore');
  (await file.semaphore('lock').acquire()).release();
});

test('readers are beside each other, and writers alone', async (t) => {
  const file = newFile(t);
  const [lock, another] = [file.rwLock('lock'), file.rwLock('lock')];
  const readers = [await lock.lock('shared'), lock.lockSync('shared'), another.tryLock('shared')];
  assert.equal(lock.tryLock('exclusive'), null);
  assert.throws(() => lock.lockSync('exclusive'), failure('DEADLOCK'));
  assert.throws(() => file.rwLock('lock').lockSync('exclusive', { timeout: 1 }), failure('TIMED_OUT'));
  const upgradable = await another.lock('upgradable');
  assert.equal(upgradable.tryUpgrade(), false);
  await assert.rejects(upgradable.upgrade({ timeout: 5 }), failure('TIMED_OUT'));
  const end = new AbortController();
  const ends = assert.rejects(upgradable.upgrade({ signal: end.signal }), { name: 'AbortError' });
  await until(() => lock.holders().some(({ mode }) => mode === 'upgrading'));
  assert.throws(() => upgradable.unlock(), failure('NOT_OWNER'));
  end.abort();
  await ends;
  assert.deepEqual(lock.holders().map(({ mode }) => mode).sort(), ['shared', 'shared', 'shared', 'upgradable']);
  const upgraded = upgradable.upgrade();
  for (const reader of readers) reader.unlock();
  await upgraded;
  assert.equal(upgradable.mode, 'exclusive');
  assert.equal(lock.tryLock('shared'), null);
  upgradable.downgrade('shared');
  const reader = await lock.lock('shared');
  assert.equal(reader.fencingToken, upgradable.fencingToken);
  assert.throws(() => reader.downgrade('upgradable'), failure('NOT_UPGRADABLE'));
  assert.throws(() => reader.markConsistent(), failure('NOT_EXCLUSIVE'));
  assert.throws(() => reader.tryUpgrade(), failure('NOT_UPGRADABLE'));
  assert.throws(() => lock.close(), failure('STILL_HELD'));
  reader.unlock();
  upgradable.unlock();
  for (const method of ['unlock', 'abandon', 'markConsistent', 'tryUpgrade', 'isContended']) {
    assert.throws(() => reader[method](), failure('NOT_OWNER'));
  }
  for (const mode of [undefined, null, 7]) assert.throws(() => lock.tryLock(mode), wrongType);
  for (const mode of ['', 'toString', 'Shared']) {
    assert.throws(() => lock.tryLock(mode), failure('INVALID_ARGUMENT'));
    await assert.rejects(lock.lock(mode), failure('INVALID_ARGUMENT'));
  }
  lock.close();
  await assert.rejects(lock.lock('shared'), failure('CLOSED'));
  for (const method of ['holders', 'waiters', 'previousOwner']) assert.throws(() => lock[method](), failure('CLOSED'));
});

test('readers are told of a writer that died, until a writer repairs', async (t) => {
  const file = newFile(t);
  const lock = file.rwLock('lock', { onDeath: 'inform' });
  assert.equal(lock.previousOwner(), null);
  dieInside(file, 'rwLock');
  await lock.withLock('shared', (held) => assert.ok(held.ownerDied));
  const { label, pid } = lock.previousOwner();
  const writer = await lock.lock('exclusive');
  assert.deepEqual([label, pid], ['the child', writer.deadOwner.pid]);
  writer.unlock();
  await assert.rejects(lock.lock('shared'), failure('NOT_RECOVERABLE'));
  await lock.reset();
  await assert.rejects(lock.withLock('exclusive', () => Promise.reject(new Error('half-way'))), /half-way/);
  await lock.withLock('exclusive', (held) => {
    assert.equal(held.deadOwner.pid, process.pid);
    held.markConsistent();
  });
  await lock.withLock('shared', (held) => assert.ok(!held.ownerDied));
});

test('the file is closed before its locks', async (t) => {
  const file = newFile(t);
  const semaphore = file.semaphore('permits', { permits: 2 });
  file.close();
  const both = [await semaphore.acquire(), semaphore.tryAcquire()];
  for (const one of both) one.release();
  semaphore.close();
});

test('what is held has the label of its lock, and its slots are used again', async (t) => {
  const file = newFile(t, { participants: 16, label: 'the file' });
  for (const label of [undefined, 'mine']) {
    const lock = file.rwLock(`lock ${label}`, { label });
    for (let turn = 0; turn < 20; turn++) {
      const held = [lock.lockSync('shared'), await lock.lock('shared'), lock.tryLock('shared')];
      const labels = lock.holders().map((holder) => holder.label);
      assert.deepEqual(labels, Array(3).fill(label ?? 'the file'));
      for (const one of held) one.unlock();
      assert.ok(held.every(({ isHeld }) => !isHeld));
    }
  }
});

test('a lock without a holder takes no slot', (t) => {
  const file = newFile(t, { participants: 8 });
  const locks = Array.from({ length: 20 }, (_, i) => file.rwLock(`${i}`));
  for (const lock of locks) lock.lockSync('exclusive').unlock();
  const held = locks.slice(0, 7).map((lock) => lock.tryLock('shared'));
  for (const one of held) one.unlock();
});
