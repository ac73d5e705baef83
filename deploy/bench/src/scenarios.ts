import type { CallKind } from './peers/peer.js';

/** One way of calling, measured for every peer in every round. */
export interface Scenario {
  readonly id: string;
  readonly title: string;
  readonly kind: CallKind;
  readonly connections: number;
}

/** Streams run at a rate that the load's core can follow: the cost of a chunk is asked for, not their number. */
export const SCENARIOS: readonly Scenario[] = [
  { id: 'plain-1', title: '1 connection', kind: 'plain', connections: 1 },
  { id: 'plain-8', title: '8 connections', kind: 'plain', connections: 8 },
  { id: 'plain-64', title: '64 connections', kind: 'plain', connections: 64 },
  { id: 'streamed-16', title: 'streams of 100 chunks, 16 connections', kind: 'streamed', connections: 16 },
];

/** The one whose CPU figures and calls/s are compared. */
export const FULL_LOAD = 'plain-64';
/** The one whose latencies are compared. */
export const ONE_AT_A_TIME = 'plain-1';
export const STREAMS = 'streamed-16';

const BODY_BYTES = 1_024;
const OUTPUT_TOKENS_MAX = 512;

/** A chat request of exactly 1 KiB, whatever the model is called. */
export function requestBody(model: string, kind: CallKind): string {
  const streamed = { stream: true, stream_options: { include_usage: true } };
  const bodyWith = (content: string): string =>
    JSON.stringify({
      model,
      messages: [{ role: 'user', content }],
      max_tokens: OUTPUT_TOKENS_MAX,
      ...(kind === 'streamed' ? streamed : {}),
    });
  return bodyWith('Tell me something. '.repeat(60).slice(0, BODY_BYTES - bodyWith('').length));
}
