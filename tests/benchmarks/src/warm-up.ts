import type { BenchContext } from './bench-context.js';
import { failuresTotal } from './load/load-job.js';
import { jobOf, runClean } from './measure.js';
import type { Bench } from './measure.js';
import type { CallKind, Peer } from './peers/peer.js';
import type { Scenario } from './scenarios.js';
import { kindsOf } from './scenarios.js';
import type { Peers } from './start-peers.js';

/** Concurrent first calls of the accounts. */
const FIRST_CALLS_PARALLEL = 8;
/** Time until the programs run compiled code. */
const WARM_UP_SECONDS = 2;
const WARM_UP_CONNECTIONS = 16;
/** Longest time until the catalog reaches the edge, and the interval between attempts. */
const FIRST_ANSWER_MS_MAX = 20_000;
const FIRST_ANSWER_POLL_MS = 100;

/** Kinds of calls that a peer does not answer at all, with the reason for the report. */
export type Unable = ReadonlyMap<Peer, ReadonlyMap<CallKind, string>>;

/** Gateways, and all peers that can be called. */
type Callable = Pick<Peers, 'all' | 'gateways'>;

/** Returns the kinds of calls of these scenarios, and plain ones for first calls. */
export function listAllKinds(scenarios: readonly Pick<Scenario, 'kind'>[]): CallKind[] {
  return [...new Set<CallKind>(['plain', ...scenarios.flatMap(kindsOf)])];
}

/**
 * Tries the kinds of calls on every peer. Skips long streams at a gateway without accounts for
 * them.
 * @throws Error if a gateway does not answer a kind, or a peer does not answer plain calls
 */
export async function findUnable(
  bench: Bench,
  peers: Callable,
  kinds: readonly CallKind[],
  { log, signal }: BenchContext,
): Promise<Unable> {
  const unable = new Map<Peer, Map<CallKind, string>>();
  for (const peer of peers.all) {
    for (const kind of kinds) {
      if (kind === 'long' && peers.gateways.some((one) => one === peer && one.hotSecrets === undefined)) continue;
      const reason = await tryUntilAnswered(bench, peer, kind, signal);
      if (reason === null) continue;
      const text = `${peer.title} answers no ${kind} call: ${reason}`;
      if (peer.keyed || kind === 'plain') throw new Error(text);
      unable.set(peer, (unable.get(peer) ?? new Map<CallKind, string>()).set(kind, text));
      log(text);
    }
  }
  return unable;
}

/** Warms up every peer. A gateway first makes one call per account and is audited. */
export async function warmUp(
  bench: Bench,
  peers: Callable,
  kinds: readonly CallKind[],
  unable: Unable,
  { log, signal }: BenchContext,
): Promise<void> {
  for (const gateway of peers.gateways) {
    // The first call of an account loads it into the limit store. The measurement excludes this
    // cost.
    const first = { kind: 'plain', connections: FIRST_CALLS_PARALLEL } as const;
    await runClean(bench, gateway, jobOf(gateway, first, { calls: gateway.secrets.length }));
    await gateway.audit();
    log(`${gateway.title}: each of its ${gateway.secrets.length} accounts has made a call; the books are correct`);
  }
  for (const peer of peers.all) {
    for (const kind of kinds.filter((one) => one !== 'long' && unable.get(peer)?.has(one) !== true)) {
      signal.throwIfAborted();
      const until = { seconds: WARM_UP_SECONDS };
      await runClean(bench, peer, jobOf(peer, { kind, connections: WARM_UP_CONNECTIONS }, until));
    }
  }
  log('all peers are warm');
}

/** Retries until the catalog has reached a gateway. Other peers are tried once. */
async function tryUntilAnswered(bench: Bench, peer: Peer, kind: CallKind, signal: AbortSignal): Promise<string | null> {
  const until = Date.now() + (peer.keyed ? FIRST_ANSWER_MS_MAX : 0);
  for (;;) {
    signal.throwIfAborted();
    const result = await bench.load.run(jobOf(peer, { kind, connections: 1 }, { calls: 1 }));
    await peer.settle(result.calls, failuresTotal(result));
    if (failuresTotal(result) === 0) return null;
    if (Date.now() >= until) return Object.keys(result.failures).join(', ');
    await new Promise((resolve) => setTimeout(resolve, FIRST_ANSWER_POLL_MS));
  }
}
