import type { CallCounts } from '../counts/count-calls.js';
import type { OpenStreams } from '../open-streams.js';
import type { PeerId } from '../peers/peer.js';
import { FULL_LOAD } from '../scenarios.js';
import type { Aims } from './factors.js';
import { busBytes, keptBytes, walBytes } from './count-rows.js';
import { OPEN_MANY } from './ratios.js';

/** A value whose aim is given in its own unit instead of as a factor. */
export interface OwnUnit {
  readonly what: string;
  /** NaN: not measured. */
  readonly ours: number;
  readonly theirs: number;
  /** The value that was known when first step and aim were set. */
  readonly atFirst: string;
  readonly aims: Aims;
}

const KB = 1_000;

/** Returns the rows that this build has a value for. Bytes per call are those at full load. */
export function listOwnUnits(counts: readonly CallCounts[], openStreams: readonly OpenStreams[]): OwnUnit[] {
  const counted =
    (value: (one: CallCounts) => number) =>
    (of: PeerId): number => {
      const one = counts.find(({ peer, scenario }) => peer === of && scenario === FULL_LOAD);
      return one === undefined ? NaN : value(one);
    };
  const open = openStreams.find(({ peer, streams }) => peer === 'gateway' && streams === OPEN_MANY);
  const ofOpen =
    (value: (one: OpenStreams) => number) =>
    (of: PeerId): number =>
      open === undefined || of !== 'gateway' ? NaN : value(open);
  const rows: readonly (readonly [what: string, value: (of: PeerId) => number, atFirst: string, aims: Aims])[] = [
    ['kept in the ledger, bytes per call', counted(keptBytes), '~1,600', { firstStep: 600, aim: 300 }],
    ['write-ahead log, bytes per call', counted(walBytes), '~2,900', { firstStep: 1_500, aim: 900 }],
    ['on the bus, bytes per call', counted(busBytes), '~4,700', { firstStep: 2_500, aim: 1_300 }],
    [
      'memory of the edge per open stream at 5,000, KB',
      ofOpen(({ bytesPerStream }) => (bytesPerStream['edge-proxy'] ?? NaN) / KB),
      '33.6',
      { firstStep: 31, aim: 28 },
    ],
    ['failed of 5,000 open streams', ofOpen(({ dropped }) => dropped), '949', { firstStep: 0, aim: 0 }],
  ];
  return rows
    .map(([what, value, atFirst, aims]) => ({ what, ours: value('gateway'), theirs: value('against'), atFirst, aims }))
    .filter(({ ours }) => Number.isFinite(ours));
}
