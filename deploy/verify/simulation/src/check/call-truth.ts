import type { HoldFields, UsageEvent } from '@gateway/contracts/messages';
import type { Client } from '../actors/client.js';
import type { CallAct, ProviderPlan } from '../scenario/scenario.js';
import type { Host } from '../time/host.js';

export type Tokens = Extract<ProviderPlan, { kind: 'answer' }>['usage'];

/** What really happened to one call, whatever anybody believes. */
export interface CallTruth {
  readonly act: CallAct;
  readonly account: string;
  readonly edge: { readonly id: string; readonly host: Host };
  readonly client: Client;
  /** The gateway's id when it was sent to a source, else of its admission. */
  id: string | null;
  hold: HoldFields | null;
  /** The epoch under which it was admitted first. */
  epoch: string | null;
  /** When it was first sent to a source, or null. */
  dispatchedAt: number | null;
  tries: number;
  /** What its edge last told admission. */
  released: { readonly outcome: 'ok' | 'void'; readonly amountNanoUsd: number } | null;
  /** Frozen by its edge. */
  event: UsageEvent | null;
  eventText: string | null;
  isStored: boolean;
  /** Tokens that a provider has told of. */
  reported: Tokens;
  /** When a provider sent the last piece of its answer, or null; as `dispatchedAt`. */
  lastPieceAt: number | null;
  /** It was recorded as expired and settled after that. */
  settledLate: boolean;
  /**
   * The limit store was lost and opened again while its edge had been silent for longer than edges
   * are waited for.
   */
  isUnguarded: boolean;
}

/** What the limit store compared an admission with. */
export interface LimitsSeen {
  readonly slots: number;
  /** Windows in requests, by their rows. */
  readonly rows: ReadonlyMap<string, number>;
}

export interface WalletEntryTruth {
  readonly account: string;
  readonly amountNanoUsd: number;
  /** When admission had taken it. */
  inForceAt: number | null;
}

export interface Violation {
  readonly at: number;
  readonly rule: string;
  readonly detail: string;
}
