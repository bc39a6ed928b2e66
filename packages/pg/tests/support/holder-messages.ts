/** What a test orders a holder process to do. */
export type HolderOrder =
  | {
      /**
       * - `late`, `alternating`: inside the transaction; it reports `at` where it may be stopped.
       * - `before-check`: stops itself with its connection in hand, before the last look at the lease.
       * - `before-begin`: stops itself as the first byte of the transaction is written.
       */
      readonly scenario: 'late' | 'alternating' | 'before-check' | 'before-begin'
      readonly url: string
      readonly key: string
      readonly token: string
      readonly leaseSeconds: number
    }
  | { readonly scenario: 'migrate'; readonly url: string; readonly pools: number }

/** What a holder process tells. */
export type HolderMessage =
  | { readonly event: 'ready' }
  | { readonly event: 'at'; readonly remainingSeconds: number }
  | {
      readonly event: 'end'
      readonly error: ReportedError | undefined
      /** Bytes that were written to the database since the order. */
      readonly bytes: number
    }

/** An error as it passes between processes: bigints in decimal. */
export interface ReportedError {
  readonly name?: string
  readonly code?: string
  readonly message?: string
  readonly key?: string
  readonly token?: string
  readonly highWater?: string
  readonly causeCode?: string
}
