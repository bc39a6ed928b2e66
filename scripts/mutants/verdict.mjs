// @ts-check
/**
 * @typedef {object} Assertion what is read of one test in Vitest's JSON report
 * @property {readonly string[]} ancestorTitles
 * @property {string} title
 * @property {string} status
 * @property {readonly string[]} [failureMessages]
 *
 * @typedef {{ testResults: readonly { name: string, status: string, message?: string, assertionResults: readonly Assertion[] }[] }} Report
 *
 * @typedef {{ status: 'caught', test: string } | { status: 'survived' | 'broken' | 'exempt', reason: string }} Verdict
 */

const conformanceTitle = 'conformance of '

/**
 * A test that ran into one of these says nothing of the rule: the mutant may not even have been loaded as meant. Vitest's
 * JSON report has STACK_TRACE_ERROR for a test that took too long.
 */
const noVerdict = /^(SyntaxError|ReferenceError|TypeError|Error: STACK_TRACE_ERROR|Error: (Test|Hook) timed out)/

/**
 * @param {Assertion} test
 * @returns {string | undefined} the adapter whose conformance the test belongs to
 */
export function adapterOf(test) {
  const [outermost = ''] = test.ancestorTitles.filter((title) => title !== '')
  return outermost.startsWith(conformanceTitle) ? outermost.slice(conformanceTitle.length) : undefined
}

/**
 * @param {string} title such as `F12, fault 1: …`
 * @returns {string[]} the rules that the test proves
 */
export function rulesOf(title) {
  return (title.split(':')[0] ?? '').split(', ')
}

/**
 * Matches the full names of the tests that prove one of the rules.
 *
 * @param {readonly string[]} rules
 */
export function testsOf(rules) {
  return `(^|[ ,])(${rules.join('|')})(, [^:]*)?: `
}

/**
 * @param {Report} report
 * @returns {string[]} the adapters that ran
 */
export function adaptersIn(report) {
  const tests = report.testResults.flatMap((file) => file.assertionResults)
  return [...new Set(tests.flatMap((test) => adapterOf(test) ?? []))].sort()
}

/**
 * Whether an adapter says itself, by skipping a test, that it does not promise all of these rules.
 *
 * @param {Report} report of a run without a mutant
 * @param {string} adapter
 * @param {readonly string[]} rules
 */
export function promisesLess(report, adapter, rules) {
  return testsFor(report, adapter, rules).some((test) => test.status !== 'passed')
}

/**
 * @param {Report} report
 * @param {string} adapter
 * @param {readonly string[]} rules
 */
function testsFor(report, adapter, rules) {
  return report.testResults
    .flatMap((file) => file.assertionResults)
    .filter((test) => adapterOf(test) === adapter && rulesOf(test.title).some((rule) => rules.includes(rule)))
}

/**
 * Whether one adapter's tests saw a mutant: a test of a rule that it breaks failed by what it asserts.
 *
 * @param {Report} report
 * @param {string} adapter
 * @param {readonly string[]} breaks
 * @returns {Verdict}
 */
export function judge(report, adapter, breaks) {
  const tests = testsFor(report, adapter, breaks)
  const failed = tests.filter((test) => test.status === 'failed')
  const caught = failed.find((test) => !noVerdict.test(test.failureMessages?.[0] ?? 'SyntaxError'))
  if (caught !== undefined) return { status: 'caught', test: caught.title }
  const [other] = failed
  if (other !== undefined) {
    return { status: 'broken', reason: `${other.title}: ${other.failureMessages?.[0]?.split('\n')[0] ?? 'no message'}` }
  }
  if (!tests.some((test) => test.status === 'passed')) return { status: 'broken', reason: 'no test of these rules ran' }
  return { status: 'survived', reason: `all tests of ${breaks.join(', ')} passed` }
}
