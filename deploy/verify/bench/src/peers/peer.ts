import type { ProcessGroups } from '../machine/read-cpu.js';

export const PEER_IDS = ['direct', 'nginx', 'relay', 'portkey', 'litellm', 'gateway'] as const;
/** A peer that `--only` can name. */
export type ListedPeer = (typeof PEER_IDS)[number];
/** `against`: the gateway of another commit. */
export type PeerId = ListedPeer | 'against';

/**
 * The kinds of calls that are measured; `large` sends a large body, `long` is a longer stream,
 * `open` one that lasts.
 */
export type CallKind = 'plain' | 'streamed' | 'large' | 'long' | 'open';

/** Something between the client and the provider, running and ready. */
export interface Peer {
  readonly id: PeerId;
  readonly title: string;
  /** For the reader: version and where it came from. */
  readonly version: string;
  readonly port: number;
  /** Beside those that every call has. */
  readonly headers: readonly (readonly [string, string])[];
  /** Model names by which it sends the kinds of calls to the provider. */
  readonly models: Readonly<Record<CallKind, string>>;
  /** A gateway of this project: calls carry keys of prepared accounts, and none may fail. */
  readonly keyed: boolean;
  /** What its CPU is read from; empty for the direct call. */
  readonly processes: ProcessGroups;
  /** Processes within these that only serve the measuring. */
  readonly except: readonly number[];
  /**
   * Notes calls since the last time, answered and failed ones, and waits until all work that the
   * answered ones caused is done. A failed call may leave a record behind, or none.
   */
  settle(answered: number, failed?: number): Promise<void>;
}

/** The provider's models: the simulator reads the size of the answer from the name. */
export const PROVIDER_MODELS: Readonly<Record<CallKind, string>> = {
  plain: 'bench-bytes1000',
  streamed: 'bench-chunks100',
  large: 'bench-bytes1000',
  long: 'bench-chunks150',
  open: 'bench-chunks16-every1000',
};
/** Content chunks of a streamed answer. */
export const STREAM_CHUNKS = 100;
/** Of a longer one. */
export const LONG_STREAM_CHUNKS = 150;
/** Of one that lasts: as many seconds. */
export const OPEN_STREAM_CHUNKS = 16;

/** For peers whose work ends with the answer. */
export const settlesAtOnce = (): Promise<void> => Promise.resolve();
