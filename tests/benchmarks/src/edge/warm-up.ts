import { setTimeout as delay } from 'node:timers/promises';
import type { BenchContext } from '../context.js';
import { type Load, type LoadResult, failuresTotal } from '../load/load.js';
import type { CallKind, Peer } from '../peers/peer.js';
import { createJob, runJob } from './measure.js';
import type { Peers } from './start-all.js';

/** Concurrent first calls of the accounts. */
const FIRST_CALLS_PARALLEL = 8;
/** Time until the programs run compiled code. */
const WARM_UP_SECONDS = 2;
const WARM_UP_CONNECTIONS = 16;
/** Longest time until the catalog reaches the edge, and the interval between attempts. */
const FIRST_RESPONSE_MS_MAX = 20_000;
const FIRST_RESPONSE_POLL_MS = 100;

/** Kinds of calls that a peer does not answer at all, with the reason for the report. */
export type Unable = ReadonlyMap<Peer, ReadonlyMap<CallKind, string>>;

/**
 * Warms up every peer with these kinds of calls. A gateway first makes one call per account, and
 * its books are audited.
 * @returns the kinds that a peer does not answer
 * @throws Error if a gateway does not answer a kind, or a peer does not answer plain calls
 */
export async function warmUp(
  load: Load,
  { all, gateways }: Peers,
  kinds: readonly CallKind[],
  { log, signal }: BenchContext,
): Promise<Unable> {
  const unable = new Map<Peer, Map<CallKind, string>>();
  for (const peer of all) {
    const gateway = gateways.find((one) => one === peer);
    // The model of long streams is prepared with the hot accounts.
    for (const kind of kinds.filter((one) => one !== 'long' || gateway?.hotSecrets !== undefined || !peer.keyed)) {
      const reason = await tryUntilAnswered(load, peer, kind, signal);
      if (reason === null) continue;
      const text = `${peer.title} answers no ${kind} call: ${reason}`;
      if (peer.keyed || kind === 'plain') throw new Error(text);
      unable.set(peer, (unable.get(peer) ?? new Map<CallKind, string>()).set(kind, text));
      log(text);
    }
    if (gateway !== undefined) {
      // The first call of an account loads it into the limit store. The measurement excludes this
      // cost.
      const first = createJob(
        peer,
        { kind: 'plain', connections: FIRST_CALLS_PARALLEL },
        { calls: gateway.secrets.length },
      );
      requireAnswers(peer, await runJob(load, peer, first));
      await gateway.audit();
      log(`${peer.title}: each of its ${gateway.secrets.length} accounts has made a call; the books are correct`);
    }
    for (const kind of kinds.filter((one) => one !== 'long' && unable.get(peer)?.has(one) !== true)) {
      signal.throwIfAborted();
      const job = createJob(peer, { kind, connections: WARM_UP_CONNECTIONS }, { seconds: WARM_UP_SECONDS });
      requireAnswers(peer, await runJob(load, peer, job));
    }
  }
  log('all peers are warm');
  return unable;
}

/** @throws Error if a call of a gateway failed, or if another peer answered no call */
function requireAnswers({ title, keyed }: Peer, result: LoadResult): void {
  if (failuresTotal(result) > 0 && (keyed || result.calls === 0))
    throw new Error(`${title}: calls failed: ${JSON.stringify(result.failures)}`);
}

/** Retries until the catalog has reached a gateway. Other peers are tried once. */
async function tryUntilAnswered(load: Load, peer: Peer, kind: CallKind, signal: AbortSignal): Promise<string | null> {
  const until = Date.now() + (peer.keyed ? FIRST_RESPONSE_MS_MAX : 0);
  for (;;) {
    signal.throwIfAborted();
    const result = await runJob(load, peer, createJob(peer, { kind, connections: 1 }, { calls: 1 }));
    if (failuresTotal(result) === 0) return null;
    if (Date.now() >= until) return Object.keys(result.failures).join(', ');
    await delay(FIRST_RESPONSE_POLL_MS);
  }
}
