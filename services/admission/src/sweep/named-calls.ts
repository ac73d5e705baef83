import { callsNamedAfter } from '../heartbeats/last-heartbeats-rules.js';
import { BoundedMap } from '../records/bounded-map.js';
import type { Ports } from '../ports.js';

/** Edges that are remembered at once. */
const EDGES_MAX = 64;

interface Read {
  /** Redis time. */
  readonly at: number;
  readonly ids: Promise<ReadonlySet<string>>;
}

/**
 * Which calls of an edge stand in a heartbeat that the stream keeps and that is younger than the
 * expiry: they run, whatever of it reached admission.
 */
export class NamedCalls {
  readonly #reads = new BoundedMap<string, Read>(EDGES_MAX);

  constructor(private readonly ports: Pick<Ports, 'edges' | 'clock' | 'durations'>) {}

  /**
   * Calls of an edge fall due together: what was read after `since`, in Redis time, is enough.
   * Rejects when the stream cannot be read.
   */
  async of(edge: string, since: number): Promise<ReadonlySet<string>> {
    const at = this.ports.clock.now();
    const known = this.#reads.get(edge);
    if (known !== undefined && known.at >= since) return known.ids;
    const ids = this.#read(edge);
    this.#reads.set(edge, { at, ids });
    ids.catch(() => this.#reads.delete(edge));
    return ids;
  }

  async #read(edge: string): Promise<ReadonlySet<string>> {
    const { edges, clock, durations } = this.ports;
    return callsNamedAfter(await edges.lastHeartbeats(edge), clock.now() - durations.expiryMs);
  }
}
