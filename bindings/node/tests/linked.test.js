'use strict';
// Linked mutexes: what a program meets that has nothing to do with other hosts. Their agent is examples/agent.rs.

const assert = require('node:assert/strict');
const test = require('node:test');
const readline = require('node:readline');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const { Owner } = require('turnlock');
const { failure, newFile, until } = require('./support');

// The agent of a lock, which is created linked and is away: what tells it a word, and waits until it has done that.
function agent(t, file, name) {
  const child = spawn(process.env.TURNLOCK_AGENT, [file.path, name], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  t.after(async () => {
    child.stdin.end();
    assert.equal((await exit)[0], 0);
  });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async (word) => {
    child.stdin.write(`${word}\n`);
    assert.equal((await lines.next()).value, word);
  };
}

test('a linked mutex is entered while it is home', async (t) => {
  const file = newFile(t);
  const tell = agent(t, file, 'lock');
  await tell('home');
  const mutex = file.mutex('lock');
  await mutex.withLock((held) => assert.ok(held.stillOwner()));
  await tell('away');
  assert.equal(mutex.tryLock(), null);
  await assert.rejects(mutex.lock({ timeout: 10 }), failure('TIMED_OUT'));
  assert.throws(() => mutex.lockSync({ timeout: 10 }), /it is linked, and away/);
  const waits = mutex.lock();
  await until(() => mutex.waiters().length === 1);
  await tell('home');
  (await waits).unlock();
});

test('a holder sees that the lease has ended', async (t) => {
  const file = newFile(t);
  const tell = agent(t, file, 'lock');
  await tell('home');
  await tell('lease');
  const mutex = file.mutex('lock');
  let held = await mutex.lock();
  assert.ok(held.stillOwner());
  await tell('ended');
  assert.equal(held.stillOwner(), false);
  assert.throws(() => held.unlock(), failure('LEASE_ENDED'));
  // It is unlocked all the same.
  assert.equal(held.isHeld, false);
  assert.throws(() => held.stillOwner(), failure('NOT_OWNER'));
  assert.equal(mutex.tryLock(), null);
  await tell('lease');
  // By the same object, which does not take itself for the holder.
  await assert.rejects(mutex.withLock(() => tell('ended')), failure('LEASE_ENDED'));
  await tell('lease');
  held = mutex.tryLock();
  held.unlock();
  mutex.close();
});

test('what is not linked is of this host alone', async (t) => {
  const file = newFile(t);
  const ring = file.turnRing('ring').lockSync();
  assert.ok(ring.stillOwner());
  ring.unlock();
  const again = file.recursiveMutex('recursive').lockSync(new Owner());
  assert.ok(again.stillOwner());
  again.unlock();
  assert.throws(() => again.stillOwner(), failure('NOT_OWNER'));
});
