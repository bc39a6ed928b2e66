import type { DemoOptions } from '../command-line.js'
import { colour, line, number } from './style.js'

/** What is about to run. */
export function introduction(options: DemoOptions, database: string, server: string): string {
  const { accounts, workers, seconds, seed, unfenced } = options
  const title = `A bank of ${number(accounts)} accounts, ${workers} workers, ${seconds} s`
  return [
    colour.bold(title),
    line('database', database),
    line('lock service', server),
    line(
      'fence',
      unfenced ? colour.yellow('none: the lock alone') : 'every transfer is a fenced section on both accounts',
    ),
    line('seed', String(seed)),
    '',
  ].join('\n')
}
