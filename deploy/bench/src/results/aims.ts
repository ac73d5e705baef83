import { STREAM_CHUNKS } from '../peers/peer.js';
import type { OpenStreams } from '../open-streams.js';
import type { PeerId } from '../peers/peer.js';
import { FULL_LOAD, ONE_AT_A_TIME, STREAMS } from '../scenarios.js';
import type { Summary } from './summarise.js';

/** A ratio that the project wants to hold, and what was measured. */
export interface Ratio {
  readonly what: string;
  readonly measured: number;
  /** Null: no aim was set, the figure is for the reader. */
  readonly aim: { readonly atMost: number } | { readonly atLeast: number } | null;
}

/** All ratios whose two sides were measured. */
export function ratiosOf(summaries: readonly Summary[]): Ratio[] {
  return RATIOS.flatMap(({ what, scenario, value, of, to, aim }) => {
    const find = (peer: PeerId) => summaries.find((one) => one.scenario === scenario && one.peer === peer);
    const [ours, theirs] = [find(of), find(to)];
    if (ours === undefined || theirs === undefined) return [];
    const measured = value(ours) / value(theirs);
    return Number.isFinite(measured) ? [{ what, measured, aim }] : [];
  });
}

const OPEN_STREAMS = 5_000;
const OPEN_KB_MAX = 30;
const KB = 1_000;

/** What one of many open streams takes in our edge. */
export function memoryRatios(openStreams: readonly OpenStreams[]): Ratio[] {
  const ours = openStreams.find(({ peer, streams }) => peer === 'gateway' && streams === OPEN_STREAMS);
  const bytes = ours?.bytesPerStream['edge-proxy'];
  if (bytes === undefined) return [];
  const what = `KB of memory of the edge per open stream, ${OPEN_STREAMS.toLocaleString('en-US')} open, none dropped`;
  return [{ what, measured: bytes / KB, aim: { atMost: OPEN_KB_MAX } }];
}

export function isMet(ratio: Ratio): boolean | null {
  if (ratio.aim === null) return null;
  return 'atMost' in ratio.aim ? ratio.measured <= ratio.aim.atMost : ratio.measured >= ratio.aim.atLeast;
}

interface RatioRule extends Omit<Ratio, 'measured'> {
  readonly scenario: string;
  readonly value: (summary: Summary) => number;
  readonly of: PeerId;
  readonly to: PeerId;
}

/** Our edge alone, and any other peer as a whole. */
const edgeCpu = (summary: Summary): number => summary.cpuByProcess['edge-proxy'] ?? summary.cpuPerCall?.median ?? NaN;
const wholeCpu = (summary: Summary): number => summary.cpuPerCall?.median ?? NaN;

const RATIOS: readonly RatioRule[] = [
  {
    what: 'CPU of all processes per plain call, gateway ÷ Portkey, 64 connections',
    scenario: FULL_LOAD,
    value: wholeCpu,
    of: 'gateway',
    to: 'portkey',
    aim: { atMost: 0.25 },
  },
  {
    what: 'CPU of the edge per plain call ÷ bare relay, 64 connections',
    scenario: FULL_LOAD,
    value: edgeCpu,
    of: 'gateway',
    to: 'relay',
    aim: { atMost: 2 },
  },
  {
    what: 'calls/s, gateway (all of it on one core) ÷ Portkey, 64 connections',
    scenario: FULL_LOAD,
    value: (summary) => summary.callsPerSecond,
    of: 'gateway',
    to: 'portkey',
    aim: { atLeast: 6 },
  },
  {
    what: 'first byte p50, gateway ÷ Portkey, 1 connection',
    scenario: ONE_AT_A_TIME,
    value: (summary) => summary.firstByteMs.p50,
    of: 'gateway',
    to: 'portkey',
    aim: { atMost: 0.8 },
  },
  {
    what: 'first byte p99, gateway ÷ Portkey, 1 connection',
    scenario: ONE_AT_A_TIME,
    value: (summary) => summary.firstByteMs.p99,
    of: 'gateway',
    to: 'portkey',
    aim: { atMost: 0.3 },
  },
  {
    what: 'complete answer (its record stored) p50, gateway ÷ Portkey, 1 connection',
    scenario: ONE_AT_A_TIME,
    value: (summary) => summary.completeMs.p50,
    of: 'gateway',
    to: 'portkey',
    aim: { atMost: 1.2 },
  },
  {
    what: 'CPU of the edge per streamed chunk ÷ nginx',
    scenario: STREAMS,
    value: (summary) => edgeCpu(summary) / STREAM_CHUNKS,
    of: 'gateway',
    to: 'nginx',
    aim: { atMost: 2.5 },
  },
  {
    what: 'CPU of all processes per plain call, gateway ÷ bare relay, 64 connections',
    scenario: FULL_LOAD,
    value: wholeCpu,
    of: 'gateway',
    to: 'relay',
    aim: null,
  },
  {
    what: 'CPU per plain call, Portkey ÷ bare relay, 64 connections',
    scenario: FULL_LOAD,
    value: wholeCpu,
    of: 'portkey',
    to: 'relay',
    aim: null,
  },
  {
    what: 'CPU of all processes per streamed chunk, gateway ÷ bare relay',
    scenario: STREAMS,
    value: wholeCpu,
    of: 'gateway',
    to: 'relay',
    aim: null,
  },
];
