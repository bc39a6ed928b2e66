/**
 * The version of the fence's tables that this package makes, stored in the floor row. Versions grow by one with a change
 * that older packages can live with, and to the next hundred with one that they cannot: a package refuses to write to
 * tables of a later hundred (`FENCE_SCHEMA_TOO_NEW`).
 */
export const schemaVersion = 100

/** The first version that this package must not write to. */
export const schemaVersionBreaking = (Math.floor(schemaVersion / 100) + 1) * 100
