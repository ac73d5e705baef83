import type { HoldFields } from '@gateway/contracts/messages';
import { EphemeralMap } from '@gateway/service-kit';

interface Room {
  /** Admissions of this edge whose release is not answered. */
  held: number;
  /** How many calls fitted beside the latest of them. */
  left: number;
  /** When that was decided, in Redis time. */
  decidedAt: number;
}

/**
 * What this edge knows of how many calls more the accounts may have whose calls it has
 * (docs/protocol.md#r4). An account is forgotten with the last hold that it has through this edge.
 */
export class AccountRoom {
  readonly #accounts = new EphemeralMap<string, Room>();

  get size(): number {
    return this.#accounts.size;
  }

  /**
   * An admission has taken its part; `left` are those that fit beside it. Answers may arrive in
   * another order than they were decided in.
   */
  taken({ account, admittedAt }: HoldFields, left: number): void {
    const known = this.#accounts.get(account);
    if (known === undefined) return this.#accounts.set(account, { held: 1, left, decidedAt: admittedAt });
    known.held += 1;
    if (admittedAt < known.decidedAt) return;
    known.left = admittedAt === known.decidedAt ? Math.min(known.left, left) : left;
    known.decidedAt = admittedAt;
  }

  /** The release of a call was answered. */
  givenBack({ account }: HoldFields): void {
    const known = this.#accounts.get(account);
    if (known === undefined) return;
    known.held -= 1;
    if (known.held <= 0) this.#accounts.delete(account);
  }

  /**
   * Whether each call that this edge has of the account could be followed by another one before its
   * own hold is released, beside all that are being admitted now.
   * @param own how many fitted beside the call that ends: the latest one may be of another key,
   * with another cap
   * @param asking calls that are being admitted, of whatever account
   */
  isEnough(account: string, own: number, asking: number): boolean {
    const known = this.#accounts.get(account);
    return known !== undefined && known.held + asking <= Math.min(known.left, own);
  }
}
