import { mkdirSync, rmSync } from 'node:fs';
import type { BenchArguments } from './arguments.js';
import type { Ending } from './ending.js';
import { failuresTotal } from './load/load-job.js';
import { startLoad } from './load/load-process.js';
import { machineFacts } from './machine/machine-facts.js';
import { examinePinning, pin } from './machine/pin.js';
import { jobOf, measure, runClean } from './measure.js';
import type { Bench } from './measure.js';
import type { CallKind, Peer } from './peers/peer.js';
import { startProvider } from './peers/start-provider.js';
import { PLACES } from './places.js';
import { ratiosOf } from './results/aims.js';
import type { Report } from './results/report.js';
import type { Sample } from './results/sample.js';
import { summarise } from './results/summarise.js';
import { SCENARIOS } from './scenarios.js';
import type { Scenario } from './scenarios.js';
import { startPeers } from './start-peers.js';
import type { Peers } from './start-peers.js';

/** The gateway's limit for an account without a plan. */
const CALLS_PER_MINUTE_MAX = 60;
/** Parallel first calls of the accounts. */
const FIRST_CALLS_PARALLEL = 8;
/** Until the programs run compiled code. */
const WARM_UP_SECONDS = 2;
const WARM_UP_CONNECTIONS = 16;
/** How long the catalog may take to reach the edge, and how often that is tried. */
const FIRST_ANSWER_MS_MAX = 20_000;
const FIRST_ANSWER_POLL_MS = 100;

export interface BenchContext {
  readonly ending: Ending;
  readonly log: (line: string) => void;
  /** Thrown into when the run is to be broken off. */
  readonly signal: AbortSignal;
}

/** Starts everything, measures every scenario for every peer in every round, and answers the report. */
export async function runBench(options: BenchArguments, command: string, context: BenchContext): Promise<Report> {
  const { ending, log, signal } = context;
  const startedAt = new Date().toISOString();
  const pinning = examinePinning();
  const facts = machineFacts(pinning);
  const directory = `${PLACES.work}/run-${process.pid}`;
  mkdirSync(directory, { recursive: true });
  ending.add('the state directory', () => rmSync(directory, { recursive: true, force: true }));
  pin(pinning, [process.pid], 'load');
  const provider = await startProvider(directory);
  ending.add('the provider', () => provider.stop());
  const load = startLoad();
  ending.add('the load', () => load.stop());
  await provider.listening(provider.port);
  const peers = await startPeers(options, provider, directory, ending, log);
  signal.throwIfAborted();
  if (peers.gateway !== null) load.useKeys(peers.gateway.secrets, CALLS_PER_MINUTE_MAX);
  for (const peer of peers.all) pin(pinning, Object.values(peer.processes).flat(), 'measured');
  pin(pinning, [provider.pid, load.pid], 'load');

  const bench: Bench = { load, loadSide: { load: [load.pid], provider: [provider.pid] } };
  const unable = await findUnable(bench, peers, context);
  await warmUp(bench, peers, unable, context);
  const samples = await runRounds(bench, peers, unable, options, context);
  const summaries = summarise(samples);
  return {
    command,
    startedAt,
    facts: [...facts, ...runFacts(options, peers, samples), ['Command', `\`${command}\``], ['Started', startedAt]],
    peers: peers.all.map(({ id, title, version }) => ({ id, title, version })),
    scenarios: SCENARIOS.map(({ id, title, kind }) => ({ id, title, kind })),
    notes: [...unable.values()].flatMap((reasons) => [...reasons.values()]),
    summaries,
    ratios: ratiosOf(summaries),
    samples,
  };
}

/** Kinds of calls that a peer does not answer at all, with the reason for the reader. */
type Unable = ReadonlyMap<Peer, ReadonlyMap<CallKind, string>>;

async function findUnable(bench: Bench, peers: Peers, context: BenchContext): Promise<Unable> {
  const unable = new Map<Peer, Map<CallKind, string>>();
  for (const peer of peers.all) {
    for (const kind of ['plain', 'streamed'] as const) {
      const reason = await tryUntilAnswered(bench, peer, kind, context.signal);
      if (reason === null) continue;
      const text = `${peer.title} answers no ${kind} call: ${reason}`;
      if (peer.id === 'gateway' || kind === 'plain') throw new Error(text);
      unable.set(peer, (unable.get(peer) ?? new Map<CallKind, string>()).set(kind, text));
      context.log(text);
    }
  }
  return unable;
}

/** The gateway may need a moment until its catalog is everywhere; the others answer at once or never. */
async function tryUntilAnswered(bench: Bench, peer: Peer, kind: CallKind, signal: AbortSignal): Promise<string | null> {
  const until = Date.now() + (peer.keyed ? FIRST_ANSWER_MS_MAX : 0);
  for (;;) {
    signal.throwIfAborted();
    const result = await bench.load.run(jobOf(peer, { kind, connections: 1 }, { calls: 1 }));
    await peer.settle(result.calls);
    if (failuresTotal(result) === 0) return null;
    if (Date.now() >= until) return Object.keys(result.failures).join(', ');
    await new Promise((resolve) => setTimeout(resolve, FIRST_ANSWER_POLL_MS));
  }
}

async function warmUp(bench: Bench, peers: Peers, unable: Unable, { log, signal }: BenchContext): Promise<void> {
  if (peers.gateway !== null) {
    const { gateway } = peers;
    // The first call of an account loads it into the gate: a cost of its own, left out of the figures.
    const first = { kind: 'plain', connections: FIRST_CALLS_PARALLEL } as const;
    await runClean(bench, gateway, jobOf(gateway, first, { calls: gateway.secrets.length }));
    await gateway.audit();
    log(`each of the ${gateway.secrets.length} accounts has made a call; the books are right`);
  }
  for (const peer of peers.all) {
    for (const kind of ['plain', 'streamed'] as const) {
      signal.throwIfAborted();
      if (unable.get(peer)?.has(kind) === true) continue;
      await runClean(
        bench,
        peer,
        jobOf(peer, { kind, connections: WARM_UP_CONNECTIONS }, { seconds: WARM_UP_SECONDS }),
      );
    }
  }
  log('all peers are warm');
}

async function runRounds(
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

function runFacts(options: BenchArguments, peers: Peers, samples: readonly Sample[]): [string, string][] {
  const ours = samples.filter(({ peer }) => peer === 'gateway').reduce((sum, { result }) => sum + result.calls, 0);
  const versions = peers.all
    .filter(({ version }) => version !== '')
    .map(({ title, version }) => `${title}: ${version}`);
  const accounts: [string, string][] =
    peers.gateway === null
      ? []
      : [
          [
            'Accounts',
            `${options.accounts}, each with a wallet and one key, at most ${CALLS_PER_MINUTE_MAX} calls a minute each (the default limits)`,
          ],
          [
            'Billed',
            `${ours.toLocaleString('en-US')} measured calls of the gateway, each with its record; all wallets exact`,
          ],
        ];
  return [
    ['Versions', versions.join('; ')],
    ['Rounds', `${options.rounds}, ${options.seconds} s for each peer and scenario in each`],
    ...accounts,
  ];
}
