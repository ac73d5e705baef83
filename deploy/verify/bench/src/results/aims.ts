import { STREAM_CHUNKS } from '../peers/peer.js';
import type { OpenStreams } from '../open-streams.js';
import type { PeerId } from '../peers/peer.js';
import { FULL_LOAD, ONE_AT_A_TIME, STREAMS } from '../scenarios.js';
import type { Summary } from './summarise.js';

export type Aim = { readonly atMost: number } | { readonly atLeast: number };

/** A ratio that the project wants to hold, and what was measured. */
export interface Ratio {
  readonly what: string;
  readonly measured: number;
  /** What has to be reached first; null: nothing was set. */
  readonly firstStep: Aim | null;
  /** Null: no aim was set, the figure is for the reader. */
  readonly aim: Aim | null;
}

/** All ratios whose two sides were measured. */
export function ratiosOf(summaries: readonly Summary[]): Ratio[] {
  return RATIOS.flatMap(({ what, scenario, value, of, to, firstStep, aim }) => {
    const find = (peer: PeerId) => summaries.find((one) => one.scenario === scenario && one.peer === peer);
    const [ours, theirs] = [find(of), find(to)];
    if (ours === undefined || theirs === undefined) return [];
    const measured = value(ours) / value(theirs);
    return Number.isFinite(measured) ? [{ what, measured, firstStep, aim }] : [];
  });
}

const OPEN_FEW = 1_000;
const OPEN_MANY = 5_000;
const KB = 1_000;
const OPEN_AIMS = { firstStep: { atMost: 35 }, aim: { atMost: 30 } } as const;

/** What one of many open streams takes in our edge: with all that the process has grown by since its start, and alone. */
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
      what: `KB of memory of the edge per open stream, ${manyText} open, none dropped`,
      measured: many / KB,
      ...OPEN_AIMS,
    },
    {
      what: `KB of memory of the edge for each stream from ${fewText} to ${manyText} open ones`,
      measured: further / KB,
      firstStep: null,
      aim: null,
    },
  ];
  return ratios.filter(({ measured }) => Number.isFinite(measured));
}

/** Whether the ratio is where it is wanted: the aim, or only the first step to it. Null: nothing is wanted. */
export function reached(ratio: Ratio): 'aim' | 'first step' | 'no' | null {
  if (ratio.aim === null) return null;
  if (holds(ratio.aim, ratio.measured)) return 'aim';
  return ratio.firstStep !== null && holds(ratio.firstStep, ratio.measured) ? 'first step' : 'no';
}

function holds(aim: Aim, measured: number): boolean {
  return 'atMost' in aim ? measured <= aim.atMost : measured >= aim.atLeast;
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
    firstStep: { atMost: 0.45 },
    aim: { atMost: 0.25 },
  },
  {
    what: 'CPU of the edge per plain call ÷ bare relay, 64 connections',
    scenario: FULL_LOAD,
    value: edgeCpu,
    of: 'gateway',
    to: 'relay',
    firstStep: { atMost: 3 },
    aim: { atMost: 2 },
  },
  {
    what: 'calls/s, gateway (all of it on one core) ÷ Portkey, 64 connections',
    scenario: FULL_LOAD,
    value: (summary) => summary.callsPerSecond,
    of: 'gateway',
    to: 'portkey',
    firstStep: null,
    aim: null,
  },
  {
    what: 'calls/s of one edge with a core to itself (1 s ÷ CPU of the edge per call), gateway ÷ Portkey, 64 connections',
    scenario: FULL_LOAD,
    value: (summary) => 1 / edgeCpu(summary),
    of: 'gateway',
    to: 'portkey',
    firstStep: { atLeast: 3 },
    aim: { atLeast: 6 },
  },
  {
    what: 'first byte p50, gateway ÷ Portkey, 1 connection',
    scenario: ONE_AT_A_TIME,
    value: (summary) => summary.firstByteMs.p50,
    of: 'gateway',
    to: 'portkey',
    firstStep: null,
    aim: { atMost: 0.8 },
  },
  {
    what: 'first byte p99, gateway ÷ Portkey, 1 connection',
    scenario: ONE_AT_A_TIME,
    value: (summary) => summary.firstByteMs.p99,
    of: 'gateway',
    to: 'portkey',
    firstStep: null,
    aim: { atMost: 0.3 },
  },
  {
    what: 'complete answer (its record stored) p50, gateway ÷ Portkey, 1 connection',
    scenario: ONE_AT_A_TIME,
    value: (summary) => summary.completeMs.p50,
    of: 'gateway',
    to: 'portkey',
    firstStep: null,
    aim: { atMost: 1.2 },
  },
  {
    what: 'CPU of the edge per streamed chunk ÷ nginx',
    scenario: STREAMS,
    value: (summary) => edgeCpu(summary) / STREAM_CHUNKS,
    of: 'gateway',
    to: 'nginx',
    firstStep: { atMost: 3.2 },
    aim: { atMost: 2.5 },
  },
  {
    what: 'CPU of all processes per plain call, gateway ÷ bare relay, 64 connections',
    scenario: FULL_LOAD,
    value: wholeCpu,
    of: 'gateway',
    to: 'relay',
    firstStep: null,
    aim: null,
  },
  {
    what: 'CPU per plain call, Portkey ÷ bare relay, 64 connections',
    scenario: FULL_LOAD,
    value: wholeCpu,
    of: 'portkey',
    to: 'relay',
    firstStep: null,
    aim: null,
  },
  {
    what: 'CPU of all processes per streamed chunk, gateway ÷ bare relay',
    scenario: STREAMS,
    value: wholeCpu,
    of: 'gateway',
    to: 'relay',
    firstStep: null,
    aim: null,
  },
];
