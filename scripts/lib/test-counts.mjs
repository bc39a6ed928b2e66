// @ts-check

/**
 * @typedef {{ status: string, assertionResults: readonly { status: string }[] }} FileResult
 * @typedef {{ testResults: readonly FileResult[] }} Report what is read of Vitest's JSON report
 * @typedef {{ passed: number, failed: number, skipped: number }} Counts
 */

/**
 * Counts the tests of a report. A file that failed without a failed test (it could not be loaded, or a hook failed)
 * counts as one failure: its tests did not run, and that must show.
 *
 * @param {Report} report
 * @returns {Counts}
 */
export function countTests(report) {
  const counts = { passed: 0, failed: 0, skipped: 0 }
  for (const file of report.testResults) {
    const statuses = file.assertionResults.map((assertion) => assertion.status)
    for (const status of statuses) {
      if (status === 'passed') counts.passed += 1
      else if (status === 'failed') counts.failed += 1
      else counts.skipped += 1
    }
    if (file.status === 'failed' && !statuses.includes('failed')) counts.failed += 1
  }
  return counts
}

/**
 * @param {Counts} counts
 * @returns {string} `N passed, N failed`, and `, N skipped` where there are any
 */
export function countsLine({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`
}
