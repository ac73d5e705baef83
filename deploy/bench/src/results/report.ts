import type { OpenStreams } from '../open-streams.js';
import type { CallKind, PeerId } from '../peers/peer.js';
import type { Ratio } from './aims.js';
import type { Sample } from './sample.js';
import type { Summary } from './summarise.js';

/** Everything that the result files say. */
export interface Report {
  readonly command: string;
  readonly startedAt: string;
  /** Name and text, in the order of the page. */
  readonly facts: readonly (readonly [string, string])[];
  readonly peers: readonly { readonly id: PeerId; readonly title: string; readonly version: string }[];
  readonly scenarios: readonly { readonly id: string; readonly title: string; readonly kind: CallKind }[];
  /** What could not be measured, and why. */
  readonly notes: readonly string[];
  /** CPU of the gateway without calls, in microseconds per second by process; null when it was not measured. */
  readonly idle: Readonly<Record<string, number>> | null;
  readonly summaries: readonly Summary[];
  /** Memory of streams that stay open, in the order in which it was read. */
  readonly openStreams: readonly OpenStreams[];
  readonly ratios: readonly Ratio[];
  readonly samples: readonly Sample[];
}
