import { BUCKETS_TOTAL } from '@gateway/contracts/ids';
import type { BucketEpochs } from '@gateway/contracts/messages';

/** Superseded tokens that are remembered for each bucket: losses of the gate within the life of a late message. */
const SUPERSEDED_MAX = 8;

interface KnownTokens {
  current: string;
  /** When the current one was set. */
  setAt: number;
  superseded: string[];
}

/**
 * The gate tokens that this edge has heard of, by bucket. A token that was followed by another is superseded: what it
 * comes with is void (docs/protocol.md#r3). Which one follows is told by the time inside them and
 * not by the order of arrival: an answer of a gate that is gone may come late, also under a token
 * that was never heard here.
 */
export class GateTokens {
  readonly #buckets: (KnownTokens | undefined)[] = new Array<undefined>(BUCKETS_TOTAL).fill(undefined);

  /** Takes notice of a token. False: it is superseded, whoever named it speaks of a gate that is gone. */
  note(bucket: number, token: string): boolean {
    const known = this.#buckets[bucket];
    if (known === undefined) {
      this.#buckets[bucket] = { current: token, setAt: setAtOf(token), superseded: [] };
      return true;
    }
    if (known.current === token) return true;
    const setAt = setAtOf(token);
    if (setAt < known.setAt || known.superseded.includes(token)) return false;
    known.superseded.push(known.current);
    if (known.superseded.length > SUPERSEDED_MAX) known.superseded.shift();
    known.current = token;
    known.setAt = setAt;
    return true;
  }

  /** What a beat carries. */
  all(): BucketEpochs {
    const tokens: BucketEpochs = [];
    for (const [bucket, known] of this.#buckets.entries()) {
      if (known !== undefined) tokens.push({ bucket, token: known.current });
    }
    return tokens;
  }
}

/**
 * Milliseconds inside `<run id>.<time>.<random>`; 0 for a token that says none, as those did that were set before tokens had
 * a time: the one that is heard later follows.
 */
function setAtOf(token: string): number {
  const [, time, random] = token.split('.');
  return random === undefined ? 0 : Number(time) || 0;
}
