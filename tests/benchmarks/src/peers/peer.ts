import type { ProcessGroups } from '../machine/read-cpu.js';

export const PEER_IDS = ['direct', 'nginx', 'relay', 'portkey', 'litellm', 'gateway'] as const;
/** A peer that `--only` can name. */
export type ListedPeer = (typeof PEER_IDS)[number];
/** `against`: the gateway of another commit. */
export type PeerId = ListedPeer | 'against';

/** Kinds of calls. `large` has a large body, `long` is a longer stream, `open` stays open. */
export type CallKind = 'plain' | 'streamed' | 'large' | 'long' | 'open';

/** A running program between the client and the provider. */
export interface Peer {
  readonly id: PeerId;
  readonly title: string;
  /** Version and origin, for the report. */
  readonly version: string;
  readonly port: number;
  /** Headers in addition to those of every call. */
  readonly headers: readonly (readonly [string, string])[];
  /** Model names that select the kinds of calls at the provider. */
  readonly models: Readonly<Record<CallKind, string>>;
  /** True for a gateway of this project: calls use prepared keys, and no call may fail. */
  readonly keyed: boolean;
  /** Processes whose CPU is measured. Empty for the direct call. */
  readonly processes: ProcessGroups;
  /** Descendants of these processes that only serve the measurement. */
  readonly except: readonly number[];
  /**
   * Records answered and failed calls since the last time, and waits until all work of the answered
   * calls is done. A failed call may leave a record or none.
   */
  settle(answered: number, failed?: number): Promise<void>;
}

/** Models of the provider. The simulator reads the size of the response from the name. */
export const PROVIDER_MODELS: Readonly<Record<CallKind, string>> = {
  plain: 'bench-bytes1000',
  streamed: 'bench-chunks100',
  large: 'bench-bytes1000',
  long: 'bench-chunks150',
  open: 'bench-chunks16-every1000',
};
/** Content chunks of a streamed response. */
export const STREAM_CHUNKS = 100;
/** Content chunks of a longer stream. */
export const LONG_STREAM_CHUNKS = 150;
/** Content chunks of a stream that stays open, one per second. */
export const OPEN_STREAM_CHUNKS = 16;

/** For peers whose work ends with the response. */
export const settleAtOnce = (): Promise<void> => Promise.resolve();
