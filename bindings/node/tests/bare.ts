// What a strict program sees that has no types but those of the language; compiled only.
import { Held, LockFile, Permits } from 'turnlock';

async function program(): Promise<bigint> {
  const file = new LockFile('app.lock');
  const held: Held = await file.mutex('accounts').lock({ timeout: 50 });
  held.unlock();
  const permits: Permits | null = file.semaphore('jobs', { permits: 3 }).tryAcquire(2);
  permits?.[Symbol.dispose]();
  // @ts-expect-error: there is no such option
  file.mutex('accounts', { recursive: true });
  return file.keyedLock('users').withLock('ada', 'shared', (part) => part.fencingToken);
}

export { program };
