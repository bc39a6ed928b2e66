import { library } from '../../tsdown.library.ts'

export default library({ entry: ['src/index.ts', 'src/internal.ts'] })
