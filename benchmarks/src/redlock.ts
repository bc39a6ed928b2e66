import { Redis } from 'ioredis'
import Redlock from 'redlock'

/** The lock that many put around a transaction. It cannot stop a holder that comes too late. */
export interface RedisLock extends AsyncDisposable {
  around<T>(key: string, work: () => Promise<T>): Promise<T>
}

/** @returns undefined where no Redis answers. */
export async function connectRedlock(url: string): Promise<RedisLock | undefined> {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null })
  // What fails is told by the call that meets it.
  redis.on('error', () => undefined)
  try {
    await redis.connect()
  } catch {
    return undefined
  }
  const redlock = new Redlock([redis as unknown as Redlock.CompatibleRedisClient])
  return {
    async around(key, work) {
      const lock = await redlock.lock(key, 30_000)
      try {
        return await work()
      } finally {
        await lock.unlock()
      }
    },
    async [Symbol.asyncDispose]() {
      await redis.quit()
    },
  }
}
