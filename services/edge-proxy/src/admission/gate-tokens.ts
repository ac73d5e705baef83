import { BUCKETS_TOTAL } from '@gateway/contracts/ids';
import type { BucketTokens } from '@gateway/contracts/messages';

/** Superseded tokens that are remembered for each bucket: losses of the gate within the life of a late message. */
const SUPERSEDED_MAX = 8;

interface KnownTokens {
  current: string;
  superseded: string[];
}

/**
 * The gate tokens that this edge has heard of, by bucket. A token that was followed by another is superseded: what it
 * comes with is void (money and failure, rule 3).
 */
export class GateTokens {
  readonly #buckets: (KnownTokens | undefined)[] = new Array<undefined>(BUCKETS_TOTAL).fill(undefined);

  /** Takes notice of a token. False: it is superseded, whoever named it speaks of a gate that is gone. */
  note(bucket: number, token: string): boolean {
    const known = this.#buckets[bucket];
    if (known === undefined) {
      this.#buckets[bucket] = { current: token, superseded: [] };
      return true;
    }
    if (known.current === token) return true;
    if (known.superseded.includes(token)) return false;
    known.superseded.push(known.current);
    if (known.superseded.length > SUPERSEDED_MAX) known.superseded.shift();
    known.current = token;
    return true;
  }

  /** What a beat carries. */
  all(): BucketTokens {
    const tokens: BucketTokens = [];
    for (const [bucket, known] of this.#buckets.entries()) {
      if (known !== undefined) tokens.push({ bucket, token: known.current });
    }
    return tokens;
  }
}
