/** What a request asks for. */
export type RequestKind = 'acquire' | 'release'

interface Loss {
  readonly what: 'request' | 'answer'
  readonly of: RequestKind | undefined
}

interface HeldAnswer {
  readonly key: string
  readonly deliver: () => void
}

/** The network between a fake broker and its imaginary server: it can hold answers back and lose requests and answers. */
export class FakeNetwork {
  #losses: readonly Loss[] = []
  #allStalled = false
  readonly #stalledKeys = new Set<string>()
  #held: HeldAnswer[] = []

  loseNext(what: 'request' | 'answer', of: RequestKind | undefined): void {
    this.#losses = [...this.#losses, { what, of }]
  }

  /** Whether the next request or answer of this kind gets lost; asked once for each. */
  loses(what: 'request' | 'answer', of: RequestKind): boolean {
    const loss = this.#losses.find((it) => it.what === what && (it.of === undefined || it.of === of))
    this.#losses = this.#losses.filter((it) => it !== loss)
    return loss !== undefined
  }

  stall(key: string | undefined): void {
    if (key === undefined) this.#allStalled = true
    else this.#stalledKeys.add(key)
  }

  /** What was held back arrives, in the order in which it was sent. */
  resume(key: string | undefined): void {
    if (key === undefined) {
      this.#allStalled = false
      this.#stalledKeys.clear()
    } else {
      this.#stalledKeys.delete(key)
    }
    const arriving = this.#held.filter((answer) => !this.#stalls(answer.key))
    this.#held = this.#held.filter((answer) => this.#stalls(answer.key))
    for (const { deliver } of arriving) deliver()
  }

  /** Brings an answer to its client, now or when the stall ends. */
  answer(key: string, deliver: () => void): void {
    if (this.#stalls(key)) this.#held.push({ key, deliver })
    else deliver()
  }

  #stalls(key: string): boolean {
    return this.#allStalled || this.#stalledKeys.has(key)
  }
}
