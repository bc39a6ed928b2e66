// @ts-check
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { progress, SetUpError } from './command.mjs'
import { readIfThere } from './fingerprint.mjs'

const waitSecondsMax = 900

/**
 * Runs the work while no other process does so under the same lock file. The file names its process; one whose process
 * is gone, killed in the middle, counts for nothing.
 *
 * @template T
 * @param {string} lockFile
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function exclusively(lockFile, work) {
  mkdirSync(dirname(lockFile), { recursive: true })
  await take(lockFile)
  try {
    return await work()
  } finally {
    rmSync(lockFile, { force: true })
  }
}

/** @param {string} lockFile */
async function take(lockFile) {
  const deadline = performance.now() + waitSecondsMax * 1_000
  for (let told = false; ; ) {
    try {
      writeFileSync(lockFile, String(process.pid), { flag: 'wx' })
      return
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
    const holder = readIfThere(lockFile)
    // An empty file is one that its process is just about to fill.
    if (holder && !isRunning(Number(holder))) {
      rmSync(lockFile, { force: true })
      continue
    }
    if (performance.now() > deadline) {
      throw new SetUpError(
        `Nothing was installed or built: process ${holder} has been doing so for ${waitSecondsMax} s. ` +
          `End it, or remove ${lockFile} if it is something else.`,
      )
    }
    if (!told) progress(`waiting for process ${holder}, which is installing or building`)
    told = true
    await delay(100)
  }
}

/** @param {number} id */
function isRunning(id) {
  try {
    process.kill(id, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
