import type { OpenStreams } from '../open-streams.js';
import type { CallKind, PeerId } from '../peers/peer.js';
import type { Ratio } from './aims.js';
import type { Factor } from './factors.js';
import type { IdleReading, Sample } from './sample.js';
import type { Summary } from './summarise.js';

/** Everything that the result files say. */
export interface Report {
  readonly command: string;
  readonly startedAt: string;
  /** Name and text, in the order of the page. */
  readonly facts: readonly (readonly [string, string])[];
  readonly peers: readonly { readonly id: PeerId; readonly title: string; readonly version: string }[];
  readonly scenarios: readonly { readonly id: string; readonly title: string; readonly kind: CallKind }[];
  /** Why not all rounds are in it; null: they are. */
  readonly brokenOff: string | null;
  /** What could not be measured, and why. */
  readonly notes: readonly string[];
  /** CPU of the gateways without calls, by round. */
  readonly idle: readonly IdleReading[];
  readonly summaries: readonly Summary[];
  /** Memory of streams that stay open, in the order in which it was read. */
  readonly openStreams: readonly OpenStreams[];
  readonly ratios: readonly Ratio[];
  /** This build beside another commit; null when none was asked for. */
  readonly against: { readonly commit: string; readonly factors: readonly Factor[] } | null;
  readonly samples: readonly Sample[];
}
