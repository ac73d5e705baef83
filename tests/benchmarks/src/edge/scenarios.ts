import type { CallKind } from '../peers/peer.js';

/** A pattern of calls, measured for every peer in every round. */
export interface Scenario {
  readonly id: string;
  readonly title: string;
  /** `mixed`: plain calls and a share of long streams. */
  readonly kind: CallKind | 'mixed';
  readonly connections: number;
  /** Calls use few accounts with raised limits. Only gateways and the direct call are measured. */
  readonly accounts?: 'hot';
  /** Calls begin at this rate (an open loop). Absent: one after the other. */
  readonly perSecond?: number;
}

/** Streams run at a rate that the load's core can handle: the cost per chunk matters. */
export const SCENARIOS: readonly Scenario[] = [
  { id: 'plain-1', title: '1 connection', kind: 'plain', connections: 1 },
  { id: 'plain-8', title: '8 connections', kind: 'plain', connections: 8 },
  { id: 'plain-64', title: '64 connections', kind: 'plain', connections: 64 },
  { id: 'paced-200', title: '200 calls begun a second', kind: 'plain', connections: 256, perSecond: 200 },
  { id: 'large-8', title: '8 connections', kind: 'large', connections: 8 },
  { id: 'streamed-16', title: 'streams of 100 chunks, 16 connections', kind: 'streamed', connections: 16 },
  { id: 'hot-20', title: '64 connections, 20 hot accounts', kind: 'plain', connections: 64, accounts: 'hot' },
  { id: 'mixed-16', title: '70 % streams of 150 chunks, 16 connections', kind: 'mixed', connections: 16 },
];

/** Share of long streams in `mixed-16`. */
export const LONG_SHARE = 0.7;
export const HALF_LOAD = 'paced-half';
/** Further measurements: memory of streams that stay open, and the work per call. */
export const OPEN_STREAMS = 'open-streams';
export const COUNTS = 'counts';
/** All names for `--scenarios`. */
export const SCENARIO_IDS: readonly string[] = [...SCENARIOS.map(({ id }) => id), HALF_LOAD, OPEN_STREAMS, COUNTS];

/** The scenario whose CPU and calls/s are compared. */
export const FULL_LOAD = 'plain-64';
/** The scenario whose latencies are compared. */
export const ONE_AT_A_TIME = 'plain-1';
export const AT_A_RATE = 'paced-200';
export const STREAMS = 'streamed-16';

/** Returns the kinds of calls that a scenario makes. */
export function kindsOf({ kind }: Pick<Scenario, 'kind'>): readonly CallKind[] {
  return kind === 'mixed' ? ['plain', 'long'] : [kind];
}

/**
 * Returns a scenario with half the rate that a gateway of this run has reached at {@link
 * FULL_LOAD}.
 */
export function atHalfLoad(callsPerSecond: number): Scenario {
  const perSecond = Math.max(1, Math.round(callsPerSecond / 2));
  const title = `half load, ${perSecond.toLocaleString('en-US')} calls begun a second`;
  return { id: HALF_LOAD, title, kind: 'plain', connections: 256, perSecond };
}

const BODY_BYTES = 1_024;
const LARGE_BODY_BYTES = 1_000_000;
const OUTPUT_TOKENS_MAX = 512;
const SENTENCE = 'Tell me something. ';

/** Returns a chat request of exactly 1 KiB, or 1 MB for `large`, for any model name. */
export function requestBody(model: string, kind: CallKind): string {
  const isStream = kind !== 'plain' && kind !== 'large';
  const bytes = kind === 'large' ? LARGE_BODY_BYTES : BODY_BYTES;
  const bodyWith = (content: string): string =>
    JSON.stringify({
      model,
      messages: [{ role: 'user', content }],
      max_tokens: OUTPUT_TOKENS_MAX,
      ...(isStream ? { stream: true, stream_options: { include_usage: true } } : {}),
    });
  return bodyWith(SENTENCE.repeat(Math.ceil(bytes / SENTENCE.length)).slice(0, bytes - bodyWith('').length));
}
