import { Injectable } from '@nestjs/common'
import type { Payout } from './payout.entity'

/** Someone else who must agree to a payout. May take as long as it likes. */
@Injectable()
export class Approval {
  /** @throws {RangeError} */
  async approve({ id, amount }: Payout): Promise<void> {
    if (amount <= 0) throw new RangeError(`payout ${id}: the amount must be positive`)
  }
}
