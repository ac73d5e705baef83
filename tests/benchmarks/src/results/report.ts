import type { CallCounts } from '../counts/count-calls.js';
import type { OpenStreams } from '../open-streams.js';
import type { PeerId } from '../peers/peer.js';
import type { ScenarioKind } from '../scenarios.js';
import type { Factor } from './factors.js';
import type { OwnUnit } from './own-units.js';
import type { Ratio } from './ratios.js';
import type { IdleReading, Sample } from './statistics.js';
import type { Summary } from './summarise.js';

/** Content of the result files. */
export interface Report {
  readonly command: string;
  readonly startedAt: string;
  /** Name and text, in the order of the page. */
  readonly facts: readonly (readonly [string, string])[];
  readonly peers: readonly { readonly id: PeerId; readonly title: string; readonly version: string }[];
  readonly scenarios: readonly { readonly id: string; readonly title: string; readonly kind: ScenarioKind }[];
  /** Why some rounds are missing, or null if all are included. */
  readonly brokenOff: string | null;
  /** Missing or unreliable measurements, with reasons. */
  readonly notes: readonly string[];
  /** CPU of the gateways without calls, by round. */
  readonly idle: readonly IdleReading[];
  readonly summaries: readonly Summary[];
  /** Memory of streams that stay open, in the order of measurement. */
  readonly openStreams: readonly OpenStreams[];
  /** Work that calls cause at the gateways, by scenario. */
  readonly counts: readonly CallCounts[];
  readonly ownUnits: readonly OwnUnit[];
  readonly ratios: readonly Ratio[];
  /** Comparison of this build with another commit, or null. */
  readonly against: { readonly commit: string; readonly factors: readonly Factor[] } | null;
  readonly samples: readonly Sample[];
}
