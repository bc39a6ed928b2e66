// @ts-check
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The SHA-256 of some texts, told apart from any other way to cut the same characters into texts.
 *
 * @param {readonly string[]} texts
 */
export function fingerprint(texts) {
  const hash = createHash('sha256')
  for (const text of texts) hash.update(`${Buffer.byteLength(text)}:`).update(text)
  return hash.digest('hex')
}

/**
 * The names and contents of all files below a directory. Contents and not times: Git sets the times as it likes, and
 * reading some hundred small files takes a few milliseconds.
 *
 * @param {string} directory if there is none, it counts as empty
 * @param {ReadonlySet<string>} [left] names of files and directories, at any depth, to leave out
 */
export function directoryFingerprint(directory, left = new Set()) {
  return fingerprint(
    filesBelow(directory, '', left).flatMap((name) => [name, readFileSync(join(directory, name), 'latin1')]),
  )
}

/**
 * @param {string} directory
 * @param {string} prefix
 * @param {ReadonlySet<string>} left
 * @returns {string[]}
 */
function filesBelow(directory, prefix, left) {
  const names = []
  for (const entry of entries(join(directory, prefix))) {
    if (left.has(entry.name)) continue
    const name = prefix ? `${prefix}/${entry.name}` : entry.name
    if (entry.isDirectory()) names.push(...filesBelow(directory, name, left))
    else if (entry.isFile()) names.push(name)
  }
  return names.sort()
}

/** @param {string} directory */
function entries(directory) {
  try {
    return readdirSync(directory, { withFileTypes: true })
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/**
 * The text of a file, or nothing where there is no such file.
 *
 * @param {string} path
 */
export function readIfThere(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** @param {unknown} error */
function isMissing(error) {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}
