import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from '../../../scripts/lib/build.mjs'
import { repository } from '../../../scripts/lib/command.mjs'
import { exclusively } from '../../../scripts/lib/exclusive.mjs'
import { packBuilt } from '../../../scripts/lib/pack.mjs'
import { GuideRun } from './guide-run.js'

/** Programs of the machine that the reader gets another of. */
const offline = ['npm', 'npx']

/** What every reader of a guide has: the packed packages of this repository, and an npm that needs no network for them. */
export class Reader implements Disposable {
  readonly #home = mkdtempSync(join(tmpdir(), 'ticketing-reader-'))
  readonly #programs = join(this.#home, 'bin')
  readonly #packages = join(this.#home, 'packages')

  /** Builds what changed, which `npm test` has done before any test, and packs it. */
  static async equip(): Promise<Reader> {
    const reader = new Reader()
    try {
      await reader.#equip()
    } catch (error) {
      reader[Symbol.dispose]()
      throw error
    }
    return reader
  }

  async #equip(): Promise<void> {
    await exclusively(join(repository, '.cache/prepare.lock'), () => build(repository))
    // The pinned pnpm is in npx's cache since the install; it need not be looked up again.
    process.env['npm_config_prefer_offline'] ??= 'true'
    await packBuilt(repository, this.#packages)
    mkdirSync(this.#programs)
    for (const name of offline) {
      const script = fileURLToPath(new URL(`${name}-offline.mjs`, import.meta.url))
      const program = join(this.#programs, name)
      writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${script}" "$@"\n`)
      chmodSync(program, 0o755)
    }
  }

  /**
   * Begins a guide in an empty folder.
   *
   * @param example - the folder of this repository that has the packages of others which the guide installs.
   */
  begin(example: string, databaseUrl: string): GuideRun {
    return new GuideRun(this.#programs, {
      DATABASE_URL: databaseUrl,
      // Port 0: the server takes a free one and says which.
      TICKETING_ADDRESS: '127.0.0.1:0',
      TICKETING_PACKAGES: this.#packages,
      GUIDE_WORKSPACE: repository,
      // Prisma generates without its engine, which it would fetch, if it is told that there is one.
      PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
      CHECKPOINT_DISABLE: '1',
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      GUIDE_PACKAGES_OF_OTHERS: [example, '.']
        .map((folder) => join(repository, folder, 'node_modules'))
        .join(delimiter),
    })
  }

  [Symbol.dispose](): void {
    rmSync(this.#home, { recursive: true, force: true })
  }
}
