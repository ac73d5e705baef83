import { rmSync } from 'node:fs';
import type { BenchArguments } from '../arguments.js';
import type { BenchContext } from '../bench-context.js';
import { type GatewayPeer, startGateway } from '../gateway/start-gateway.js';
import { startLoad } from '../load/load-process.js';
import { examinePinning, pin, pinAlone } from '../machine/pin.js';
import { type Bench, measure } from '../measure.js';
import { startProvider } from '../peers/start-provider.js';
import { CALLS_PER_MINUTE_MAX, readMachineFacts, makeRunDirectory } from '../run-bench.js';
import { FULL_LOAD, SCENARIOS, STREAMS } from '../scenarios.js';
import { findUnable, listAllKinds, warmUp } from '../warm-up.js';
import { SHARES, type Share, formatPercent } from './shares.js';
import { type SilentCollector, startCollector } from './start-collector.js';

/** CPU microseconds per call of one measurement. */
export interface TelemetrySample {
  readonly round: number;
  readonly scenario: string;
  readonly share: Share;
  readonly calls: number;
  readonly edgeMicros: number;
  readonly allMicros: number;
}

export interface TelemetryReport {
  readonly facts: readonly (readonly [name: string, value: string])[];
  readonly samples: readonly TelemetrySample[];
}

/** A separate gateway for each share, otherwise identical. */
interface Leg {
  readonly share: Share;
  readonly gateway: GatewayPeer;
  readonly bench: Bench;
  readonly collector: SilentCollector;
}

/** The measured scenarios: plain calls and streams, both under load. */
const MEASURED = SCENARIOS.filter(({ id }) => id === FULL_LOAD || id === STREAMS);

/**
 * Runs interleaved rounds over gateways that differ only in GATEWAY_TRACE_RATIO. @throws Error if a
 * call fails or the books are wrong
 */
export async function runTelemetry(
  options: BenchArguments,
  command: string,
  context: BenchContext,
): Promise<TelemetryReport> {
  const startedAt = new Date().toISOString();
  const pinning = examinePinning();
  const facts = readMachineFacts(pinning);
  pinAlone(pinning, process.pid, 'measured');
  const legs = await startLegs(options, context);
  for (const { gateway, bench } of legs) {
    pin(pinning, Object.values(gateway.processes).flat(), 'measured');
    pin(pinning, Object.values(bench.loadSide).flat(), 'load');
  }
  pinAlone(pinning, process.pid, 'load');
  for (const { gateway, bench } of legs) {
    const peers = { all: [gateway], gateways: [gateway] };
    const kinds = listAllKinds(MEASURED);
    await warmUp(bench, peers, kinds, await findUnable(bench, peers, kinds, context), context);
  }
  const samples = await runRounds(legs, options, context);
  const sent = legs.map(
    ({ share, collector }) => `${formatPercent(share)}: ${collector.bytes().toLocaleString('en-US')}`,
  );
  return {
    facts: [
      ...facts,
      ['Rounds', `${options.rounds}, ${options.seconds} s for each share and scenario in each`],
      ['Bytes of spans sent', sent.join('; ')],
      ['Command', `\`${command}\``],
      ['Started', startedAt],
    ],
    samples,
  };
}

async function startLegs(options: BenchArguments, { ending, log, signal }: BenchContext): Promise<Leg[]> {
  const directory = makeRunDirectory();
  ending.add('the state directory', () => rmSync(directory, { recursive: true, force: true }));
  const provider = await startProvider(directory);
  ending.add('the provider', () => provider.stop());
  await provider.listening(provider.port);
  const legs: Leg[] = [];
  for (const share of SHARES) {
    signal.throwIfAborted();
    const collector = await startCollector();
    ending.add('a collector', () => collector.stop());
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, GATEWAY_TRACE_RATIO: String(share) };
    const own = `${directory}/${share}`;
    const gateway = await startGateway(provider, own, options.accounts, ending, log, env);
    const load = startLoad();
    ending.add('a load', () => load.stop());
    signal.addEventListener('abort', () => void load.stop());
    await load.useKeys(gateway.id, gateway.secrets, CALLS_PER_MINUTE_MAX);
    const loadSide = { load: [load.pid], provider: [provider.pid] };
    legs.push({ share, gateway, bench: { load, loadSide }, collector });
  }
  return legs;
}

async function runRounds(
  legs: readonly Leg[],
  { rounds, seconds }: BenchArguments,
  { log, signal }: BenchContext,
): Promise<TelemetrySample[]> {
  const samples: TelemetrySample[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const [index, scenario] of MEASURED.entries()) {
      // Another share begins each time, so that no share always follows the same one.
      for (let turn = 0; turn < legs.length; turn += 1) {
        signal.throwIfAborted();
        const { share, gateway, bench } = legs[(round + index + turn) % legs.length] as Leg;
        const { result, failed, cpuMicros } = await measure(bench, gateway, scenario, round, seconds);
        if (failed > 0) throw new Error(`${failed} calls failed: ${JSON.stringify(result.failures)}`);
        const allMicros = Object.values(cpuMicros).reduce((sum, micros) => sum + micros, 0) / result.calls;
        const edgeMicros = (cpuMicros['edge-proxy'] ?? 0) / result.calls;
        samples.push({ round, scenario: scenario.id, share, calls: result.calls, edgeMicros, allMicros });
      }
    }
    for (const { gateway } of legs) await gateway.audit();
    log(`round ${round} of ${rounds} is done`);
  }
  return samples;
}
