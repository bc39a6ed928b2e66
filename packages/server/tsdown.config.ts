import { library } from '../../tsdown.library.ts'

export default [
  library({ entry: ['src/index.ts', 'src/internal.ts'] }),
  library({
    entry: ['src/cli.ts'],
    format: ['esm'],
    // The package's bin entry says cli.js; the types of a program are of no use.
    fixedExtension: false,
    dts: false,
    clean: false,
  }),
]
