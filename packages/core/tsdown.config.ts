import { library } from '../../tsdown.library.ts'

export default library({ entry: { index: 'src/index.ts', 'pg-driver': 'src/drivers/index.ts' } })
