import type { BenchContext } from './bench-context.js';
import type { BenchArguments } from './arguments.js';
import { measure, measureIdle } from './measure.js';
import type { Bench } from './measure.js';
import type { Peer } from './peers/peer.js';
import type { IdleReading, Sample } from './results/sample.js';
import type { Scenario } from './scenarios.js';
import type { Peers } from './start-peers.js';
import type { Unable } from './warm-up.js';

/** What whole rounds have shown. */
export interface Rounds {
  readonly samples: readonly Sample[];
  readonly idle: readonly IdleReading[];
  /** Why not all rounds that were asked for are in it; null: they are. */
  readonly brokenOff: string | null;
}

/**
 * Every scenario for every peer in every round; after each round the books of the gateways must be right. When a later round
 * fails, those before it are kept. @throws Error when the first one fails
 */
export async function runRounds(
  bench: Bench,
  peers: Peers,
  scenarios: readonly Scenario[],
  unable: Unable,
  options: BenchArguments,
  { log, signal }: BenchContext,
): Promise<Rounds> {
  const [samples, idle]: [Sample[], IdleReading[]] = [[], []];
  for (let round = 1; round <= options.rounds; round += 1) {
    try {
      const [ofRound, idleOfRound]: [Sample[], IdleReading[]] = [[], await measureIdle(peers.gateways, round)];
      for (const [index, scenario] of scenarios.entries()) {
        for (const peer of inTurn(peers.all, round + index)) {
          signal.throwIfAborted();
          if (unable.get(peer)?.has(scenario.kind) === true) continue;
          const sample = await measure(bench, peer, scenario, round, options.seconds);
          checkSample(sample, peer, scenario);
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
      return { samples, idle, brokenOff: `round ${round} of ${options.rounds} failed, and is not counted: ${reason}` };
    }
    const books = peers.gateways.length === 0 ? '' : ': one record per call, every wallet exact';
    log(`round ${round} of ${options.rounds} is done${books}`);
  }
  return { samples, idle, brokenOff: null };
}

/** A figure of a gateway with failed calls is no figure; a peer's failures are shown in the table. */
function checkSample(sample: Sample, peer: Peer, scenario: Scenario): void {
  if (sample.failed > 0 && (peer.keyed || sample.result.calls === 0)) {
    const reasons = JSON.stringify(sample.result.failures);
    throw new Error(`${peer.title}, ${scenario.title}: ${sample.failed} calls failed: ${reasons}`);
  }
}

/** Another peer begins each time, and every other time the order is reversed: none is always measured after the same one. */
export function inTurn<T>(all: readonly T[], turn: number): T[] {
  const order = turn % 2 === 0 ? all : all.toReversed();
  const start = Math.floor(turn / 2) % all.length;
  return [...order.slice(start), ...order.slice(0, start)];
}
