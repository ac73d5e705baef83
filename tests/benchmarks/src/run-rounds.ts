import type { BenchArguments } from './arguments.js';
import type { BenchContext } from './bench-context.js';
import { type Bench, measure, measureIdle } from './measure.js';
import type { Peer } from './peers/peer.js';
import type { IdleReading, Sample } from './results/statistics.js';
import { type Scenario, kindsOf } from './scenarios.js';
import type { Peers } from './start-peers.js';
import type { Unable } from './warm-up.js';

/** Results of complete rounds. */
export interface Rounds {
  readonly samples: readonly Sample[];
  readonly idle: readonly IdleReading[];
  /** Failed or unreliable measurements, with reasons. */
  readonly notes: readonly string[];
  /** Why some of the requested rounds are missing, or null. */
  readonly brokenOff: string | null;
}

/**
 * Measures every scenario for every peer in every round. Audits the books of the gateways after
 * each round. A failed measurement of another peer is left out and noted. If a later round fails,
 * the earlier ones are kept.
 * @throws Error if the first round fails
 */
export async function runRounds(
  bench: Bench,
  peers: Peers,
  scenarios: readonly Scenario[],
  unable: Unable,
  options: BenchArguments,
  { log, signal }: BenchContext,
): Promise<Rounds> {
  const [samples, idle, notes]: [Sample[], IdleReading[], string[]] = [[], [], []];
  for (let round = 1; round <= options.rounds; round += 1) {
    try {
      const [ofRound, idleOfRound]: [Sample[], IdleReading[]] = [[], await measureIdle(peers.gateways, round)];
      for (const [index, scenario] of scenarios.entries()) {
        for (const peer of inTurn(peers.all, round + index)) {
          signal.throwIfAborted();
          if (!isMeasured(peers, peer, scenario, unable)) continue;
          const sample = await measure(bench, peer, scenario, round, options.seconds).catch((error: unknown) => {
            if (signal.aborted || peer.keyed) throw error;
            const reason = error instanceof Error ? error.message : String(error);
            notes.push(`${peer.title}, ${scenario.title}, round ${round}: ${reason}`);
            return null;
          });
          if (sample === null) continue;
          if (sample.failed > 0) notes.push(judge(sample, peer, scenario));
          ofRound.push(sample);
        }
      }
      for (const gateway of peers.gateways) await gateway.audit();
      samples.push(...ofRound);
      idle.push(...idleOfRound);
    } catch (error) {
      const fault: unknown = signal.aborted ? signal.reason : error;
      if (round === 1) throw fault;
      const reason = fault instanceof Error ? fault.message : String(fault);
      return {
        samples,
        idle,
        notes,
        brokenOff: `round ${round} of ${options.rounds} failed and is not counted: ${reason}`,
      };
    }
    const books = peers.gateways.length === 0 ? '' : ': one record per call, all wallets exact';
    log(`round ${round} of ${options.rounds} is done${books}`);
  }
  return { samples, idle, notes, brokenOff: null };
}

/** Leaves out peers that cannot make the scenario's calls or lack its accounts. */
function isMeasured({ gateways }: Peers, peer: Peer, scenario: Scenario, unable: Unable): boolean {
  if (kindsOf(scenario).some((kind) => unable.get(peer)?.has(kind) === true)) return false;
  if (scenario.accounts === undefined && scenario.kind !== 'mixed') return true;
  const gateway = gateways.find((one) => one === peer);
  if (gateway !== undefined) return gateway.hotSecrets !== undefined;
  return scenario.accounts === undefined || peer.id === 'direct';
}

/**
 * Returns the note about a measurement with failed calls. @throws Error if they are plain calls of
 * this build, because then the measurement is invalid
 */
function judge({ failed, result, round }: Sample, peer: Peer, scenario: Scenario): string {
  const text = `${peer.title}, ${scenario.title}: ${failed} calls failed: ${JSON.stringify(result.failures)}`;
  if (peer.id === 'gateway' && (scenario.kind === 'plain' || scenario.kind === 'large')) throw new Error(text);
  return `${text} (round ${round})`;
}

/** Changes the first peer in each turn, and reverses the order every other turn. */
export function inTurn<T>(all: readonly T[], turn: number): T[] {
  const order = turn % 2 === 0 ? all : all.toReversed();
  const start = Math.floor(turn / 2) % all.length;
  return [...order.slice(start), ...order.slice(0, start)];
}
