'use strict';
const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const { test } = require('node:test');
const { LockFile } = require('turnlock');
const { KINDS, dieInside, failure, inChild, newFile, until } = require('./support');

for (const kind of KINDS) {
  test(`${kind}: promises and blocking calls add up`, async (t) => {
    const file = newFile(t);
    const shared = file[kind]('lock');
    let count = 0;
    const adds = async (lock) => {
      for (let turn = 0; turn < 50; turn++) {
        const held = await lock.lock();
        const before = count;
        await null;
        count = before + 1;
        held.unlock();
      }
    };
    await Promise.all([adds(shared), adds(shared), adds(file[kind]('lock')), adds(file[kind]('lock'))]);
    shared.lockSync().unlock();
    assert.equal(count, 200);
  });

  test(`${kind}: fencing tokens increase, and withLock gives what its section gives`, async (t) => {
    const lock = newFile(t)[kind]('lock');
    let last = 0n;
    for (let turn = 0; turn < 5; turn++) {
      const token = await lock.withLock((held) => {
        assert.equal(lock.held, held);
        return held.fencingToken;
      });
      assert.ok(token > last);
      last = token;
    }
    assert.equal(lock.held, null);
  });

  test(`${kind}: another process keeps this one out`, async (t) => {
    const file = newFile(t);
    const lock = file[kind]('lock');
    const held = lock.lockSync();
    const script = `
      const { LockFile } = require('turnlock');
      const [path, kind] = process.argv.slice(1);
      const lock = new LockFile(path)[kind]('lock');
      if (lock.tryLock()) process.exit(1);
      try { lock.lockSync({ timeout: 1 }); } catch (error) { console.log(error.code); }
      lock.lock({ timeout: 1 }).catch((error) => console.log(error.code));`;
    const child = inChild(script, file.path, kind);
    assert.equal(child.stdout, 'ERR_TURNLOCK_TIMED_OUT\nERR_TURNLOCK_TIMED_OUT\n', child.stderr);
    held.unlock();
  });

  test(`${kind}: the next holder is told of a death`, async (t) => {
    const file = newFile(t);
    const lock = file[kind]('lock', { onDeath: 'inform' });
    assert.equal(lock.previousOwner(), null);
    assert.equal(lock.deathPolicy, 'inform');
    dieInside(file, kind);
    const held = await lock.lock();
    assert.ok(held.ownerDied && held.deadOwner.fencingToken < held.fencingToken);
    const { label, pid } = lock.previousOwner();
    assert.deepEqual([label, pid], ['the child', held.deadOwner.pid]);
    held.markConsistent();
    held.unlock();
    await lock.withLock((next) => {
      assert.ok(!next.ownerDied && next.deadOwner === null);
      assert.throws(() => next.markConsistent(), failure('NOT_INCONSISTENT'));
    });
  });

  test(`${kind}: without a repair the lock is closed until a reset`, async (t) => {
    const file = newFile(t);
    const lock = file[kind]('lock', { onDeath: 'inform' });
    dieInside(file, kind);
    const held = lock.lockSync();
    await assert.rejects(lock.reset({ timeout: 10 }), failure('TIMED_OUT'));
    const warned = once(process, 'warning');
    held.unlock();
    const [warning] = await warned;
    assert.deepEqual([warning.name, warning.code], ['TurnlockWarning', 'TURNLOCK_NOT_RECOVERABLE']);
    await assert.rejects(lock.lock(), failure('NOT_RECOVERABLE'));
    assert.throws(() => lock.lockSync(), failure('NOT_RECOVERABLE'));
    assert.throws(() => lock.tryLock(), failure('NOT_RECOVERABLE'));
    await lock.reset();
    lock.lockSync().unlock();
  });

  test(`${kind}: a section that throws abandons the lock`, async (t) => {
    const lock = newFile(t)[kind]('lock');
    await assert.rejects(lock.withLock(() => Promise.reject(new Error('half-way'))), /half-way/);
    const held = lock.tryLock();
    assert.equal(held.deadOwner.pid, process.pid);
    held.abandon();
    const next = await lock.lock();
    assert.ok(next.ownerDied);
    next.markConsistent();
    next.unlock();
  });

  test(`${kind}: a signal ends a wait and leaves nothing in the queue`, async (t) => {
    const file = newFile(t);
    const [holder, waiter] = [file[kind]('lock'), file[kind]('lock')];
    const held = holder.lockSync();
    const end = new AbortController();
    // One waits in the library, the other one for it.
    const waits = [waiter.lock({ signal: end.signal }), waiter.lock({ signal: end.signal })];
    await until(() => held.isContended());
    end.abort();
    await Promise.all(waits.map((wait) => assert.rejects(wait, { name: 'AbortError' })));
    assert.deepEqual(holder.waiters(), []);
    await assert.rejects(waiter.lock({ signal: end.signal }), { name: 'AbortError' });
    await assert.rejects(waiter.lock({ timeout: 20 }), failure('TIMED_OUT'));
    // The cancel is over: the next wait is not ended by it.
    const wait = waiter.lock();
    await until(() => held.isContended());
    held.unlock();
    (await wait).unlock();
  });

  test(`${kind}: a wait that is ended while it succeeds holds nothing`, async (t) => {
    const file = newFile(t);
    const [holder, waiter] = [file[kind]('lock'), file[kind]('lock')];
    for (let turn = 0; turn < 20; turn++) {
      const held = holder.lockSync();
      const end = new AbortController();
      const wait = waiter.lock({ signal: end.signal });
      await until(() => held.isContended());
      held.unlock();
      end.abort();
      await wait.then((got) => got.unlock(), (error) => assert.equal(error.name, 'AbortError'));
      assert.equal(holder.holder(), null);
    }
  });
}

test('holders and waiters are seen', async (t) => {
  const file = newFile(t);
  const lock = file.mutex('lock', { label: 'first', strict: true, onDeath: 'release' });
  assert.equal(lock.patience, 0);
  assert.equal(lock.holder(), null);
  const held = lock.lockSync();
  const waits = Array.from({ length: 10 }, (_, i) => file.mutex('lock', { label: `waiter ${i}` }).lock());
  await until(() => lock.waiters().length === 10);
  const { label, pid, fencingToken, life, state } = lock.holder();
  assert.deepEqual(lock.holders().map((holder) => holder.slot), [lock.holder().slot]);
  assert.deepEqual([label, pid, fencingToken, life, state], ['first', process.pid, held.fencingToken, 'alive', 'holding']);
  held.unlock();
  await Promise.all(waits.map(async (wait) => (await wait).unlock()));
});

test('a member leaves a ring', (t) => {
  const ring = newFile(t).turnRing('ring', { algorithm: 'sum', step: 3, member: true });
  ring.leave();
  const held = ring.lockSync();
  assert.throws(() => ring.leave(), failure('STILL_HELD'));
  held.unlock();
  assert.ok(!held.isHeld);
  assert.deepEqual(ring.waiters().map(({ state }) => state), ['ring member']);
  ring.leave();
  assert.deepEqual(ring.waiters(), []);
});

test('a slot is a place on the ring', async (t) => {
  const file = newFile(t);
  const order = [];
  const rings = [6, 1, 4].map((slot) => ({ slot, ring: file.turnRing('ring', { slot, member: true }) }));
  // In another order than that of their places.
  // They are in the ring from then on, with a turn or without.
  for (const { ring } of rings) await ring.lock({ timeout: 1 }).then((held) => held.unlock(), () => {});
  await Promise.all(rings.map(async ({ slot, ring }) => {
    for (let turn = 0; turn < 20; turn++) await ring.withLock(() => order.push(slot));
    ring.leave();
  }));
  const at = order.slice(0, 51).map((slot) => [1, 4, 6].indexOf(slot));
  for (let turn = 1; turn < at.length; turn++) assert.equal(at[turn], (at[turn - 1] + 1) % 3, String(order));
  assert.throws(() => file.turnRing('ring', { slot: 4 }).lockSync(), failure('IN_USE'));
  assert.throws(() => file.turnRing('ring', { slot: 10000 }).lockSync(), failure('INVALID_ARGUMENT'));
});

test('a file by its descriptor', (t) => {
  const file = newFile(t);
  const held = file.mutex('lock').lockSync();
  const descriptor = fs.openSync(file.path, 'r+');
  const same = LockFile.openDescriptor(descriptor);
  fs.closeSync(descriptor);
  assert.equal(same.mutex('lock').tryLock(), null);
  assert.equal(same.path, file.path);
  held.unlock();
});

test('a wait does not keep files from being read', async (t) => {
  const file = newFile(t);
  // More than libuv has threads.
  const locks = Array.from({ length: 6 }, (_, i) => [file.mutex(`${i}`).lockSync(), file.mutex(`${i}`).lock()]);
  await until(() => locks.every(([held]) => held.isContended()));
  assert.ok((await fs.promises.readFile(__filename)).length > 0);
  for (const [held, wait] of locks) {
    held.unlock();
    (await wait).unlock();
  }
});

test('a process ends while it waits', (t) => {
  const file = newFile(t);
  const held = file.mutex('lock').lockSync();
  const script = `
    const { LockFile } = require('turnlock');
    const lock = new LockFile(process.argv[1]).mutex('lock');
    lock.lock();
    setTimeout(() => process.exit(7), 100);`;
  const { status, signal, stderr } = inChild(script, file.path);
  assert.equal(status, 7, `${signal}: ${stderr}`);
  held.unlock();
});

test('an import has the names of a require', async () => {
  const imported = await import('turnlock');
  assert.equal(imported.LockFile, LockFile);
  assert.match(imported.libraryVersion, /^\d+\.\d+\.\d+$/);
});
