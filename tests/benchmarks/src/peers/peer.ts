import type { ProcessGroups } from '../machine/processes.js';

/** Peers that `--only` can name. */
export const PEER_IDS = ['direct', 'nginx', 'relay', 'portkey', 'litellm', 'gateway'] as const;
export type ListedPeer = (typeof PEER_IDS)[number];

/** Kinds of calls. `large` has a large body, `long` is a longer stream, `open` stays open. */
export type CallKind = 'plain' | 'streamed' | 'large' | 'long' | 'open';

/** A running program between the client and the provider. */
export interface Peer {
  /** A {@link ListedPeer}, or the name of a further gateway. */
  readonly id: string;
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
/** Content chunks of the streams. An open stream has one per second. */
export const STREAM_CHUNKS = { streamed: 100, long: 150, open: 16 } as const;

/** Returns a peer whose work ends with the response. */
export function createPeer(peer: Pick<Peer, 'id' | 'title' | 'version' | 'port'> & Partial<Peer>): Peer {
  const usual = { headers: [], models: PROVIDER_MODELS, keyed: false, processes: {}, except: [] };
  return { ...usual, settle: () => Promise.resolve(), ...peer };
}
