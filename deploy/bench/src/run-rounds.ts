import type { BenchContext } from './bench-context.js';
import type { BenchArguments } from './arguments.js';
import { measure } from './measure.js';
import type { Bench } from './measure.js';
import type { Peer } from './peers/peer.js';
import type { Sample } from './results/sample.js';
import { SCENARIOS } from './scenarios.js';
import type { Scenario } from './scenarios.js';
import type { Peers } from './start-peers.js';
import type { Unable } from './warm-up.js';

/** Every scenario for every peer in every round; after each round the gateway's books must be right. */
export async function runRounds(
  bench: Bench,
  peers: Peers,
  unable: Unable,
  options: BenchArguments,
  { log, signal }: BenchContext,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [index, scenario] of SCENARIOS.entries()) {
      for (const peer of inTurn(peers.all, round + index)) {
        signal.throwIfAborted();
        if (unable.get(peer)?.has(scenario.kind) === true) continue;
        const sample = await measure(bench, peer, scenario, round, options.seconds);
        checkSample(sample, peer, scenario);
        samples.push(sample);
      }
    }
    await peers.gateway?.audit();
    const books = peers.gateway === null ? '' : ': one record per call, every wallet exact';
    log(`round ${round} of ${options.rounds} is done${books}`);
  }
  return samples;
}

/** A figure of the gateway with failed calls is no figure; a peer's failures are shown in the table. */
function checkSample(sample: Sample, peer: Peer, scenario: Scenario): void {
  if (sample.failed > 0 && (peer.id === 'gateway' || sample.result.calls === 0)) {
    const reasons = JSON.stringify(sample.result.failures);
    throw new Error(`${peer.title}, ${scenario.title}: ${sample.failed} calls failed: ${reasons}`);
  }
}

/** Another peer begins each time, so that none is always measured after the same one. */
function inTurn<T>(all: readonly T[], turn: number): T[] {
  const start = turn % all.length;
  return [...all.slice(start), ...all.slice(0, start)];
}
