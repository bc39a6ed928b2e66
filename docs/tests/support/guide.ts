/** A file that the reader writes. Its first line is a comment with its path. */
export interface FileStep {
  readonly kind: 'file'
  readonly path: string
  readonly text: string
}

/** What the reader types into a terminal, and what the guide says is printed then. */
export interface CommandStep {
  readonly kind: 'command'
  readonly script: string
  /** It goes on running, in a terminal of its own. */
  readonly background: boolean
  readonly expected: string | undefined
}

/** A variable that the reader sets for all terminals. */
export interface VariableStep {
  readonly kind: 'variable'
  readonly name: string
  readonly value: string
}

export type Step = FileStep | CommandStep | VariableStep

const block = /^```(\w+)([^\n]*)\n(.*?)^```$/gms
const pathComment = /^(?:\/\/|--|#) (\S+)\n/
const exportLine = /^export (\w+)=(.*)$/

/**
 * The steps of a guide, in its order. `sh` blocks are commands (`sh background`: one that goes on running), a `text` block
 * after one is its output, and every other block is a file that names its path in a comment on its first line.
 *
 * @throws {Error} at a block that is none of these: nothing in a guide may go unfollowed.
 */
export function stepsOf(markdown: string): Step[] {
  const steps: Step[] = []
  const blocks = [...markdown.matchAll(block)]
  const fences = markdown.match(/^ *(```|~~~)/gm)?.length ?? 0
  if (fences !== 2 * blocks.length) throw new Error('A block of this guide has no language, no end, or is indented.')
  for (const [whole, language = '', info = '', text = ''] of blocks) {
    if (language === 'sh') steps.push(...commandsIn(text, info.trim() === 'background'))
    else if (language === 'text') addOutput(steps, text)
    else {
      const path = pathComment.exec(text)?.[1]
      if (path === undefined) throw new Error(`This block names no file on its first line:\n${whole}`)
      steps.push({ kind: 'file', path, text })
    }
  }
  return steps
}

function commandsIn(text: string, background: boolean): Step[] {
  const lines = text.trimEnd().split('\n')
  const variables = lines.flatMap((line): Step[] => {
    const [, name, value] = exportLine.exec(line) ?? []
    return name === undefined || value === undefined ? [] : [{ kind: 'variable', name, value }]
  })
  const script = lines.filter((line) => !exportLine.test(line)).join('\n')
  return script === '' ? variables : [...variables, { kind: 'command', script, background, expected: undefined }]
}

function addOutput(steps: Step[], expected: string): void {
  const last = steps.pop()
  if (last?.kind !== 'command' || last.expected !== undefined) {
    throw new Error(`This output follows no command:\n${expected}`)
  }
  steps.push({ ...last, expected })
}

/**
 * Makes outputs comparable that differ in what each run has of its own: tokens, by the order in which they are first
 * named, and the server's port.
 */
export function withPlaceholders(output: string): string {
  const tokens: string[] = []
  return output
    .trim()
    .replaceAll(/[ \t]+$/gm, '')
    .replaceAll(/\b\d{16,}\b/g, (token) => {
      if (!tokens.includes(token)) tokens.push(token)
      return `<token ${tokens.indexOf(token) + 1}>`
    })
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>')
}
