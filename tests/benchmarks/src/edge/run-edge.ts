import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '@gateway/servers';
import { sumOf, until } from '@gateway/testkit';
import { type BenchContext, messageOf, openRunDirectory } from '../context.js';
import { type Counters, countDuring } from '../gateway/counters.js';
import { type GatewaySpec, buildCommit, findNatsProgram, hostGateway } from '../gateway/host-gateway.js';
import { Load, failuresTotal } from '../load/load.js';
import { canPin, pin, readMemory } from '../machine/processes.js';
import type { BenchOptions } from '../options.js';
import { startPeer, startProvider } from '../peers/start-peers.js';
import { type Report, formatNumber, table } from '../report.js';
import {
  COMPARED,
  SHOWN,
  type Sample,
  createJob,
  findFactors,
  inTurn,
  measure,
  measureOpenStreams,
  runJob,
  summarize,
} from './measure.js';
import { type CallKind, type Peer, SCENARIOS, type Scenario, isCounted } from './scenarios.js';

/** Shares of traced requests. The first one is the baseline. */
const TRACE_RATIOS = [0, 0.01, 1];
/** Concurrent first calls of the accounts. */
const FIRST_CALLS_PARALLEL = 8;
const WARM_UP = { connections: 16, seconds: 2 };
/** Longest time until the catalog reaches the edge. */
const FIRST_RESPONSE_MS_MAX = 20_000;
const [OPEN_STREAMS, OPEN_STREAMS_QUICK] = [1_000, 100];
/** Time for work that follows a settled call, such as its balance snapshot. */
const QUIET_MS = 1_500;
const NOISY_MARK = ' ‡';

/** Two peers whose figures are divided within each round. */
interface Comparison {
  readonly title: string;
  readonly ours: string;
  readonly theirs: string;
}

/** Measurements outside the timed rounds: open streams by peer, and work per call. */
interface ExtraFigures {
  readonly open: Record<string, Awaited<ReturnType<typeof measureOpenStreams>>>;
  readonly counts: { title: string; scenario: string; perCall: Counters }[];
}

/** Measures this gateway, its peers, other commits and another Node in the same rounds. */
export async function runEdge(options: BenchOptions, context: BenchContext): Promise<Report> {
  const gateways: GatewaySpec[] = [];
  const comparisons: Comparison[] = [];
  if (options.peers.includes('gateway')) gateways.push({ id: 'gateway', title: 'this gateway' });
  for (const name of options.against) {
    const { commit, directory } = await buildCommit(name, context);
    gateways.push({ id: commit, title: `the gateway at ${commit}`, directory });
    comparisons.push({ title: `This build ÷ ${commit}`, ours: 'gateway', theirs: commit });
  }
  if (options.node !== undefined) {
    const version = execFileSync(options.node, ['--version'], { encoding: 'utf8' }).trim();
    gateways.push({ id: 'node', title: `this gateway on Node ${version}`, execPath: options.node });
    comparisons.push({ title: `Node ${version} ÷ ${process.version}`, ours: 'node', theirs: 'gateway' });
  }
  for (const theirs of options.peers.filter((id) => id !== 'direct' && id !== 'gateway'))
    comparisons.push({ title: `This gateway ÷ ${theirs}. Edge: ÷ all of ${theirs}`, ours: 'gateway', theirs });
  return runRounds(gateways, comparisons, options, context);
}

/** Measures gateways that differ only in the share of traced requests. */
export async function runTelemetry(options: BenchOptions, context: BenchContext): Promise<Report> {
  // A collector that accepts every span.
  const collector = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  context.ending.add('the collector', () => collector.close().closeAllConnections());
  const url = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`;
  const gateways = TRACE_RATIOS.map((ratio) => ({
    id: `traced-${ratio}`,
    title: `${ratio * 100} % traced`,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: url, GATEWAY_TRACE_RATIO: String(ratio) },
  }));
  const comparisons = gateways
    .slice(1)
    .map(({ id, title }) => ({ title: `${title} ÷ none`, ours: id, theirs: gateways[0]?.id ?? '' }));
  const scenarios = ['plain-64', 'streamed-16'];
  return runRounds(gateways, comparisons, { ...options, peers: ['direct'], scenarios }, context);
}

interface Started {
  readonly load: Load;
  readonly all: readonly Peer[];
  /** Receives missing and unreliable measurements, for the report. */
  readonly notes: string[];
}

/** Starts everything, measures all rounds, and returns the report. */
async function runRounds(
  specs: readonly GatewaySpec[],
  comparisons: readonly Comparison[],
  options: BenchOptions,
  context: BenchContext,
): Promise<Report> {
  const isPinned = canPin();
  const started = await startAll(specs, options, isPinned, context);
  const { load, all, notes } = started;
  const gateways = all.filter(({ gateway }) => gateway !== undefined);
  const fresh = new Map(all.map((peer) => [peer, readMemory(peer.processes)]));
  const scenarios = SCENARIOS.filter(({ id }) => options.scenarios.includes(id));
  const withStreams: CallKind[] = options.scenarios.includes('open-streams') ? ['streamed'] : [];
  const kinds = new Set<CallKind>(['plain', ...scenarios.map(({ kind }) => kind), ...withStreams]);
  const unable = await warmUp(started, [...kinds], context);
  const { open, counts }: ExtraFigures = { open: {}, counts: [] };
  const streams = options.quick ? OPEN_STREAMS_QUICK : OPEN_STREAMS;
  // A dropped stream at another commit would leave a record without a response.
  const able = ({ id }: Peer) => !unable.has(`${id} streamed`) && id !== 'direct' && !options.against.includes(id);
  for (const peer of withStreams.length > 0 ? all.filter(able) : [])
    open[peer.title] = await measureOpenStreams(load, peer, streams, fresh.get(peer) ?? {});
  for (const gateway of options.scenarios.includes('counts') ? gateways : [])
    for (const scenario of SCENARIOS.filter(({ id }) => isCounted(id, options.scenarios)))
      counts.push({
        title: gateway.title,
        scenario: scenario.title,
        perCall: await count(load, gateway, scenario, options),
      });
  const samples: Sample[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    // One peer after the other, so that a slower minute of the machine affects all of them.
    for (const [index, scenario] of scenarios.entries())
      for (const peer of inTurn(all, round + index)) {
        context.signal.throwIfAborted();
        if (unable.has(`${peer.id} ${scenario.kind}`)) continue;
        const sample = await measure(load, peer, scenario, round, options.seconds);
        const failures = JSON.stringify(sample.result.failures);
        const isWrong = failures !== '{}' && peer.id === 'gateway' && scenario.kind !== 'streamed';
        if (isWrong) throw new Error(`${scenario.title}: calls failed: ${failures}`);
        if (failures !== '{}') notes.push(`${peer.title}, ${scenario.title}, round ${round}: ${failures}`);
        samples.push(sample);
      }
    for (const { gateway } of all) await gateway?.audit();
    context.log(`round ${round} of ${options.rounds} is done`);
  }
  const billed = samples.filter(({ peer }) => gateways.some(({ id }) => id === peer)).map(({ result }) => result.calls);
  return {
    title: 'Requests through the edge',
    facts: [
      ['Cores', isPinned ? 'a peer with all its processes on core 0; load and provider on core 1' : 'not pinned'],
      ['Versions', all.map(({ title, version }) => `${title}: ${version}`).join('; ')],
      ['Rounds', `${options.rounds} of ${options.seconds} s for each peer and row; medians over the rounds`],
      ['Accounts of each gateway', `${options.accounts}, called in turn`],
      ['Billed', `${formatNumber(sumOf(billed))} measured calls of the gateways, each with its record`],
    ],
    sections: renderSections(comparisons, started, scenarios, samples, { open, counts }),
    notes,
    samples: { calls: samples, open, counts },
  };
}

/** Starts provider, load and peers. A process starts on the core of its parent. */
async function startAll(
  specs: readonly GatewaySpec[],
  options: BenchOptions,
  isPinned: boolean,
  context: BenchContext,
): Promise<Started> {
  const { ending, signal } = context;
  const directory = openRunDirectory(ending);
  if (isPinned) pin(process.pid, 'load');
  const start = { providerPort: await freePort(), directory, context };
  const load = new Load(await startProvider(start));
  ending.add('the load', () => load.stop());
  // This makes a running job fail at once. Everything else ends in order when the run has returned.
  signal.addEventListener('abort', () => void load.stop());
  if (isPinned) pin(process.pid, 'measured');
  const all: Peer[] = [];
  const notes: string[] = [];
  for (const id of options.peers.filter((one) => one !== 'gateway')) {
    signal.throwIfAborted();
    const peer = await startPeer(id, start).catch((error: unknown) => `${id} is not available: ${messageOf(error)}`);
    if (typeof peer === 'string') notes.push(peer);
    else all.push(peer);
  }
  const nats = specs.length === 0 ? null : await findNatsProgram(directory);
  const place = { providerUrl: `http://127.0.0.1:${start.providerPort}`, state: directory };
  for (const spec of specs) {
    signal.throwIfAborted();
    all.push(await hostGateway(spec, { ...place, accounts: options.accounts, nats }, context));
  }
  const starters = all.flatMap(({ gateway }) => gateway?.starter ?? []);
  if (isPinned) for (const pid of [process.pid, ...starters]) pin(pid, 'load');
  for (const note of notes) context.log(note);
  return { load, all, notes };
}

/**
 * Warms up every peer with these kinds of calls. A gateway first makes one call per account, which
 * loads the account into the limit store. Returns the peers and kinds that have no response.
 */
async function warmUp(started: Started, kinds: readonly CallKind[], context: BenchContext): Promise<Set<string>> {
  const { load, all, notes } = started;
  const unable = new Set<string>();
  for (const peer of all) {
    const { gateway } = peer;
    for (const kind of kinds) {
      const reason = await findFailure(load, peer, kind, gateway === undefined ? 0 : FIRST_RESPONSE_MS_MAX);
      if (reason === null) continue;
      const text = `${peer.title} does not answer ${kind} calls: ${reason}`;
      if (gateway !== undefined || kind === 'plain') throw new Error(text);
      unable.add(`${peer.id} ${kind}`);
      notes.push(text);
    }
    const first = createJob(peer, { kind: 'plain', connections: FIRST_CALLS_PARALLEL }, { calls: peer.secrets.length });
    await runJob(load, peer, first);
    await gateway?.audit();
    for (const kind of kinds.filter((one) => !unable.has(`${peer.id} ${one}`)))
      await runJob(load, peer, createJob(peer, { kind, connections: WARM_UP.connections }, WARM_UP));
  }
  context.log('all peers are warm');
  return unable;
}

/** Retries until the catalog has reached a gateway. Other peers are tried once. */
async function findFailure(load: Load, peer: Peer, kind: CallKind, withinMs: number): Promise<string | null> {
  let failures: Readonly<Record<string, number>> = {};
  const isAnswered = async () => {
    ({ failures } = await runJob(load, peer, createJob(peer, { kind, connections: 1 }, { calls: 1 })));
    return failuresTotal({ failures }) === 0;
  };
  return until('a response', isAnswered, withinMs).then(
    () => null,
    () => Object.keys(failures).join(', '),
  );
}

/** Counts the work that calls cause, outside the timed runs, and divides it by the calls. */
async function count(load: Load, gateway: Peer, scenario: Scenario, { seconds }: BenchOptions): Promise<Counters> {
  let calls = 0;
  const work = await countDuring(gateway, async () => {
    calls = (await runJob(load, gateway, createJob(gateway, scenario, { seconds }))).calls;
    await delay(QUIET_MS);
  });
  return Object.fromEntries(Object.entries(work).map(([name, value]) => [name, value / calls]));
}

function renderSections(
  comparisons: readonly Comparison[],
  { all }: Started,
  scenarios: readonly Scenario[],
  samples: readonly Sample[],
  { open, counts }: ExtraFigures,
): Report['sections'] {
  const titleOf = (id: string) => scenarios.find((one) => one.id === id)?.title ?? id;
  const factors = comparisons.map(({ title, ours, theirs }) => {
    const rows = findFactors(samples, ours, theirs).map((factor) => [
      `${titleOf(factor.scenario)}: ${factor.figure}`,
      formatNumber(factor.median) + (factor.isNoisy ? NOISY_MARK : ''),
      factor.quartiles.map(formatNumber).join(' to '),
      factor.rounds,
    ]);
    return table(title, ['', 'factor', 'quartiles', 'rounds'], rows);
  });
  const head = ['', ...Object.keys({ ...COMPARED, ...SHOWN }), 'added p50', 'added p99'];
  const rows = scenarios.map(({ id, title }) => {
    const own = all.map((peer) => [peer.title, summarize(samples, id, peer.id)] as const);
    return table(
      title,
      head,
      own.flatMap(([peer, figures]) => (figures === null ? [] : [[peer, ...figures]])),
    );
  });
  const memory = Object.entries(open).map(([title, { kilobytes, dropped }]) => {
    return [title, sumOf(Object.values(kilobytes)), kilobytes['edge-proxy'] ?? NaN, dropped];
  });
  const names = [...new Set(counts.flatMap(({ perCall }) => Object.keys(perCall)))];
  const columns = counts.map(({ title, scenario }) => `${title}: ${scenario}`);
  const work = names.map((name) => [name, ...counts.map(({ perCall }) => perCall[name] ?? NaN)]);
  return [
    ...factors,
    ...rows,
    ...(memory.length === 0 ? [] : [table('Open streams, KB for each', ['', 'all', 'edge', 'dropped'], memory)]),
    ...(work.length === 0 ? [] : [table('Work per call', ['', ...columns], work)]),
    {
      title: 'How to read it',
      text: `CPU is that of all processes of a peer, per call or chunk. Times are in ms. ${NOISY_MARK.trim()}: fewer than 5 rounds, or their middle half spans more than 10 %: the row cannot show a difference of 5 %. Load core: from 90 % on, the load limited the calls per second.`,
    },
  ];
}
