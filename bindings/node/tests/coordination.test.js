'use strict';
// Conditions, events, barriers and onces.

const assert = require('node:assert/strict');
const { test } = require('node:test');
const { Barrier, Condition, Event, Once, Owner } = require('turnlock');
const { besides, failure, inChild, newFile, until } = require('./support');

const limited = { timeout: 60_000 };
const wrongType = { name: 'TypeError', code: 'ERR_INVALID_ARG_TYPE' };
const soon = () => new Promise((resolve) => setTimeout(resolve, 30));

// Notifies again until it has notified so many.
async function notified(condition, count = 1) {
  let sum = 0;
  await until(() => (sum += condition.notifyOne()) === count);
}

// A process that has the file, and does what it is told in lines of JavaScript.
function party(t, file, label = 'the child') {
  const script = `
    const { LockFile, Owner } = require('turnlock');
    const file = new LockFile(process.argv[1], { label: process.argv[2] });
    const say = (text) => console.log(text);
    const never = () => new Promise((resolve) => setTimeout(resolve, 1e6));
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => eval(line));
    say('ready');`;
  return besides(t, script, file.path, label);
}

test('condition: a queue between processes', limited, async (t) => {
  const file = newFile(t);
  const [mutex, changed] = [file.mutex('mutex'), file.condition('changed')];
  const child = party(t, file);
  assert.equal(await child.says(), 'ready');
  // The child waits three times, each time as a waiter that has come since.
  child.tell(`
    (async () => {
      const [mutex, changed] = [file.mutex('mutex'), file.condition('changed')];
      const held = await mutex.lock();
      for (let turn = 0; turn < 3; turn++) { await changed.wait(held); say(held.isHeld && held.fencingToken > 0n); }
      held.unlock();
    })()`.replaceAll('\n', ' '));
  for (let turn = 0; turn < 3; turn++) {
    await notified(changed);
    assert.equal(await child.says(), 'true');
  }
  (await mutex.lock({ timeout: 20_000 })).unlock();
  assert.equal(changed.notifyOne(), 0);
  assert.equal(changed.notifyAll(), 0);
});

test('condition: others take the lock by the same object meanwhile, and waiters go on in order', limited, async (t) => {
  const file = newFile(t);
  const [mutex, changed] = [file.mutex('mutex'), file.condition('changed')];
  const order = [];
  let inside = 0;
  const waits = [];
  for (let i = 0; i < 4; i++) {
    const held = await mutex.lock();
    const before = held.fencingToken;
    const wait = changed.wait(held);
    assert.ok(!held.isHeld);
    assert.throws(() => held.unlock(), failure('NOT_OWNER'));
    waits.push(wait.then(async () => {
      assert.equal(++inside, 1);
      assert.ok(held.isHeld && held.fencingToken > before && !held.ownerDied);
      assert.equal(mutex.held, held);
      order.push(i);
      await soon();
      inside--;
      held.unlock();
    }));
  }
  assert.throws(() => mutex.close(), failure('STILL_HELD'));
  const other = await mutex.lock();
  assert.throws(() => changed.waitSync(other), failure('DEADLOCK'));
  assert.equal(changed.notifyOne(), 1);
  assert.equal(changed.notifyAll(), 3);
  await soon();
  assert.deepEqual(order, []);
  other.unlock();
  // Those notified may be queued for the lock in another order; all of them come.
  await Promise.all(waits);
  assert.deepEqual([...order].sort(), [0, 1, 2, 3]);
  mutex.close();
});

test('condition: blocking this thread while a promise waits with the lock is refused', limited, async (t) => {
  const file = newFile(t);
  const [mutex, changed] = [file.mutex('mutex'), file.condition('changed')];
  let waits = false;
  const wait = mutex.withLock((held) => {
    waits = true;
    return changed.wait(held);
  });
  await until(() => waits);
  const other = await file.mutex('mutex').lock();
  assert.throws(() => mutex.lockSync(), failure('DEADLOCK'));
  assert.equal(changed.notifyOne(), 1);
  assert.throws(() => mutex.lockSync(), failure('DEADLOCK'));
  other.unlock();
  await wait;
  mutex.lockSync().unlock();
});

test('condition: an end of the wait gives the lock back', limited, async (t) => {
  const file = newFile(t);
  const [mutex, changed] = [file.mutex('mutex'), file.condition('changed')];
  const held = mutex.lockSync();
  assert.throws(() => changed.waitSync(held, { timeout: 5 }), failure('TIMED_OUT'));
  for (const timeout of [-1, 0, 20]) {
    await assert.rejects(changed.wait(held, { timeout }), failure('TIMED_OUT'));
    assert.ok(held.isHeld);
  }
  const end = new AbortController();
  const wait = assert.rejects(changed.wait(held, { signal: end.signal, timeout: 1e300 }), { name: 'AbortError' });
  await soon();
  end.abort();
  await wait;
  assert.ok(held.isHeld);
  await assert.rejects(changed.wait(held, { signal: end.signal }), { name: 'AbortError' });
  // The cancel is over: the next wait is not ended by it.
  const next = changed.wait(held);
  await notified(changed);
  await next;
  const closed = assert.rejects(changed.wait(held), failure('CLOSED'));
  await soon();
  changed.close();
  changed.close();
  await closed;
  assert.ok(held.isHeld);
  assert.throws(() => changed.notifyOne(), failure('CLOSED'));
  await assert.rejects(changed.wait(held), failure('CLOSED'));
  held.unlock();
  assert.equal(mutex.holder(), null);
});

test('condition: a wait that is not awaited by its section is, before the lock is let go', limited, async (t) => {
  const file = newFile(t);
  const [mutex, changed] = [file.mutex('mutex'), file.condition('changed')];
  let wait;
  const section = mutex.withLock((held) => {
    wait = changed.wait(held);
  });
  await notified(changed);
  await Promise.all([wait, section]);
  assert.equal(mutex.holder(), null);
});

test('condition: the notification of a waiter that is killed goes to the next one', limited, async (t) => {
  const file = newFile(t);
  const [mutex, changed] = [file.mutex('mutex'), file.condition('changed')];
  const child = party(t, file);
  await child.says();
  child.tell("file.mutex('mutex').withLock((held) => { say('waits'); return file.condition('changed').wait(held); })");
  assert.equal(await child.says(), 'waits');
  // The child has unlocked, so it waits.
  const held = await mutex.lock();
  const wait = changed.wait(held);
  await until(() => mutex.holder() === null);
  // It is notified, cannot have the lock, and is killed.
  const other = await file.mutex('mutex').lock();
  assert.equal(changed.notifyOne(), 1);
  await soon();
  await child.kill();
  other.unlock();
  await wait;
  held.unlock();
});

test('condition: a waiter is told of a death', limited, async (t) => {
  const file = newFile(t);
  const [mutex, changed] = [file.mutex('mutex', { onDeath: 'inform' }), file.condition('changed')];
  const held = mutex.lockSync();
  const wait = changed.wait(held);
  const child = party(t, file);
  await child.says();
  child.tell("file.mutex('mutex').lockSync(); say(file.condition('changed').notifyOne())");
  assert.equal(await child.says(), '1');
  await child.kill();
  await wait;
  assert.ok(held.ownerDied);
  assert.equal(held.deadOwner.pid, child.pid);
  held.markConsistent();
  // The repair is not asked for twice.
  await assert.rejects(changed.wait(held, { timeout: 5 }), failure('TIMED_OUT'));
  assert.ok(!held.ownerDied);
  held.unlock();
  await mutex.withLock(() => {});
});

test('condition: a lock that was closed for everyone is lost', limited, async (t) => {
  const file = newFile(t);
  const [mutex, changed] = [file.mutex('mutex', { onDeath: 'inform' }), file.condition('changed')];
  const child = party(t, file);
  await child.says();
  child.tell("file.mutex('mutex').lockSync(); process.kill(process.pid, 'SIGKILL')");
  await child.exit;
  const held = mutex.lockSync();
  assert.ok(held.ownerDied);
  await assert.rejects(changed.wait(held, { timeout: 20 }), failure('NOT_RECOVERABLE'));
  assert.ok(!held.isHeld);
  assert.throws(() => held.unlock(), failure('NOT_OWNER'));
  await mutex.reset();
  mutex.lockSync().unlock();
  mutex.close();
});

test('condition: with a reader/writer lock and a recursive mutex', limited, async (t) => {
  const file = newFile(t);
  const changed = file.condition('changed');
  const lock = file.rwLock('lock');
  const reader = lock.lockSync('shared');
  await assert.rejects(changed.wait(reader), failure('NOT_EXCLUSIVE'));
  assert.ok(reader.isHeld);
  reader.unlock();
  const writer = await lock.lock('exclusive');
  const waits = changed.wait(writer);
  (await lock.lock('shared')).unlock();
  await notified(changed);
  await waits;
  assert.equal(writer.mode, 'exclusive');
  assert.equal(lock.tryLock('shared'), null);
  writer.unlock();

  const tree = file.recursiveMutex('tree');
  const [owner, another] = [new Owner(), new Owner()];
  const first = tree.lockSync(owner);
  const second = tree.lockSync(owner);
  const before = first.fencingToken;
  const wait = changed.wait(second);
  assert.equal(tree.depth(owner), 0);
  assert.throws(() => first.unlock(), failure('NOT_OWNER'));
  await assert.rejects(tree.lock(owner), failure('HOLD_BUSY'));
  await tree.withLock(another, () => assert.equal(changed.notifyOne(), 1));
  await wait;
  assert.equal(tree.depth(owner), 2);
  assert.ok(second.isHeld && first.isHeld && first.fencingToken === second.fencingToken && first.fencingToken > before);
  assert.throws(() => changed.waitSync(first, { timeout: 5 }), failure('TIMED_OUT'));
  second.unlock();
  first.unlock();
  assert.equal(tree.holder(), null);
  await assert.rejects(changed.wait(first), failure('NOT_OWNER'));
});

test('event: set by another process, and cleared', limited, async (t) => {
  const file = newFile(t);
  const event = file.event('event');
  assert.equal(event.isSet, false);
  const child = party(t, file);
  await child.says();
  const waits = [event.wait(), event.wait({ timeout: 50_000 }), file.event('event').wait()];
  child.tell("file.event('event').wait().then(() => say('it is'))");
  await soon();
  child.tell("file.event('event').set()");
  await Promise.all(waits);
  assert.equal(await child.says(), 'it is');
  assert.equal(event.isSet, true);
  await event.wait({ timeout: 0 });
  event.waitSync();
  event.clear();
  assert.equal(event.isSet, false);
  await assert.rejects(event.wait({ timeout: 20 }), failure('TIMED_OUT'));
  await assert.rejects(event.wait({ timeout: 0 }), failure('TIMED_OUT'));
  await assert.rejects(event.wait({ timeout: 1 }), { message: 'the time limit passed before the event was set' });
  assert.throws(() => event.waitSync({ timeout: 20 }), failure('TIMED_OUT'));
  // A death disturbs nothing.
  child.tell("file.event('event').wait()");
  await soon();
  await child.kill();
  event.set();
  await event.wait();
});

test('event: what ends a wait', limited, async (t) => {
  const file = newFile(t);
  const event = file.event('event');
  const end = new AbortController();
  const wait = assert.rejects(event.wait({ signal: end.signal }), { name: 'AbortError' });
  // Before it is in the library, and while it is.
  const early = new AbortController();
  const ended = assert.rejects(event.wait({ signal: early.signal }), { name: 'AbortError' });
  early.abort();
  await ended;
  await soon();
  end.abort();
  await wait;
  const again = event.wait();
  await soon();
  event.set();
  await again;
  event.clear();
  const closed = assert.rejects(event.wait(), failure('CLOSED'));
  await soon();
  event.close();
  event.close();
  await closed;
  for (const use of [() => event.set(), () => event.clear(), () => event.isSet, () => event.waitSync()]) {
    assert.throws(use, failure('CLOSED'));
  }
  await assert.rejects(event.wait(), failure('CLOSED'));
  const removed = file.event('event');
  file.removeLock('event');
  assert.throws(() => removed.set(), failure('NOT_FOUND'));
  await assert.rejects(removed.wait(), failure('NOT_FOUND'));
});

test('a process ends while it waits, and while its work is done', limited, (t) => {
  const file = newFile(t);
  for (const wait of ["event('event').wait()", "barrier('barrier', 2).wait()", "once('once').run(() => new Promise(() => {}))"]) {
    const script = `
      const { LockFile } = require('turnlock');
      new LockFile(process.argv[1]).${wait}.catch(() => {});
      setTimeout(() => process.exit(7), 100);`;
    const { status, signal, stderr } = inChild(script, file.path);
    assert.equal(status, 7, `${wait}: ${signal}: ${stderr}`);
  }
  // Nothing is left to keep it alive.
  const script = `
    const { LockFile } = require('turnlock');
    new LockFile(process.argv[1]).once('another').run(() => new Promise(() => {}));`;
  assert.equal(inChild(script, file.path).signal, null);
});

test('barrier: parties in two processes go on together, and one is the last', limited, async (t) => {
  const file = newFile(t);
  const barrier = file.barrier('barrier', 3);
  assert.deepEqual([barrier.parties, barrier.waiting, barrier.isBroken], [3, 0, false]);
  assert.equal(file.barrier('barrier').parties, 3);
  const child = party(t, file);
  await child.says();
  child.tell("barrier = file.barrier('barrier', 3)");
  for (let turn = 0; turn < 5; turn++) {
    const waits = [barrier.wait(), barrier.wait({ timeout: 50_000 })];
    await until(() => barrier.waiting === 2);
    child.tell(turn % 2 === 0 ? 'barrier.wait().then(say)' : 'say(barrier.waitSync())');
    assert.deepEqual(await Promise.all(waits), [false, false]);
    assert.equal(await child.says(), 'true');
  }
});

test('barrier: a party that is killed breaks it, and is named', limited, async (t) => {
  const file = newFile(t);
  const barrier = file.barrier('barrier', 3);
  let child = party(t, file, 'the dead one');
  await child.says();
  child.tell("file.barrier('barrier').wait()");
  const broken = () => ({ ...failure('BROKEN_BARRIER'), message: new RegExp(`process ${child.pid}.*died`) });
  const breaks = assert.rejects(barrier.wait(), broken());
  await until(() => barrier.waiting === 2);
  await child.kill();
  await breaks;
  assert.equal(barrier.isBroken, true);
  await assert.rejects(barrier.wait(), failure('BROKEN_BARRIER'));
  assert.throws(() => barrier.waitSync(), failure('BROKEN_BARRIER'));
  barrier.reset();
  assert.deepEqual([barrier.waiting, barrier.isBroken], [0, false]);

  // Also one that has gone on, and is killed before it comes again.
  child = party(t, file);
  await child.says();
  child.tell("barrier = file.barrier('barrier', 3); Promise.all([barrier.wait(), barrier.wait()]).then(() => say('on'))");
  await barrier.wait();
  assert.equal(await child.says(), 'on');
  const again = assert.rejects(barrier.wait(), broken());
  await child.kill();
  await again;
});

test('barrier: what ends a wait breaks it for the others', limited, async (t) => {
  const file = newFile(t);
  const barrier = file.barrier('barrier', 3);
  await assert.rejects(barrier.wait({ timeout: 20 }), failure('TIMED_OUT'));
  await assert.rejects(barrier.wait(), failure('BROKEN_BARRIER'));
  barrier.reset();
  assert.throws(() => barrier.waitSync({ timeout: 20 }), failure('TIMED_OUT'));
  barrier.reset();
  const end = new AbortController();
  let waits = [barrier.wait({ signal: end.signal }), barrier.wait()];
  await until(() => barrier.waiting === 2);
  end.abort();
  await Promise.all([assert.rejects(waits[0], { name: 'AbortError' }), assert.rejects(waits[1], failure('BROKEN_BARRIER'))]);
  for (const breaks of ['abort', 'reset']) {
    barrier.reset();
    waits = [barrier.wait(), barrier.wait()];
    await until(() => barrier.waiting === 2);
    barrier[breaks]();
    await Promise.all(waits.map((wait) => assert.rejects(wait, failure('BROKEN_BARRIER'))));
  }
  waits = [file.barrier('barrier').wait(), barrier.wait()];
  await until(() => barrier.waiting === 2);
  barrier.close();
  await Promise.all([assert.rejects(waits[0], failure('BROKEN_BARRIER')), assert.rejects(waits[1], failure('CLOSED'))]);
  for (const use of [() => barrier.parties, () => barrier.abort(), () => barrier.reset(), () => barrier.waitSync()]) {
    assert.throws(use, failure('CLOSED'));
  }
  await assert.rejects(barrier.wait(), failure('CLOSED'));
});

test('once: one of many does it, also across processes', limited, async (t) => {
  const file = newFile(t);
  const once = file.once('once');
  const child = party(t, file);
  await child.says();
  let works = 0;
  const work = async (deadRunner) => {
    assert.equal(deadRunner, null);
    works++;
    await soon();
  };
  const runs = [once.run(work), once.run(work), file.once('once').run(work)];
  child.tell("file.once('once').run(() => say('here')).then(say)");
  const ran = (await Promise.all(runs)).filter((here) => here).length;
  // The child may have been first.
  const said = await child.says();
  assert.equal(ran + (said === 'here' ? 1 : 0), 1);
  assert.equal(works, ran);
  assert.equal(once.isDone, true);
  assert.equal(await once.run(() => assert.fail()), false);
  assert.equal(once.runSync(() => assert.fail()), false);
  await once.reset();
  assert.equal(once.isDone, false);
  assert.equal(once.runSync(() => {}), true);
});

test('once: when one is killed at it, the next one does it and is told', limited, async (t) => {
  const file = newFile(t);
  const once = file.once('once');
  for (const at of ['run(() => { say("at it"); return never(); })', 'runSync(() => { say("at it"); for (;;); })']) {
    const child = party(t, file);
    await child.says();
    child.tell(`file.once('once').${at}`);
    assert.equal(await child.says(), 'at it');
    assert.equal(once.isDone, false);
    await assert.rejects(once.run(() => assert.fail(), { timeout: 20 }), failure('TIMED_OUT'));
    const dead = [];
    const waits = once.run((deadRunner) => dead.push(deadRunner));
    await soon();
    assert.equal(dead.length, 0);
    await child.kill();
    assert.equal(await waits, true);
    assert.deepEqual([dead[0].pid, dead[0].label], [child.pid, 'the child']);
    await once.reset();
  }
});

test('once: a process that ends at it lets the next one do it', limited, async (t) => {
  const file = newFile(t);
  const script = `
    const { LockFile } = require('turnlock');
    new LockFile(process.argv[1]).once('once').run(() => process.exit(7));`;
  const { status, signal, stderr } = inChild(script, file.path);
  assert.equal(status, 7, `${signal}: ${stderr}`);
  assert.equal(await file.once('once').run(() => {}, { timeout: 20_000 }), true);
});

test('once: what fails is not done', limited, async (t) => {
  const once = newFile(t).once('once');
  await assert.rejects(once.run(() => Promise.reject(new Error('half-way'))), /half-way/);
  await assert.rejects(once.run(() => { throw new Error('at once'); }), /at once/);
  assert.throws(() => once.runSync(() => { throw new Error('blocking'); }), /blocking/);
  assert.throws(() => once.runSync(async () => {}), failure('INVALID_ARGUMENT'));
  assert.equal(once.isDone, false);
  // What waits runs when the one before failed.
  let fail;
  const fails = assert.rejects(once.run(() => new Promise((_, reject) => (fail = reject))), /late/);
  await until(() => fail !== undefined);
  const next = once.run(() => {});
  fail(new Error('late'));
  await fails;
  assert.equal(await next, true);
  assert.equal(once.isDone, true);
});

test('once: misuse, and what ends a wait', limited, async (t) => {
  const file = newFile(t);
  const once = file.once('once');
  let finish;
  const run = once.run(() => new Promise((resolve) => (finish = resolve)));
  await until(() => finish !== undefined);
  assert.throws(() => once.runSync(() => {}), failure('DEADLOCK'));
  assert.throws(() => once.close(), failure('STILL_HELD'));
  assert.throws(() => file.once('once').runSync(() => {}, { timeout: 20 }), failure('TIMED_OUT'));
  const end = new AbortController();
  const waits = [once.run(() => {}, { signal: end.signal }), once.reset({ signal: end.signal })];
  await soon();
  end.abort();
  await Promise.all(waits.map((wait) => assert.rejects(wait, { name: 'AbortError' })));
  await assert.rejects(once.reset({ timeout: 20 }), failure('TIMED_OUT'));
  // Of another object, those that wait are ended by its close.
  const other = file.once('once');
  const closed = assert.rejects(other.run(() => {}), failure('CLOSED'));
  await soon();
  other.close();
  await closed;
  finish();
  assert.equal(await run, true);
  once.close();
  once.close();
  assert.throws(() => once.isDone, failure('CLOSED'));
  assert.throws(() => once.runSync(() => {}), failure('CLOSED'));
  for (const wait of [once.run(() => {}), once.reset()]) await assert.rejects(wait, failure('CLOSED'));
});

test('names, options, times and arguments that cannot be', limited, async (t) => {
  const file = newFile(t);
  const kinds = ['condition', 'event', 'barrier', 'once'];
  const open = (kind, name, options) => (kind === 'barrier' ? file.barrier(name, 2, options) : file[kind](name, options));
  for (const kind of kinds) {
    for (const name of [null, undefined, 7, {}]) assert.throws(() => open(kind, name), wrongType);
    for (const name of ['', 'a\0b', 'n'.repeat(64)]) assert.throws(() => open(kind, name), failure('BAD_NAME'));
    assert.throws(() => open(kind, 'none', { mustExist: true }), failure('NOT_FOUND'));
    assert.throws(() => open(kind, 'none', { mustExist: 1 }), wrongType);
    assert.throws(() => open(kind, 'none', { label: 'mine' }), { ...failure('INVALID_ARGUMENT'), message: /no label/ });
    assert.throws(() => open(kind, 'none', null), wrongType);
    open(kind, kind);
    open(kind, kind, { mustExist: true });
    assert.throws(() => file.mutex(kind), failure('KIND'));
  }
  file.once('lasting', { acrossBoots: true });
  file.mutex('mutex');
  for (const kind of kinds) assert.throws(() => open(kind, 'mutex'), failure('KIND'));
  assert.throws(() => file.barrier('barrier', 3), failure('KIND'));
  assert.throws(() => file.barrier('none'), failure('NOT_FOUND'));
  assert.throws(() => file.barrier('none', 0), failure('INVALID_ARGUMENT'));
  assert.throws(() => file.barrier('none', 5000), failure('INVALID_ARGUMENT'));
  assert.throws(() => file.barrier('none', -1), { code: 'ERR_OUT_OF_RANGE' });
  assert.throws(() => file.barrier('none', '2'), wrongType);
  for (const kind of [Condition, Event, Barrier, Once]) {
    for (const forged of [undefined, null, {}, file]) assert.throws(() => new kind(forged, 'name', 2), TypeError);
    assert.throws(() => kind.prototype.close.call({}), TypeError);
  }
  const [condition, event, barrier, once] = kinds.map((kind) => open(kind, kind));
  const held = file.mutex('mutex').lockSync();
  for (const given of [null, undefined, {}, file, file.mutex('mutex')]) {
    await assert.rejects(condition.wait(given), wrongType);
    assert.throws(() => condition.waitSync(given), wrongType);
  }
  const waits = [(o) => condition.wait(held, o), (o) => event.wait(o), (o) => barrier.wait(o), (o) => once.run(() => {}, o)];
  for (const wait of waits) {
    await assert.rejects(wait({ timeout: '5' }), wrongType);
    await assert.rejects(wait({ timeout: NaN }), { code: 'ERR_OUT_OF_RANGE' });
    await assert.rejects(wait({ signal: 7 }), wrongType);
    await assert.rejects(wait({ limit: 7 }), failure('INVALID_ARGUMENT'));
  }
  const blocks = [(o) => condition.waitSync(held, o), (o) => event.waitSync(o), (o) => barrier.waitSync(o), (o) => once.runSync(() => {}, o)];
  for (const wait of blocks) assert.throws(() => wait({ signal: AbortSignal.timeout(1) }), failure('INVALID_ARGUMENT'));
  for (const work of [null, undefined, 'work']) {
    await assert.rejects(once.run(work), wrongType);
    assert.throws(() => once.runSync(work), wrongType);
  }
  assert.ok(held.isHeld && !barrier.isBroken && !once.isDone);
  // Of a lock that a condition does not wait with.
  const part = file.rangeLock('range').lockSync(0, 5, 'exclusive');
  await assert.rejects(condition.wait(part), failure('INVALID_ARGUMENT'));
  assert.ok(part.isHeld);
  part.unlock();
  // Of another file.
  const other = newFile(t).condition('condition');
  await assert.rejects(other.wait(held), failure('INVALID_ARGUMENT'));
  assert.ok(held.isHeld);
  held.unlock();
});

test('what is open stays so without its file', limited, async (t) => {
  const file = newFile(t);
  const [event, once, mutex, condition] = [file.event('event'), file.once('once'), file.mutex('mutex'), file.condition('condition')];
  file.close();
  for (const open of ['event', 'once', 'barrier', 'condition']) assert.throws(() => file[open]('name', 2), failure('CLOSED'));
  const wait = event.wait();
  await soon();
  event.set();
  await wait;
  assert.equal(await once.run(() => {}), true);
  await mutex.withLock((held) => assert.rejects(condition.wait(held, { timeout: 5 }), failure('TIMED_OUT')));
});

test('what has waited gives its slots back when it is closed', limited, async (t) => {
  const file = newFile(t, { participants: 8 });
  for (let turn = 0; turn < 4; turn++) {
    const [event, barrier] = [file.event('event'), file.barrier('barrier', 4)];
    await assert.rejects(event.wait({ timeout: 5 }), failure('TIMED_OUT'));
    await Promise.all(Array.from({ length: 4 }, () => barrier.wait()));
    event.close();
    barrier.close();
    // Their threads end.
    const lock = file.rwLock('lock');
    await until(() => {
      const held = [];
      try {
        while (held.length < 6) held.push(lock.lockSync('shared'));
        return true;
      } catch (error) {
        assert.equal(error.code, 'ERR_TURNLOCK_PARTICIPANTS_FULL');
        return false;
      } finally {
        for (const one of held) one.unlock();
      }
    });
  }
});
