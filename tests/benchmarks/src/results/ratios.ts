import { STREAM_CHUNKS } from '../peers/peer.js';
import type { OpenStreams } from '../open-streams.js';
import type { PeerId } from '../peers/peer.js';
import { FULL_LOAD, ONE_AT_A_TIME, STREAMS } from '../scenarios.js';
import type { Summary } from './summarise.js';

/** A ratio for the report, with the measured value. */
export interface Ratio {
  readonly what: string;
  readonly measured: number;
}

/** Returns all ratios whose two sides were measured. */
export function ratiosOf(summaries: readonly Summary[]): Ratio[] {
  return RATIOS.flatMap(({ what, scenario, value, of, to }) => {
    const find = (peer: PeerId) => summaries.find((one) => one.scenario === scenario && one.peer === peer);
    const [ours, theirs] = [find(of), find(to)];
    if (ours === undefined || theirs === undefined) return [];
    const measured = value(ours) / value(theirs);
    return Number.isFinite(measured) ? [{ what, measured }] : [];
  });
}

const OPEN_FEW = 1_000;
export const OPEN_MANY = 5_000;
const KB = 1_000;

/**
 * Returns the memory of one of many open streams in the edge: the total growth since its start
 * divided by the streams, and the growth per additional stream.
 */
export function memoryRatios(openStreams: readonly OpenStreams[]): Ratio[] {
  const bytesAt = (count: number): number => {
    const ours = openStreams.find(({ peer, streams }) => peer === 'gateway' && streams === count);
    return ours?.bytesPerStream['edge-proxy'] ?? NaN;
  };
  const [few, many] = [bytesAt(OPEN_FEW), bytesAt(OPEN_MANY)];
  const further = (many * OPEN_MANY - few * OPEN_FEW) / (OPEN_MANY - OPEN_FEW);
  const [fewText, manyText] = [OPEN_FEW.toLocaleString('en-US'), OPEN_MANY.toLocaleString('en-US')];
  const ratios: Ratio[] = [
    {
      what: `KB of memory of the edge per open stream, ${manyText} open`,
      measured: many / KB,
    },
    {
      what: `KB of memory of the edge for each stream from ${fewText} to ${manyText} open ones`,
      measured: further / KB,
    },
  ];
  return ratios.filter(({ measured }) => Number.isFinite(measured));
}

interface RatioRule extends Omit<Ratio, 'measured'> {
  readonly scenario: string;
  readonly value: (summary: Summary) => number;
  readonly of: PeerId;
  readonly to: PeerId;
}

/** CPU of the edge alone for this gateway, and of all processes for any other peer. */
const edgeCpu = (summary: Summary): number => summary.cpuByProcess['edge-proxy'] ?? summary.cpuPerCall?.median ?? NaN;
const wholeCpu = (summary: Summary): number => summary.cpuPerCall?.median ?? NaN;

const RATIOS: readonly RatioRule[] = [
  {
    what: 'CPU of all processes per plain call, gateway ÷ Portkey, 64 connections',
    scenario: FULL_LOAD,
    value: wholeCpu,
    of: 'gateway',
    to: 'portkey',
  },
  {
    what: 'CPU of the edge per plain call ÷ bare relay, 64 connections',
    scenario: FULL_LOAD,
    value: edgeCpu,
    of: 'gateway',
    to: 'relay',
  },
  {
    what: 'calls/s, gateway (all of it on one core) ÷ Portkey, 64 connections',
    scenario: FULL_LOAD,
    value: (summary) => summary.callsPerSecond,
    of: 'gateway',
    to: 'portkey',
  },
  {
    what: 'calls/s of one edge with a core to itself (1 s ÷ CPU of the edge per call), gateway ÷ Portkey, 64 connections',
    scenario: FULL_LOAD,
    value: (summary) => 1 / edgeCpu(summary),
    of: 'gateway',
    to: 'portkey',
  },
  {
    what: 'first byte p50, gateway ÷ Portkey, 1 connection',
    scenario: ONE_AT_A_TIME,
    value: (summary) => summary.firstByteMs.p50,
    of: 'gateway',
    to: 'portkey',
  },
  {
    what: 'first byte p99, gateway ÷ Portkey, 1 connection',
    scenario: ONE_AT_A_TIME,
    value: (summary) => summary.firstByteMs.p99,
    of: 'gateway',
    to: 'portkey',
  },
  {
    what: 'complete response (its record stored) p50, gateway ÷ Portkey, 1 connection',
    scenario: ONE_AT_A_TIME,
    value: (summary) => summary.completeMs.p50,
    of: 'gateway',
    to: 'portkey',
  },
  {
    what: 'CPU of the edge per streamed chunk ÷ nginx',
    scenario: STREAMS,
    value: (summary) => edgeCpu(summary) / STREAM_CHUNKS,
    of: 'gateway',
    to: 'nginx',
  },
  {
    what: 'CPU of all processes per plain call, gateway ÷ bare relay, 64 connections',
    scenario: FULL_LOAD,
    value: wholeCpu,
    of: 'gateway',
    to: 'relay',
  },
  {
    what: 'CPU per plain call, Portkey ÷ bare relay, 64 connections',
    scenario: FULL_LOAD,
    value: wholeCpu,
    of: 'portkey',
    to: 'relay',
  },
  {
    what: 'CPU of all processes per streamed chunk, gateway ÷ bare relay',
    scenario: STREAMS,
    value: wholeCpu,
    of: 'gateway',
    to: 'relay',
  },
];
