import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ended, Workspace } from './support/workspace.js'

let workspace: Workspace

beforeEach(() => {
  workspace = new Workspace()
})

afterEach(() => workspace[Symbol.dispose]())

describe('npm start: what the demo gets and gives', () => {
  test('arguments and exit codes pass through; standard output is the demo’s alone', async () => {
    workspace.demo('console.log(JSON.stringify(process.argv.slice(2))); process.exit(7)')
    const args = ['--seconds', '5', 'a b', '', '--', '*']
    const result = await workspace.run('start', args)
    expect(result).toMatchObject({ code: 7, signal: null, stdout: `${JSON.stringify(args)}\n` })
    expect(result.stderr).toMatch(/^ticketing: installing/)
  })

  test('success is success', async () => {
    expect(await workspace.run('start')).toMatchObject({ code: 0, stdout: '' })
  })

  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('%s reaches the demo, which decides', async (signal) => {
    workspace.demo(`
      process.on('${signal}', () => { console.log('heard'); process.exit(5) })
      setInterval(() => {}, 1000)
      console.log('ready')
    `)
    const child = workspace.spawn('start')
    await said(child.stdout, 'ready')
    const end = ended(child)
    child.kill(signal)
    expect(await end).toMatchObject({ code: 5, stdout: 'heard\n' })
  })

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('a demo ended by %s gives %i', async (signal, code) => {
    workspace.demo("setInterval(() => {}, 1000); console.log('ready')")
    const child = workspace.spawn('start')
    await said(child.stdout, 'ready')
    child.kill(signal)
    expect(await ended(child)).toMatchObject({ code, signal: null })
  })

  test('the demo is told when npm was stopped, whose shell passes no signal on', async () => {
    workspace.demo(`
      process.on('SIGTERM', () => { console.log('heard'); process.exit(0) })
      setInterval(() => {}, 1000)
      console.log('ready')
    `)
    const shell = workspace.spawnInShell()
    await said(shell.stdout, 'ready')
    // The output stays open until the last process that holds it has ended.
    const end = ended(shell)
    shell.kill('SIGTERM')
    expect(await end).toMatchObject({ signal: 'SIGTERM', stdout: 'heard\n' })
  })

  test('a demo that is killed gives 137', async () => {
    workspace.demo("process.kill(process.pid, 'SIGKILL')")
    expect(await workspace.run('start')).toMatchObject({ code: 137 })
  })
})

describe('npm start: the install', () => {
  test('calls the pinned pnpm once, and nothing at all when all is there', async () => {
    await workspace.run('start')
    expect(workspace.npxCalls()).toEqual(['-y pnpm@10.34.9 install --frozen-lockfile'])
    workspace.write('registry-is-down', '')
    expect(await workspace.run('start')).toMatchObject({ code: 0, stderr: '' })
    expect(workspace.npxCalls()).toEqual([])
  })

  test.each([
    ['the lock file changed', () => workspace.write('pnpm-lock.yaml', 'changed')],
    ['a package asks for more', () => addDependency()],
    ['a dependency is gone', () => workspace.remove('node_modules/left-pad')],
    ['node_modules is gone', () => workspace.remove('node_modules')],
    ['npm was here', () => workspace.write('node_modules/.package-lock.json', '{}')],
    ['yarn was here', () => workspace.write('node_modules/.yarn-integrity', '{}')],
  ])('is repeated when %s', async (_, change) => {
    await workspace.run('start')
    workspace.npxCalls()
    change()
    expect(await workspace.run('start')).toMatchObject({ code: 0 })
    expect(workspace.npxCalls()).toHaveLength(1)
    await workspace.run('start')
    expect(workspace.npxCalls()).toHaveLength(0)
  })

  test('replaces what another package manager left', async () => {
    workspace.write('node_modules/.package-lock.json', '{}')
    workspace.write('node_modules/strange/package.json', '{}')
    expect(await workspace.run('start')).toMatchObject({ code: 0 })
    expect(workspace.has('node_modules/strange')).toBe(false)
    expect(workspace.has('node_modules/left-pad')).toBe(true)
  })

  test('says so when there is no network, and is tried again the next time', async () => {
    workspace.demo("console.log('ran')")
    workspace.write('registry-is-down', '')
    const result = await workspace.run('start')
    expect(result).toMatchObject({ code: 1, stdout: '' })
    expect(result.stderr).toMatch(/ENOTFOUND\nticketing: The package registry could not be reached/)
    workspace.remove('registry-is-down')
    expect(await workspace.run('start')).toMatchObject({ code: 0, stdout: 'ran\n' })
  })

  test('is not misled by an npx around it', async () => {
    await workspace.run('start', [], { npm_config_package: 'node@22', npm_config_call: 'node' })
    expect(workspace.read('npx.env').trim().split(' ')).toEqual(['undefined', 'undefined'])
  })

  test('says so when there is no npx', async () => {
    const result = await workspace.run('start', [], { PATH: '/nowhere' })
    expect(result).toMatchObject({ code: 1 })
    expect(result.stderr).toMatch(/Nothing was done: npx.*Install npm/)
  })

  function addDependency() {
    workspace.write('package.json', {
      packageManager: 'pnpm@10.34.9',
      devDependencies: { 'left-pad': '1.0.0' },
      peerDependencies: { more: '1' },
    })
  }
})

describe('npm start: the build', () => {
  const everything = ['aside', 'base', 'top', 'bank-transfers']

  async function builtBy(change: () => void): Promise<string[]> {
    change()
    expect(await workspace.run('start')).toMatchObject({ code: 0 })
    return workspace.built()
  }

  test('builds what is needed first, and nothing twice', async () => {
    const first = await builtBy(() => {})
    expect(first.toSorted()).toEqual(everything.toSorted())
    expect(first.slice(-2)).toEqual(['top', 'bank-transfers'])
    expect(await builtBy(() => {})).toEqual([])
  })

  test('a touched source means that package and those that need it', async () => {
    await builtBy(() => {})
    expect(await builtBy(() => workspace.write('packages/top/src/index.mjs', '// new'))).toEqual([
      'top',
      'bank-transfers',
    ])
    expect(await builtBy(() => workspace.write('packages/base/src/more.mjs', ''))).toEqual([
      'base',
      'top',
      'bank-transfers',
    ])
    expect(await builtBy(() => workspace.remove('packages/base/src/more.mjs'))).toEqual([
      'base',
      'top',
      'bank-transfers',
    ])
    expect(await builtBy(() => workspace.write('packages/aside/tests/some.test.ts', ''))).toEqual([])
  })

  test('a result that was changed or removed is built again', async () => {
    await builtBy(() => {})
    expect(await builtBy(() => workspace.write('packages/top/dist/index.mjs', '// other'))).toEqual(['top'])
    expect(await builtBy(() => workspace.remove('packages/aside/dist'))).toEqual(['aside'])
    expect(await builtBy(() => workspace.remove('.cache'))).toHaveLength(everything.length)
  })

  test('an interrupted build does not count, although it left all its files', async () => {
    await builtBy(() => {})
    workspace.write('packages/aside/hang', '')
    const child = workspace.spawn('start')
    await vi.waitFor(() => expect(workspace.has('packages/aside/hanging')).toBe(true), { timeout: 20_000 })
    child.kill('SIGKILL')
    await once(child, 'close')
    workspace.remove('packages/aside/hang')
    workspace.remove('packages/aside/hanging')
    workspace.built()
    expect(await builtBy(() => {})).toEqual(['aside'])
  })

  test('a signal ends the build, and the demo is not run', async () => {
    workspace.demo("console.log('ran')")
    workspace.write('packages/aside/hang', '')
    const child = workspace.spawn('start')
    await vi.waitFor(() => expect(workspace.has('packages/aside/hanging')).toBe(true), { timeout: 20_000 })
    child.kill('SIGTERM')
    expect(await ended(child)).toMatchObject({ code: 143, stdout: '' })
  })

  test('a failure is shown, and the demo is not run', async () => {
    workspace.demo("console.log('ran')")
    workspace.write('packages/top/fail', '')
    const result = await workspace.run('start')
    expect(result).toMatchObject({ code: 3, stdout: '' })
    expect(result.stderr).toMatch(/top could not be built \(exit code 3\); nothing was run:\nthis is why/)
    workspace.remove('packages/top/fail')
    expect(await workspace.run('start')).toMatchObject({ code: 0, stdout: 'ran\n' })
  })

  test('packages that need each other in a circle are named', async () => {
    workspace.write('packages/base/package.json', { name: 'base', dependencies: { top: '*' } })
    mkdirSync(join(workspace.root, 'packages/base/node_modules/top'), { recursive: true })
    workspace.write('packages/base/node_modules/top/package.json', '{}')
    const result = await workspace.run('start')
    expect(result).toMatchObject({ code: 1 })
    expect(result.stderr).toMatch(/in a circle: .*base/)
  })

  test('two at once install and build once', async () => {
    const results = await Promise.all([workspace.run('start'), workspace.run('start'), workspace.run('start')])
    expect(results.map((result) => result.code)).toEqual([0, 0, 0])
    expect(workspace.npxCalls()).toHaveLength(1)
    expect(workspace.built()).toHaveLength(everything.length)
  })

  test('the lock of a process that is gone does not count', async () => {
    workspace.write('.cache/prepare.lock', '999999999')
    expect(await workspace.run('start')).toMatchObject({ code: 0 })
    expect(workspace.has('.cache/prepare.lock')).toBe(false)
  })
})

async function said(stream: NodeJS.ReadableStream | null, text: string): Promise<void> {
  if (stream === null) throw new Error('The child has no standard output.')
  for (let heard = ''; !heard.includes(text); ) heard += String((await once(stream, 'data'))[0])
}
