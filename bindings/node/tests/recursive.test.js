'use strict';
const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { test } = require('node:test');
const { Owner, RecursiveHeld, RecursiveMutex } = require('turnlock');
const { dieInside, failure, inChild, newFile, until } = require('./support');

const wrongType = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };

test('recursive: its owner takes it again, and to others it is taken until it is unlocked as often', async (t) => {
  const file = newFile(t);
  const [lock, other] = [file.recursiveMutex('lock'), file.recursiveMutex('lock')];
  const [mine, another] = [new Owner(), new Owner()];
  const first = await lock.lock(mine);
  const held = [first, lock.lockSync(mine), lock.tryLock(mine), await lock.lock(mine, { timeout: 0 })];
  assert.deepEqual(held.map(({ fencingToken }) => fencingToken), Array(4).fill(first.fencingToken));
  // In whichever order.
  for (const once of [held[2], held[0], held[3], held[1]]) {
    assert.ok(lock.depth(mine) > 0 && lock.depth(another) === 0);
    assert.equal(lock.tryLock(another), null);
    assert.equal(other.tryLock(mine), null);
    assert.throws(() => other.lockSync(mine, { timeout: 1 }), failure('TIMED_OUT'));
    assert.throws(() => lock.lockSync(another), failure('DEADLOCK'));
    assert.throws(() => lock.close(), failure('STILL_HELD'));
    once.unlock();
    assert.throws(() => once.unlock(), failure('NOT_OWNER'));
  }
  assert.equal(lock.depth(mine), 0);
  const next = other.tryLock(mine);
  assert.ok(next.fencingToken > first.fencingToken && next instanceof RecursiveHeld);
  next.unlock();
  lock.close();
});

test('recursive: nested sections of many owners add up', async (t) => {
  const file = newFile(t);
  const shared = file.recursiveMutex('lock');
  let count = 0;
  const add = (lock, owner, depth) =>
    lock.withLock(owner, async (held) => {
      assert.ok(!held.ownerDied);
      if (depth > 0) return add(lock, owner, depth - 1);
      const before = count;
      await null;
      count = before + 1;
    });
  const adds = async (lock) => {
    const owner = new Owner();
    for (let turn = 0; turn < 50; turn++) await add(lock, owner, turn % 4);
  };
  await Promise.all([adds(shared), adds(shared), adds(shared), adds(file.recursiveMutex('lock'))]);
  assert.equal(count, 200);
});

test('recursive: a wait is ended, and an owner does not wait twice', async (t) => {
  const lock = newFile(t).recursiveMutex('lock');
  const [mine, another] = [new Owner(), new Owner()];
  const held = lock.tryLock(mine);
  const end = new AbortController();
  const wait = lock.lock(another, { signal: end.signal });
  await assert.rejects(lock.lock(another), failure('HOLD_BUSY'));
  const again = await lock.lock(mine);
  end.abort();
  await assert.rejects(wait, { name: 'AbortError' });
  await assert.rejects(lock.lock(mine, { signal: end.signal }), { name: 'AbortError' });
  await assert.rejects(lock.lock(another, { timeout: 5 }), failure('TIMED_OUT'));
  held.unlock();
  again.unlock();
  const next = await lock.lock(another);
  assert.equal(next.isContended(), false);
  next.unlock();
});

test('recursive: it is one lock in every process', async (t) => {
  const file = newFile(t);
  const [lock, owner] = [file.recursiveMutex('lock'), new Owner()];
  const held = [lock.tryLock(owner), lock.tryLock(owner)];
  const script = `
    const { LockFile, Owner } = require('turnlock');
    const [path] = process.argv.slice(1);
    const lock = new LockFile(path).recursiveMutex('lock');
    console.log(lock.tryLock(new Owner()) !== null);`;
  const tries = () => inChild(script, file.path).stdout;
  for (const once of held) {
    assert.equal(tries(), 'false\n');
    once.unlock();
  }
  assert.equal(tries(), 'true\n');
  const status = spawnSync('turnlock', ['status', '--json', file.path], { encoding: 'utf8' });
  assert.match(status.stdout, /"recursive": ?true/);
});

test('recursive: the next holder is told of a death, once', async (t) => {
  const file = newFile(t);
  const [lock, owner] = [file.recursiveMutex('lock', { onDeath: 'inform' }), new Owner()];
  dieInside(file, 'recursiveMutex');
  const held = await lock.lock(owner);
  const again = await lock.lock(owner);
  assert.ok(held.ownerDied && !again.ownerDied && again.deadOwner === null);
  const { label, pid } = lock.previousOwner();
  assert.deepEqual([label, pid], ['the child', held.deadOwner.pid]);
  again.markConsistent();
  assert.throws(() => held.markConsistent(), failure('NOT_INCONSISTENT'));
  held.unlock();
  again.unlock();
  assert.throws(() => again.markConsistent(), failure('NOT_OWNER'));
  assert.equal(lock.holder(), null);
});

test('recursive: what is given up within is abandoned at the end', async (t) => {
  const file = newFile(t);
  const [lock, owner] = [file.recursiveMutex('lock', { onDeath: 'inform' }), new Owner()];
  await lock.withLock(owner, async () => {
    await assert.rejects(lock.withLock(owner, () => Promise.reject(new Error('half-way'))), /half-way/);
    assert.equal(lock.depth(owner), 1);
  });
  const held = await lock.lock(owner);
  assert.ok(held.ownerDied);
  // Without a repair it is closed until a reset.
  held.unlock();
  await assert.rejects(lock.lock(owner), failure('NOT_RECOVERABLE'));
  await lock.reset();
  (await lock.lock(owner)).unlock();
});

test('recursive: misuse', async (t) => {
  const file = newFile(t);
  const [lock, owner] = [file.recursiveMutex('lock'), new Owner()];
  for (const noOwner of [undefined, null, 7, 'me', {}, Object.create(Owner.prototype), Owner, file]) {
    await assert.rejects(lock.lock(noOwner), wrongType);
    await assert.rejects(lock.withLock(noOwner, () => {}), wrongType);
    for (const method of ['lockSync', 'tryLock', 'depth']) assert.throws(() => lock[method](noOwner), wrongType);
  }
  await assert.rejects(lock.withLock(owner, 'section'), wrongType);
  const once = lock.lockSync(owner);
  for (const wait of [{ timeout: '5' }, { signal: 7 }, 7]) {
    await assert.rejects(lock.lock(owner, wait), wrongType);
    assert.throws(() => lock.lockSync(owner, wait), wrongType);
  }
  const held = [once];
  while (held.length < 65_535) held.push(lock.tryLock(owner));
  assert.throws(() => lock.tryLock(owner), failure('RECURSION_LIMIT'));
  await assert.rejects(lock.lock(owner), failure('RECURSION_LIMIT'));
  for (const each of held) each.unlock();
  assert.equal(lock.holder(), null);

  // It is the lock that is recursive.
  file.mutex('lock');
  file.mutex('plain');
  assert.throws(() => file.recursiveMutex('plain'), failure('KIND'));
  assert.throws(() => file.recursiveMutex('a\0b'), failure('BAD_NAME'));
  assert.throws(() => file.recursiveMutex(7), wrongType);
  assert.throws(() => file.recursiveMutex('absent', { mustExist: true }), failure('NOT_FOUND'));
  assert.equal(file.recursiveMutex('strict', { strict: true }).patience, 0);
  assert.throws(() => new RecursiveMutex({ handle: 1 }, 'lock'), { name: 'TypeError' });
});

test('recursive: what is closed says so', async (t) => {
  const file = newFile(t);
  const [holder, lock] = [file.recursiveMutex('lock'), file.recursiveMutex('lock')];
  const [mine, another] = [new Owner(), new Owner()];
  const held = holder.tryLock(mine);
  const wait = lock.lock(another);
  await until(() => held.isContended());
  lock.close();
  lock.close();
  await assert.rejects(wait, failure('CLOSED'));
  await assert.rejects(lock.lock(another), failure('CLOSED'));
  await assert.rejects(lock.reset(), failure('CLOSED'));
  for (const method of ['lockSync', 'tryLock', 'previousOwner', 'holder', 'waiters']) {
    assert.throws(() => lock[method](another), failure('CLOSED'));
  }
  held.unlock();
  file.close();
  assert.throws(() => file.recursiveMutex('lock'), failure('CLOSED'));
});
