import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { type BuiltCommit, buildCommit } from './against/build-commit.js';
import type { BenchArguments } from './arguments.js';
import { type BenchContext, DIRECTORIES } from './bench-context.js';
import { type CallCounts, countCalls } from './counts/count-calls.js';
import { HOT_CALLS_PER_MINUTE_MAX } from './gateway/prepare-extras.js';
import { startLoad } from './load/load-process.js';
import { type Pinning, examinePinning, pin, pinAlone } from './machine/pin.js';
import { readMemory } from './machine/read-memory.js';
import { type Bench, jobOf, keysName } from './measure.js';
import { OPEN_COUNTS, OPEN_COUNTS_QUICK, type OpenStreams, measureOpenStreams } from './open-streams.js';
import type { Peer } from './peers/peer.js';
import { startProvider } from './peers/start-provider.js';
import { factorsOf } from './results/factors.js';
import { listOwnUnits } from './results/own-units.js';
import { memoryRatios, ratiosOf } from './results/ratios.js';
import type { Report } from './results/report.js';
import type { Sample } from './results/statistics.js';
import { summarise } from './results/summarise.js';
import { runRounds } from './run-rounds.js';
import {
  COUNTS,
  FULL_LOAD,
  HALF_LOAD,
  HOT_ACCOUNTS,
  OPEN_STREAMS,
  SCENARIOS,
  type Scenario,
  atHalfLoad,
} from './scenarios.js';
import { type Peers, startPeers } from './start-peers.js';
import { type Unable, findUnable, listAllKinds, warmUp } from './warm-up.js';

/** The gateway's limits for an account without a plan. */
export const CALLS_PER_MINUTE_MAX = 60;
const CALLS_AT_A_TIME_MAX = 3;

/** Starts everything, measures all rounds, and returns the report. */
export async function runBench(options: BenchArguments, command: string, context: BenchContext): Promise<Report> {
  const startedAt = new Date().toISOString();
  const against = options.against === null ? null : await buildCommit(options.against, context);
  const pinning = examinePinning();
  const facts = readMachineFacts(pinning);
  const { bench, peers } = await startAll(options, against, pinning, context);
  const fresh = new Map(peers.all.map((peer) => [peer, readMemory(peer.processes)]));
  const chosen = SCENARIOS.filter(({ id }) => options.scenarios.includes(id));
  const kinds = [...listAllKinds(chosen), ...(options.scenarios.includes(OPEN_STREAMS) ? (['streamed'] as const) : [])];
  const unable = await findUnable(bench, peers, [...new Set(kinds)], context);
  await warmUp(bench, peers, [...new Set(kinds)], unable, context);
  const scenarios = [...chosen, ...(await halfLoad(bench, peers, options))];
  const open = await measureAllOpen(bench, peers, { unable, fresh }, options, context);
  const counted = await countAll(bench, peers, options, context);
  const rounds = await runRounds(bench, peers, scenarios, unable, options, context);
  const { samples, idle, brokenOff } = rounds;
  const summaries = summarise(samples);
  const unanswered = [...unable.values()].flatMap((reasons) => [...reasons.values()]);
  return {
    command,
    startedAt,
    facts: [...facts, ...runFacts(options, peers, samples), ['Command', `\`${command}\``], ['Started', startedAt]],
    peers: peers.all.map(({ id, title, version }) => ({ id, title, version })),
    scenarios: scenarios.map(({ id, title, kind }) => ({ id, title, kind })),
    brokenOff,
    notes: [...peers.notes, ...unanswered, ...open.notes, ...counted.notes, ...rounds.notes],
    idle,
    summaries,
    openStreams: open.openStreams,
    counts: counted.counts,
    ownUnits: listOwnUnits(counted.counts, open.openStreams),
    ratios: [...ratiosOf(summaries), ...memoryRatios(open.openStreams)],
    against: against && { commit: against.commit, factors: factorsOf(samples, idle) },
    samples,
  };
}

/** Returns the scenario with half the rate of the other commit's gateway, if compared. */
async function halfLoad(
  bench: Bench,
  { gateways }: Peers,
  { seconds, scenarios }: BenchArguments,
): Promise<Scenario[]> {
  const against = gateways.find(({ id }) => id === 'against');
  const full = SCENARIOS.find(({ id }) => id === FULL_LOAD);
  if (against === undefined || full === undefined || !scenarios.includes(HALF_LOAD)) return [];
  const { calls, elapsedMs } = await bench.load.run(jobOf(against, full, { seconds }));
  await against.settle(calls);
  return [atHalfLoad((calls * 1_000) / elapsedMs)];
}

/** Counts the work per call of each gateway. */
async function countAll(
  bench: Bench,
  { gateways, natsMonitors }: Peers,
  { seconds, scenarios }: BenchArguments,
  context: BenchContext,
): Promise<{ counts: CallCounts[]; notes: string[] }> {
  if (!scenarios.includes(COUNTS)) return { counts: [], notes: [] };
  const all: { counts: CallCounts[]; notes: string[] }[] = [];
  for (const gateway of gateways)
    all.push(await countCalls(bench, gateway, natsMonitors.get(gateway) ?? null, seconds, context));
  return { counts: all.flatMap(({ counts }) => counts), notes: all.flatMap(({ notes }) => notes) };
}

/**
 * Measures open streams at every peer that has processes and answers streams. The number is limited
 * by the concurrency of the gateway's accounts.
 */
async function measureAllOpen(
  bench: Bench,
  peers: Peers,
  { unable, fresh }: { readonly unable: Unable; readonly fresh: ReadonlyMap<Peer, Readonly<Record<string, number>>> },
  { accounts, quick, scenarios }: BenchArguments,
  context: BenchContext,
): Promise<{ openStreams: OpenStreams[]; notes: string[] }> {
  const [found, notes]: [OpenStreams[], string[]] = [[], []];
  if (!scenarios.includes(OPEN_STREAMS)) return { openStreams: found, notes };
  const able = peers.all
    .filter(({ id }) => id !== 'direct' && id !== 'against')
    .filter((peer) => unable.get(peer)?.has('streamed') !== true);
  for (const count of quick ? OPEN_COUNTS_QUICK : OPEN_COUNTS) {
    if (count.streams > accounts * CALLS_AT_A_TIME_MAX) continue;
    for (const peer of able) {
      const one = await measureOpenStreams(bench, peer, count, fresh.get(peer) ?? {}, context);
      if (one.spoiled !== null) notes.push(`${peer.title}: ${one.spoiled}`);
      found.push(one);
    }
    for (const gateway of peers.gateways) await gateway.audit();
    context.log(`${count.streams} streams were open at each peer`);
  }
  return { openStreams: found, notes };
}

async function startAll(
  options: BenchArguments,
  against: BuiltCommit | null,
  pinning: Pinning,
  { ending, log, signal }: BenchContext,
): Promise<{ bench: Bench; peers: Peers }> {
  const directory = makeRunDirectory();
  ending.add('the state directory', () => rmSync(directory, { recursive: true, force: true }));
  const provider = await startProvider(directory);
  ending.add('the provider', () => provider.stop());
  const load = startLoad();
  ending.add('the load', () => load.stop());
  // This makes a running job fail at once. Everything else ends in order when the run has returned.
  signal.addEventListener('abort', () => void load.stop());
  await provider.listening(provider.port);
  pinAlone(pinning, process.pid, 'measured');
  const peers = await startPeers(options, against, provider, directory, { ending, log, signal });
  for (const { id, secrets, hotSecrets } of peers.gateways) {
    await load.useKeys(id, secrets, CALLS_PER_MINUTE_MAX);
    if (hotSecrets !== undefined) await load.useKeys(keysName(id, 'hot'), hotSecrets, HOT_CALLS_PER_MINUTE_MAX);
  }
  for (const peer of peers.all) pin(pinning, Object.values(peer.processes).flat(), 'measured');
  const loadSide = { load: [load.pid], provider: [provider.pid] };
  pin(pinning, [load.pid, provider.pid], 'load');
  for (const pid of new Set([process.pid, ...peers.gateways.map(({ starter }) => starter)]))
    pinAlone(pinning, pid, 'load');
  return { bench: { load, loadSide }, peers };
}

/** Creates a directory for this run and removes those of killed runs. */
export function makeRunDirectory(): string {
  mkdirSync(DIRECTORIES.work, { recursive: true });
  for (const name of readdirSync(DIRECTORIES.work)) {
    const pid = /^run-(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(`${DIRECTORIES.work}/${name}`, { recursive: true });
  }
  const directory = `${DIRECTORIES.work}/run-${process.pid}`;
  mkdirSync(directory);
  return directory;
}

function runFacts(options: BenchArguments, peers: Peers, samples: readonly Sample[]): [string, string][] {
  const ours = samples.filter(({ peer }) => peer === 'gateway').reduce((sum, { result }) => sum + result.calls, 0);
  const versions = peers.all
    .filter(({ version }) => version !== '')
    .map(({ title, version }) => `${title}: ${version}`);
  const ourFacts: [string, string][] = [
    [
      'Accounts',
      `${options.accounts}, each with a wallet and one key, at most ${CALLS_PER_MINUTE_MAX} calls a minute each (the default limits), and ${HOT_ACCOUNTS} with raised limits`,
    ],
    [
      'Billed',
      `${ours.toLocaleString('en-US')} measured calls of the gateway, each with its record; every wallet equals its credit less its charges`,
    ],
  ];
  return [
    ['Versions', versions.join('; ')],
    ['Rounds', `${options.rounds}, ${options.seconds} s for each peer and scenario in each`],
    ...(peers.gateways.length === 0 ? [] : ourFacts),
  ];
}

const GIB = 1024 ** 3;

/** Returns facts about the machine for the report, as names and texts. */
export function readMachineFacts(pinning: Pinning): [string, string][] {
  const model = cpus()[0]?.model.trim() ?? 'unknown';
  const placed = pinning.pinned
    ? 'the peer under test (the gateway with all its processes and servers) on core 0; load generator, provider and measurement on core 1'
    : `not pinned: ${pinning.reason}`;
  return [
    ['Machine', `${availableParallelism()} cores (${model}), ${Math.round(totalmem() / GIB)} GiB, Linux ${release()}`],
    ['Node', process.version],
    ['Placement', placed],
    ['Load of the machine before', `${loadAverage()} (1, 5 and 15 minutes)`],
  ];
}

function loadAverage(): string {
  return readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(', ');
}
