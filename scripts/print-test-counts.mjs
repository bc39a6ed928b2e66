// @ts-check
/** Prints the one line of counts for Vitest's JSON report: `node print-test-counts.mjs <file>`. */
import { readFileSync } from 'node:fs'
import { countsLine, countTests } from './lib/test-counts.mjs'

const [file] = process.argv.slice(2)
if (file === undefined) throw new Error('print-test-counts.mjs needs the file of the report.')
console.log(countsLine(countTests(JSON.parse(readFileSync(file, 'utf8')))))
