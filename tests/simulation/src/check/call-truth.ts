import type { HoldFields, UsageEvent } from '@gateway/contracts/messages';
import type { Client } from '../actors/client.js';
import type { CallAct, ProviderPlan } from '../scenario/scenario.js';
import type { Host } from '../time/host.js';

export type Tokens = Extract<ProviderPlan, { kind: 'answer' }>['usage'];

/** The true state of one call, independent of what the services believe. */
export interface CallTruth {
  readonly act: CallAct;
  readonly account: string;
  readonly edge: { readonly id: string; readonly host: Host };
  readonly client: Client;
  /** The gateway's ID when the call was sent to a source, otherwise the ID of its admission. */
  id: string | null;
  hold: HoldFields | null;
  /** The epoch of its first admission. */
  epoch: string | null;
  /** Time when it was first sent to a source, or null. */
  dispatchedAt: number | null;
  tries: number;
  /** The release that its edge last sent to admission. */
  released: { readonly outcome: 'ok' | 'void'; readonly amountNanoUsd: number } | null;
  /** The usage event that its edge has built. */
  event: UsageEvent | null;
  eventText: string | null;
  isStored: boolean;
  /** Tokens that a provider has reported. */
  reported: Tokens;
  /** Time when a provider sent its last chunk, or null. Same clock as `dispatchedAt`. */
  lastPieceAt: number | null;
  /** True if it was recorded as expired and settled later. */
  settledLate: boolean;
  /**
   * True if the limit store was lost and opened again while the edge had been silent for longer
   * than a recovery waits for edges.
   */
  isUnguarded: boolean;
}

/** The limits that the limit store used for an admission. */
export interface UsedLimits {
  readonly slots: number;
  /** Limits of windows in requests, by row name. */
  readonly rows: ReadonlyMap<string, number>;
}

export interface WalletEntryTruth {
  readonly account: string;
  readonly amountNanoUsd: number;
  /** Time when admission confirmed it. */
  inForceAt: number | null;
}

export interface Violation {
  readonly at: number;
  readonly rule: string;
  readonly detail: string;
}
