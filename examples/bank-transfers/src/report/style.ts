import { createColors } from 'picocolors'

const { FORCE_COLOR, NO_COLOR, TERM } = process.env
const terminal = process.stdout.isTTY && TERM !== 'dumb'

/** Colours on a terminal, unless NO_COLOR is set; elsewhere only with FORCE_COLOR. */
export const colour = createColors(!NO_COLOR && (Boolean(FORCE_COLOR) || terminal))

/** Whether the line that was written last can be written anew. */
export const canRewrite = terminal

export function number(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** Cents as money. */
export function money(cents: number): string {
  return (cents / 100).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
}

export function heading(text: string): string {
  return `\n${colour.bold(text)}`
}

/** A line of two columns. */
export function line(name: string, text: string, width = 20): string {
  return `  ${colour.dim(name.padEnd(width))} ${text}`
}
