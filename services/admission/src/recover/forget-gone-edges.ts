import type { HeartbeatCall } from '@gateway/contracts/messages';
import { type Background, every, groupBy } from '@gateway/service-kit';
import {
  isGone,
  findLastHeartbeats,
  findNewestPositions,
  computeSilenceTime,
} from '../heartbeats/last-heartbeats-rules.js';
import { expiredEvent } from '../sweep/sweep-script.js';
import type { Ports } from '../ports.js';
import { IDS_MAX, recordExpired } from '../sweep/ledger-client.js';

/**
 * Records the calls of edges that are gone as expired, if a loss of the limit store deleted their
 * holds, and then deletes the heartbeats of these edges from the stream (docs/protocol.md#r12).
 * Every replica does this; each step is repeatable.
 */
export class GoneEdgeCleanup {
  /** Edges that were gone at the last check, and the position of their last heartbeat. */
  #before: ReadonlyMap<string, number> = new Map();
  #background: Background | null = null;

  constructor(private readonly ports: Pick<Ports, 'edges' | 'owners' | 'journal' | 'clock' | 'durations' | 'log'>) {}

  start(): void {
    this.#background = every(this.ports.durations.leaseMs, () => this.check(), {
      clock: this.ports.clock.timers,
      failed: (err) => this.ports.log.warn({ err }, 'stopped edges could not be checked'),
    });
  }

  async stop(): Promise<void> {
    await this.#background?.stop();
  }

  /**
   * Processes edges that were also gone at the previous check and have sent no heartbeat since:
   * after an outage of the bus all edges seem to be gone for a moment. Rejects when the bus or
   * billing does not respond.
   */
  async check(): Promise<void> {
    const before = this.#before;
    this.#before = new Map();
    if (!this.ports.edges.listens()) return;
    const newest = findNewestPositions(await this.ports.edges.heartbeatMarks());
    const { clock, durations } = this.ports;
    const now = computeSilenceTime(newest.values(), clock.wall());
    const gone = new Map(
      [...newest]
        .filter(([, mark]) => isGone(mark, now, durations.expiryMs))
        .map(([edge, one]) => [edge, one.sequence]),
    );
    this.#before = gone;
    for (const [edge, sequence] of gone) if (before.get(edge) === sequence) await this.#settle(edge, sequence);
  }

  /**
   * Deletes the heartbeats when the ledger knows all calls. Otherwise the next check tries again.
   */
  async #settle(edge: string, sequence: number): Promise<void> {
    const { edges } = this.ports;
    const [last] = findLastHeartbeats(await edges.lastHeartbeats(edge));
    // The edge has sent a heartbeat in the meantime.
    if (last?.sequence !== sequence) return;
    const dueMs = last.storedAtMs + this.ports.durations.expiryMs;
    let unknown = 0;
    const listed = last.calls.flatMap(({ full }) => full ?? []);
    for (const [account, calls] of groupBy(listed, ({ hold }) => hold.account))
      unknown += await this.#expire(account, calls, dueMs);
    if (unknown === 0) await edges.forget(edge, last.sequence);
  }

  /**
   * Records calls as expired if the ledger has no record of them and billing has settled all events
   * stored until then. Resolves with the number of calls without a record.
   */
  async #expire(account: string, calls: readonly HeartbeatCall[], dueMs: number): Promise<number> {
    let unknown = 0;
    for (let from = 0; from < calls.length; from += IDS_MAX) {
      const part = calls.slice(from, from + IDS_MAX);
      const ids = part.map(({ id }) => id);
      const answer = await this.ports.owners.loadBalances({ account, names: [], ids, afterLoss: false });
      const closed = new Set(answer.snapshot.closed);
      const open = part.filter(({ id }) => !closed.has(id));
      unknown += open.length;
      if (answer.caughtUpTo > dueMs)
        await recordExpired(
          this.ports,
          account,
          open.map((call) => expiredEvent(call, dueMs)),
        );
    }
    return unknown;
  }
}
