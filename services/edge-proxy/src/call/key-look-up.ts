import type { ClientRequest } from '../ports.js';
import type { Edge } from './call.js';

/** Row of a key that nobody has. */
const ROW_OF_WRONG_KEYS = 4;
/** Rows from which on a key is known: it exists, and its account may call. */
const ROW_AFTER_KEYS = 6;

/** What admission is asked about: a key, and who presents it. */
export interface PresentedDigests {
  readonly request: Pick<ClientRequest, 'client'>;
  /** The first stands for the key: the others are of the same secret. */
  readonly digests: readonly string[];
}

export interface LookUp {
  /** False: the key may be good, but its network presented too many that nobody has. The client is to try again. */
  readonly mayAsk: boolean;
  /** Whose key it is; null: nobody has confirmed it lately. */
  readonly account: string | null;
}

type Outcome =
  | { readonly kind: 'refused'; readonly row: number }
  | { readonly kind: 'fault' }
  | { readonly kind: 'admitted' | 'opened' | 'authorized' | 'usage'; readonly account: string };

/** Whether admission may be asked for a key: for one that it confirmed lately always. Once for each request. */
export function lookUpOf(
  { knownKeys, wrongKeys, metrics }: Pick<Edge, 'knownKeys' | 'wrongKeys' | 'metrics'>,
  { request, digests }: PresentedDigests,
  nowMs: number,
): LookUp {
  const account = knownKeys.accountOf(digests[0] ?? '', nowMs);
  const mayAsk = account !== null || wrongKeys.mayAsk(request.client, nowMs);
  if (!mayAsk) metrics.wrongKey('unasked');
  return { mayAsk, account };
}

/** Remembers whose key it is, or that it is nobody's any more. */
export function noteKey(
  { knownKeys, wrongKeys, metrics, deadlines }: Pick<Edge, 'knownKeys' | 'wrongKeys' | 'metrics' | 'deadlines'>,
  { request, digests }: PresentedDigests,
  outcome: Outcome,
  askedAtMs: number,
): void {
  const digest = digests[0] ?? '';
  if (outcome.kind === 'fault') return;
  if (outcome.kind !== 'refused') return knownKeys.confirmed(digest, outcome.account, askedAtMs);
  if (outcome.row >= ROW_AFTER_KEYS) return;
  knownKeys.refused(digest);
  if (outcome.row !== ROW_OF_WRONG_KEYS) return;
  wrongKeys.refused(request.client, deadlines.nowMs());
  metrics.wrongKey('wrong');
}
