/** The title of the suite's outermost group; the reporter knows an adapter by it. */
export const conformanceTitle = 'conformance of '
