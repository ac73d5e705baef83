import { findCallsNamedAfter } from '../heartbeats/last-heartbeats-rules.js';
import { BoundedMap } from '../records/bounded-map.js';
import type { Ports } from '../ports.js';

/** Number of edges to remember. */
const EDGES_MAX = 64;

interface Read {
  /** Redis time. */
  readonly at: number;
  readonly ids: Promise<ReadonlySet<string>>;
}

/**
 * Finds the calls of an edge in its stored heartbeats that are younger than the expiry. These calls
 * run, even if no replica of admission has processed the heartbeats.
 */
export class NamedCalls {
  readonly #reads = new BoundedMap<string, Read>(EDGES_MAX);

  constructor(private readonly ports: Pick<Ports, 'edges' | 'clock' | 'durations'>) {}

  /**
   * Calls of an edge fall due together, so a read after `since` (Redis time) is reused. Rejects
   * when the stream cannot be read.
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
    return findCallsNamedAfter(await edges.lastHeartbeats(edge), clock.now() - durations.expiryMs);
  }
}
