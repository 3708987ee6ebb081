// What index.d.ts promises, as a strict program uses it; compiled only.
import { Barrier, Condition, DeadOwner, Event, Held, LockFile, LockOptions, MemberHeld, Mutex, Once, Owner, RecursiveHeld, RecursiveMutex, TurnRing, TurnlockError, libraryVersion } from 'turnlock';

async function program(signal: AbortSignal): Promise<string> {
  const file = new LockFile('app.lock', { participants: 500, label: 'types' });
  const accounts: Mutex = file.mutex('accounts', { patience: 0.5, onDeath: 'release' });
  const ring: TurnRing = file.turnRing('turns', { algorithm: 'k-state', member: true });
  const token: bigint = await accounts.withLock((held) => held.fencingToken, { signal, timeout: 50 });
  const held: Held | null = ring.tryLock();
  if (held?.ownerDied) held.markConsistent();
  const still: boolean | undefined = held?.stillOwner();
  held?.unlock();
  accounts.lockSync({ timeout: 5 }).unlock();
  const dead: string | undefined = accounts.previousOwner()?.label;
  const states: string[] = ring.waiters().map((waiter) => waiter.state);
  try {
    await accounts.lock();
  } catch (error) {
    if (error instanceof TurnlockError && error.code === 'ERR_TURNLOCK_NOT_RECOVERABLE') await accounts.reset();
  }
  const reader = await file.rwLock('data').lock('shared', { timeout: 5 });
  reader.unlock();
  await file.rwLock('data').withLock('upgradable', (held) => held.upgrade({ signal }));
  const count: number = await file.semaphore('jobs', { permits: 3 }).withPermits(2, (permits) => permits.count);
  const part = await file.rangeLock('bytes').lock(0, 2n ** 40n, 'exclusive', { signal });
  if (part.ownerDied) part.markConsistent();
  if (part.isHeld) part.abandon();
  const informs: LockOptions = { onDeath: 'inform' };
  file.keyedLock('users', informs).tryLock(new Uint8Array(3), 'shared')?.unlock();
  const inside: MemberHeld = await file.groupLock('store', informs).lock(2n ** 64n - 1n, { signal });
  if (inside.ownerDied) inside.markConsistent();
  const group: bigint = await file.groupLock('store').withLock(7, (held) => held.group);
  file.groupLock('store').tryLock(7)?.unlock();
  const tree: RecursiveMutex = file.recursiveMutex('tree', { strict: true });
  const owner = new Owner();
  const again: number = await tree.withLock(owner, (held) => (held.unlock(), tree.depth(owner)), { signal, timeout: 5 });
  const once: RecursiveHeld | null = tree.tryLock(owner);
  once?.abandon();
  const changed: Condition = file.condition('changed', { mustExist: true });
  await accounts.withLock((held) => changed.wait(held, { signal, timeout: 5 }));
  await tree.withLock(owner, (held) => changed.waitSync(held, { timeout: 5 }));
  await file.rwLock('data').withLock('exclusive', (held) => changed.wait(held));
  const notified: number = changed.notifyOne() + changed.notifyAll();
  const ready: Event = file.event('ready');
  if (!ready.isSet) await ready.wait({ timeout: notified });
  const barrier: Barrier = file.barrier('start', 3);
  const isLast: boolean = (await barrier.wait({ signal })) || barrier.waitSync({ timeout: barrier.parties });
  if (barrier.isBroken && !isLast) barrier.reset();
  const schema: Once = file.once('schema', { acrossBoots: true });
  const ranHere: boolean = await schema.run(async (dead: DeadOwner | null) => dead?.pid, { signal });
  if (ranHere) await schema.reset({ timeout: 5 });
  // @ts-expect-error: a condition waits with what is held
  changed.wait(accounts);
  // @ts-expect-error: permits are not held exclusively
  changed.wait(file.semaphore('jobs').acquireSync());
  // @ts-expect-error: a blocking wait has no signal
  ready.waitSync({ signal });
  // @ts-expect-error: an owner is no name
  tree.tryLock('ada');
  // @ts-expect-error: what looks like one is none
  tree.tryLock({});
  // @ts-expect-error: a recursive mutex is taken by an owner
  tree.lockSync();
  // @ts-expect-error: a part is not held so
  file.keyedLock('users').tryLock('ada', 'upgradable');
  // @ts-expect-error: a member of a group has no mode
  file.groupLock('store').lockSync(7, 'shared');
  // @ts-expect-error: a group is a number
  file.groupLock('store').tryLock('7');
  // @ts-expect-error: there is no such mode
  file.rwLock('data').tryLock('alone');
  // @ts-expect-error: a name is a string
  file.mutex(7);
  // @ts-expect-error: a blocking wait has no signal
  accounts.lockSync({ signal });
  // @ts-expect-error: permits have nothing to mark
  file.semaphore('jobs').tryAcquire()?.markConsistent();
  // @ts-expect-error: there is no such option
  file.mutex('accounts', { recursive: true });
  // @ts-expect-error: only a LockFile opens a lock
  new Mutex();
  return `${libraryVersion} ${count} ${again} ${group} ${token} ${dead} ${still} ${states.join()} ${file.path}`;
}

export { program };
