// @ts-check
/*
 * Read by whatever Node a stranger has, so this file and those that import it first use no syntax newer than Node 12.
 */

/** The oldest Node that runs this repository. `engines` in package.json says the same. */
export const oldestNode = '20.19.0'

/**
 * Whether a version of Node will do.
 *
 * @param {string} version such as `20.19.0`
 */
export function isNewEnough(version) {
  const has = version.split('.').map(Number)
  const needs = oldestNode.split('.').map(Number)
  for (let part = 0; part < needs.length; part++) {
    const difference = Number(has[part]) - Number(needs[part])
    if (difference !== 0) return difference > 0
  }
  return true
}

/** Ends the process with a message where Node is too old. */
export function requireNode() {
  if (isNewEnough(process.versions.node)) return
  process.stderr.write(
    `Ticketing needs Node ${oldestNode} or newer; this is Node ${process.versions.node}. Nothing was installed or run.\n` +
      'Get a current Node from https://nodejs.org, or with your version manager (nvm install 22), and run this again.\n',
  )
  process.exit(1)
}
