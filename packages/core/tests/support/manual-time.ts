interface Due {
  readonly at: number
  readonly call: () => void
}

/** Time that moves only when a test says so, in milliseconds. */
export class ManualTime {
  #now = 50_000
  readonly #due = new Set<Due>()

  readonly now = (): number => this.#now

  after(milliseconds: number, call: () => void): void {
    this.#due.add({ at: this.#now + milliseconds, call })
  }

  /** Time passes, and what falls due is called at the end of it. */
  advance(milliseconds: number): void {
    this.#now += milliseconds
    for (const due of [...this.#due].sort((a, b) => a.at - b.at)) {
      if (due.at > this.#now || !this.#due.delete(due)) continue
      due.call()
    }
  }

  /** The process stands still: time passes, and no timer has fired yet when the code goes on. */
  stall(milliseconds: number): void {
    this.#now += milliseconds
  }
}
