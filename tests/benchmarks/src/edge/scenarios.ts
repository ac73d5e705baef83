import type { ProcessGroups } from '../machine/processes.js';

/** Peers that `--only` can name. */
export const PEER_IDS = ['direct', 'nginx', 'relay', 'portkey', 'litellm', 'gateway'] as const;
export type PeerId = (typeof PEER_IDS)[number];

/** Kinds of calls. `large` has a large body, `open` stays open. */
export type CallKind = 'plain' | 'streamed' | 'large' | 'open';

/** A running program between the client and the provider. */
export interface Peer {
  /** A {@link PeerId}, or the name of a further gateway. */
  readonly id: string;
  readonly title: string;
  /** Version and origin, for the report. */
  readonly version: string;
  readonly port: number;
  /** Headers in addition to those of every call. */
  readonly headers: readonly (readonly [string, string])[];
  /** Model names that select the kinds of calls at the provider. */
  readonly models: Readonly<Record<CallKind, string>>;
  /** Keys that calls use in turn. */
  readonly secrets: readonly string[];
  /** Processes whose CPU is measured. Empty for the direct call. */
  readonly processes: ProcessGroups;
  /** Descendants of these processes that only serve the measurement. */
  readonly except: readonly number[];
  /** Waits until all work of the answered calls is done. Failed calls are only counted. */
  settle(answered: number, failed: number): Promise<void>;
  /** Absent for programs that are not gateways of this project. */
  readonly gateway?: {
    /** The process that starts and supervises it. Its CPU is not the gateway's. */
    readonly starter: number;
    /** Address of the monitoring port of its NATS, or null. */
    readonly monitorUrl: string | null;
    /** @throws Error unless every answered call has its record and the ledger is right */
    audit(): Promise<void>;
  };
}

/** Models of the provider. The simulator reads the size of the response from the name. */
export const PROVIDER_MODELS: Readonly<Record<CallKind, string>> = {
  plain: 'bench-bytes1000',
  streamed: 'bench-chunks100',
  large: 'bench-bytes1000',
  open: 'bench-chunks16-every1000',
};
/** IDs of the provider's models at the gateway. */
export const GATEWAY_MODELS: Readonly<Record<CallKind, string>> = {
  plain: 'bench/plain',
  streamed: 'bench/streamed',
  large: 'bench/plain',
  open: 'bench/open',
};
/** Content chunks of the streams. An open stream has one per second. */
export const STREAM_CHUNKS = { streamed: 100, open: 16 } as const;

/** A pattern of calls, measured for every peer in every round. */
export interface Scenario {
  readonly id: string;
  readonly title: string;
  readonly kind: CallKind;
  readonly connections: number;
  /** Calls begin at this rate (an open loop). Absent: one after the other. */
  readonly perSecond?: number;
}

const paced = (perSecond: number): Scenario => {
  const title = `1 KB, ${perSecond} per second`;
  return { id: `paced-${perSecond}`, title, kind: 'plain', connections: 256, perSecond };
};
/** Streams run at a rate that the load's core can handle: the cost per chunk matters. */
export const SCENARIOS: readonly Scenario[] = [
  { id: 'plain-1', title: '1 KB, 1 connection', kind: 'plain', connections: 1 },
  { id: 'plain-8', title: '1 KB, 8 connections', kind: 'plain', connections: 8 },
  { id: 'plain-64', title: '1 KB, 64 connections', kind: 'plain', connections: 64 },
  paced(200),
  { id: 'large-8', title: '1 MB in, 8 connections', kind: 'large', connections: 8 },
  { id: 'streamed-1', title: 'chunks of streams, 1 connection', kind: 'streamed', connections: 1 },
  { id: 'streamed-16', title: 'chunks of streams, 16 connections', kind: 'streamed', connections: 16 },
  ...[50, 120, 300].map(paced),
];
/** Rates that check docs/sizing.md. They run only if they are named. */
const ON_DEMAND = ['paced-50', 'paced-120', 'paced-300'];
/** The scenarios whose calls are counted, with those of {@link ON_DEMAND} that run. */
export const isCounted = (id: string, chosen: readonly string[]): boolean =>
  ['plain-1', 'plain-64', 'paced-200'].includes(id) || (ON_DEMAND.includes(id) && chosen.includes(id));
/** All names for `--scenarios`, with the memory of streams that stay open and the work per call. */
export const SCENARIO_IDS: readonly string[] = [...SCENARIOS.map(({ id }) => id), 'open-streams', 'counts'];
/** The scenarios of a run that names none. */
export const USUAL_IDS = SCENARIO_IDS.filter((id) => !ON_DEMAND.includes(id));

const BODY_BYTES = 1_024;
const LARGE_BODY_BYTES = 1_000_000;
const OUTPUT_TOKENS_MAX = 512;
const SENTENCE = 'Tell me something. ';

/** Returns a chat request of exactly 1 KiB, or 1 MB for `large`, for any model name. */
export function createBody(model: string, kind: CallKind): string {
  const isStream = kind === 'streamed' || kind === 'open';
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
