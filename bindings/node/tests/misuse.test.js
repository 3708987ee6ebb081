'use strict';
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { test } = require('node:test');
const { LockFile, Mutex, RwLock, Semaphore, TurnRing } = require('turnlock');
const { KINDS, failure, folder, inChild, newFile, until } = require('./support');

const wrongType = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
const outOfRange = { name: 'RangeError', code: 'ERR_OUT_OF_RANGE' };
const NO_TEXT = [null, undefined, 7, {}, [], Symbol('s'), Buffer.from('lock'), true];

test('paths, names and labels that cannot be', (t) => {
  const file = newFile(t);
  for (const given of NO_TEXT) {
    assert.throws(() => new LockFile(given), wrongType);
    assert.throws(() => file.removeLock(given), wrongType);
    for (const kind of KINDS) {
      assert.throws(() => file[kind](given), wrongType);
      if (given !== undefined) assert.throws(() => file[kind]('lock', { label: given }), wrongType);
    }
  }
  for (const name of ['', 'a\0b', 'n'.repeat(64), 'ü'.repeat(32)]) {
    for (const kind of KINDS) assert.throws(() => file[kind](name), failure('BAD_NAME'));
    assert.throws(() => file.removeLock(name), failure('BAD_NAME'));
  }
  assert.throws(() => new LockFile('a\0b'), failure('INVALID_ARGUMENT'));
  assert.throws(() => file.mutex('lock', { label: 'a\0b' }), failure('INVALID_ARGUMENT'));
  assert.throws(() => new LockFile('/no/such/folder'), { ...failure('NOT_FOUND'), message: /\/no\/such/ });
  const text = path.join(folder(t), 'text');
  fs.writeFileSync(text, 'x'.repeat(10_000));
  assert.throws(() => new LockFile(text), failure('NOT_A_LOCK_FILE'));
});

test('options that cannot be', (t) => {
  const file = newFile(t);
  const there = `${file.path}2`;
  for (const options of [null, 7, 'text']) {
    assert.throws(() => new LockFile(there, options), wrongType);
    for (const kind of KINDS) assert.throws(() => file[kind]('lock', options), wrongType);
  }
  for (const number of [-1, 1.5, NaN, Infinity, 2 ** 32]) {
    assert.throws(() => new LockFile(there, { participants: number }), outOfRange);
    assert.throws(() => file.turnRing('ring', { step: number }), outOfRange);
  }
  assert.throws(() => new LockFile(there, { participants: '7' }), wrongType);
  assert.throws(() => new LockFile(there, { participants: 5000 }), failure('INVALID_ARGUMENT'));
  assert.throws(() => new LockFile(there, { mode: 0o666 }), failure('INVALID_ARGUMENT'));
  assert.throws(() => new LockFile(there, { mustExist: 1 }), wrongType);
  assert.throws(() => new LockFile(there, { mustExist: true }), failure('NOT_FOUND'));
  assert.throws(() => new LockFile(there, { particpants: 7 }), { ...failure('INVALID_ARGUMENT'), message: /particpants/ });
  assert.throws(() => file.mutex('lock', { mustExist: true }), failure('NOT_FOUND'));
  assert.throws(() => file.mutex('lock', { patience: NaN }), outOfRange);
  file.mutex('lock', { patience: Infinity });
  assert.throws(() => file.turnRing('lock'), failure('KIND'));
  assert.throws(() => file.turnRing('ring', { algorithm: 'sum', step: 2 }), failure('INVALID_ARGUMENT'));
  for (const algorithm of ['bakery', 'toString', null, 7, {}]) {
    assert.throws(() => file.turnRing('ring', { algorithm }), failure('INVALID_ARGUMENT'));
  }
  for (const descriptor of [-1, 1.5, 2 ** 40, NaN, 12345]) {
    assert.throws(() => LockFile.openDescriptor(descriptor), failure('INVALID_ARGUMENT'));
  }
  for (const descriptor of [null, '3', undefined, {}]) {
    assert.throws(() => LockFile.openDescriptor(descriptor), wrongType);
  }
  for (const kind of [Mutex, TurnRing, RwLock, Semaphore]) {
    for (const forged of [undefined, null, 7, {}, { handle: 4096 }, file]) {
      assert.throws(() => new kind(forged, 'lock'), TypeError);
    }
    assert.throws(() => kind.prototype.waiters.call({}), TypeError);
  }
  assert.throws(() => LockFile.prototype.mutex.call({}, 'lock'), TypeError);
});

test('times and signals that cannot be', async (t) => {
  const file = newFile(t);
  const [holder, waiter] = [file.mutex('lock'), file.mutex('lock')];
  const held = holder.lockSync();
  for (const timeout of ['5', null, {}, 5n]) {
    assert.throws(() => waiter.lockSync({ timeout }), wrongType);
    await assert.rejects(waiter.lock({ timeout }), wrongType);
  }
  assert.throws(() => waiter.lockSync({ timeout: NaN }), outOfRange);
  await assert.rejects(waiter.lock({ timeout: NaN }), outOfRange);
  for (const timeout of [-Infinity, -1, 0, 1e-9]) {
    assert.throws(() => waiter.lockSync({ timeout }), failure('TIMED_OUT'));
    await assert.rejects(waiter.lock({ timeout }), failure('TIMED_OUT'));
    // Which process has it: this one.
    await assert.rejects(waiter.lock({ timeout }), { message: new RegExp(`came: process ${process.pid} .* has`) });
  }
  for (const signal of [null, 7, {}]) await assert.rejects(waiter.lock({ signal }), wrongType);
  assert.throws(() => waiter.lockSync({ signal: AbortSignal.timeout(1) }), failure('INVALID_ARGUMENT'));
  await assert.rejects(waiter.withLock('section'), wrongType);
  // Huge ones are waited for, until a signal ends them.
  for (const timeout of [2 ** 31, 1e300, Number.MAX_VALUE, Infinity]) {
    const end = new AbortController();
    const wait = waiter.lock({ timeout, signal: end.signal });
    await until(() => held.isContended());
    end.abort();
    await assert.rejects(wait, { name: 'AbortError' });
  }
  held.unlock();
  for (const timeout of [1e9, 1e300, Infinity]) waiter.lockSync({ timeout }).unlock();
});

for (const kind of KINDS) {
  test(`${kind}: misuse of a lock`, async (t) => {
    const file = newFile(t);
    const [lock, another] = [file[kind]('lock'), file[kind]('lock')];
    const held = lock.lockSync();
    assert.throws(() => lock.lockSync(), failure('DEADLOCK'));
    assert.equal(lock.tryLock(), null);
    await assert.rejects(lock.lock({ timeout: 1 }), failure('TIMED_OUT'));
    assert.throws(() => file.removeLock('lock'), failure('IN_USE'));
    assert.throws(() => lock.close(), failure('STILL_HELD'));
    const waits = another.lock();
    assert.throws(() => another.lockSync(), failure('DEADLOCK'));
    held.unlock();
    for (const method of ['unlock', 'abandon', 'markConsistent', 'isContended']) {
      assert.throws(() => held[method](), failure('NOT_OWNER'));
    }
    (await waits).unlock();
    file.removeLock('lock');
    await assert.rejects(lock.lock(), failure('NOT_FOUND'));
    assert.throws(() => lock.lockSync(), failure('NOT_FOUND'));
  });

  test(`${kind}: what is closed says so`, async (t) => {
    const file = newFile(t);
    const [holder, lock] = [file[kind]('lock'), file[kind]('lock')];
    const held = holder.lockSync();
    const waits = [lock.lock(), lock.lock()];
    await until(() => held.isContended());
    lock.close();
    lock.close();
    await Promise.all(waits.map((wait) => assert.rejects(wait, failure('CLOSED'))));
    assert.deepEqual(holder.waiters(), []);
    for (const method of ['lock', 'reset']) await assert.rejects(lock[method](), failure('CLOSED'));
    await assert.rejects(lock.withLock(() => {}), failure('CLOSED'));
    for (const method of ['lockSync', 'tryLock', 'previousOwner', 'holder', 'waiters']) {
      assert.throws(() => lock[method](), failure('CLOSED'));
    }
    held.unlock();
    file.close();
    file.close();
    for (const use of [() => file[kind]('lock'), () => file.removeLock('lock'), () => file.path]) {
      assert.throws(use, failure('CLOSED'));
    }
    // The locks stay open without their file.
    holder.lockSync().unlock();
  });
}

// In a process of its own, where garbage can be asked for.
test('garbage gives its slots back, and a finaliser may use what is closed', (t) => {
  const file = newFile(t, { participants: 4 });
  const script = `
    require('v8').setFlagsFromString('--expose-gc');
    const gc = require('vm').runInNewContext('gc');
    const { LockFile } = require('turnlock');
    const file = new LockFile(process.argv[1]);
    const closed = file.mutex('closed');
    closed.close();
    const said = [];
    const finaliser = new FinalizationRegistry(() => {
      try { closed.tryLock(); } catch (error) { said.push(error.code); }
      file.mutex('lock').tryLock().unlock();
    });
    (async () => {
      finaliser.register({}, null);
      for (let i = 0; i < 30; ) {
        try {
          file.mutex('lock').lockSync().unlock();
          i++;
        } catch (error) {
          if (error.code !== 'ERR_TURNLOCK_PARTICIPANTS_FULL') throw error;
        }
        gc();
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      console.log(said.join());
    })();`;
  const child = inChild(script, file.path);
  assert.equal(child.stdout, 'ERR_TURNLOCK_CLOSED\n', child.stderr);
});

test('a library of another ABI number, or none, is refused', () => {
  const load = (library) =>
    inChild(`process.env.TURNLOCK_LIBRARY = process.argv[1];
      try { require('turnlock'); } catch (error) { console.log(error.code, error.message); }`, library).stdout;
  if (process.env.TURNLOCK_FAKE_LIBRARY) {
    assert.match(load(process.env.TURNLOCK_FAKE_LIBRARY), /^ERR_TURNLOCK_UNSUPPORTED .* has ABI version 999/);
  }
  assert.match(load('/no/such/library.so'), /^ERR_TURNLOCK_UNSUPPORTED .* not found/);
});

test('the numbers are those of turnlock.h', () => {
  const header = fs.readFileSync(path.join(__dirname, '../../../include/turnlock.h'), 'utf8');
  const numbers = new Map([...header.matchAll(/^#define TURNLOCK_(\w+) \(?(-?\d+)\)?$/gm)].map(([, name, n]) => [name, Number(n)]));
  const { STATUS } = require('../lib/errors');
  const { ABI_VERSION, CONTENDED, FLAGS, KINDS, LOCK_FLAGS, MODES, OWNER_DEAD, WAITS } = require('../lib/native');
  const failures = [...numbers].filter(([name]) => name.startsWith('ERROR_'));
  assert.deepEqual(Object.entries(STATUS).map(([name, n]) => [`ERROR_${name}`, n]), failures);
  const named = (prefix, entries) => Object.entries(entries).map(([name, n]) => [`${prefix}_${name.toUpperCase()}`, n]);
  const all = [...named('MODE', MODES), ...named('WAIT', WAITS), ...Object.entries({ ...FLAGS, ABI_VERSION, CONTENDED, OWNER_DEAD })];
  for (const [name, n] of all) assert.equal(numbers.get(name), n, name);
  // A kind that has a flag has it by that number; each flag is one of some kind.
  for (const [flag, n] of Object.entries(LOCK_FLAGS)) {
    const of = KINDS.map((kind) => numbers.get(`${kind.toUpperCase()}_${flag}`)).filter((number) => number !== undefined);
    assert.ok(of.length >= 3 && of.every((number) => number === n), flag);
  }
});
