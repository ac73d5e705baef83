import type { HoldFields } from '@gateway/contracts/messages';
import { EphemeralMap } from '@gateway/service-kit';

interface Room {
  /** Number of admissions of this edge without an answered release. */
  held: number;
  /** Number of further calls that fitted after the latest of them. */
  left: number;
  /** Time of the latest decision, in Redis time. */
  decidedAt: number;
}

/**
 * Tracks how many further calls fit for each account with calls at this edge (docs/protocol.md#r4).
 * An account is removed with its last hold at this edge.
 */
export class AccountRoom {
  readonly #accounts = new EphemeralMap<string, Room>();

  get size(): number {
    return this.#accounts.size;
  }

  /**
   * Records an admission; `left` is the number of further calls that fit after it. Answers may
   * arrive in another order than the decisions.
   */
  taken({ account, admittedAt }: HoldFields, left: number): void {
    const known = this.#accounts.get(account);
    if (known === undefined) return this.#accounts.set(account, { held: 1, left, decidedAt: admittedAt });
    known.held += 1;
    if (admittedAt < known.decidedAt) return;
    known.left = admittedAt === known.decidedAt ? Math.min(known.left, left) : left;
    known.decidedAt = admittedAt;
  }

  /** Records an answered release. */
  givenBack({ account }: HoldFields): void {
    const known = this.#accounts.get(account);
    if (known === undefined) return;
    known.held -= 1;
    if (known.held <= 0) this.#accounts.delete(account);
  }

  /**
   * Returns whether, for each call of the account at this edge, another call could follow before
   * the first one's hold is released, in addition to all calls that are being admitted now.
   * @param own number of further calls that fitted after the ending call; the latest call may have
   * another key, with another cap
   * @param asking calls of any account that are being admitted
   */
  isEnough(account: string, own: number, asking: number): boolean {
    const known = this.#accounts.get(account);
    return known !== undefined && known.held + asking <= Math.min(known.left, own);
  }
}
