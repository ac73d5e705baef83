import { type BenchContext, messageOf } from '../context.js';
import { HOT_ACCOUNTS } from '../gateway/prepare.js';
import { readMemory } from '../machine/processes.js';
import type { BenchOptions } from '../options.js';
import type { CallKind, ListedPeer, Peer } from '../peers/peer.js';
import { type Report, readMachineFacts } from '../report.js';
import { interleave } from '../rounds.js';
import { type CallCounts, countCalls } from './count-calls.js';
import { type IdleReading, type Sample, createJob, measure, measureIdle, runJob } from './measure.js';
import { OPEN_COUNTS, OPEN_COUNTS_QUICK, type OpenStreams, measureOpenStreams } from './open-streams.js';
import {
  COUNTS,
  FULL_LOAD,
  HALF_LOAD,
  OPEN_STREAMS,
  SCENARIOS,
  type Scenario,
  atHalfLoad,
  kindsOf,
} from './scenarios.js';
import { CALLS_PER_MINUTE_MAX, type GatewaySpec, type Started, startAll } from './start-all.js';
import { type Comparison, renderSections } from './tables.js';
import { type Unable, warmUp } from './warm-up.js';

/** Concurrent calls of an account without a plan. */
const CALLS_AT_A_TIME_MAX = 3;

/** Peers, gateways and scenarios of a run through the edge. */
export interface EdgePlan {
  readonly title: string;
  readonly peers: readonly ListedPeer[];
  readonly gateways: readonly GatewaySpec[];
  readonly scenarios: readonly string[];
  readonly comparisons: readonly Comparison[];
}

/** Starts everything, measures all rounds, and returns the report. */
export async function runEdge(plan: EdgePlan, options: BenchOptions, context: BenchContext): Promise<Report> {
  const facts = readMachineFacts();
  const peers = await startAll(plan.peers, plan.gateways, options.accounts, context);
  const { load } = peers;
  const fresh = new Map(peers.all.map((peer) => [peer, readMemory(peer.processes)]));
  const chosen = SCENARIOS.filter(({ id }) => plan.scenarios.includes(id));
  const streamed: CallKind[] = plan.scenarios.includes(OPEN_STREAMS) ? ['streamed'] : [];
  const kinds = [...new Set<CallKind>(['plain', ...chosen.flatMap(kindsOf), ...streamed])];
  const unable = await warmUp(load, peers, kinds, context);
  const scenarios = [...chosen, ...(await createHalfLoad(peers, plan, options))];
  const notes = [...peers.notes, ...[...unable.values()].flatMap((reasons) => [...reasons.values()])];
  const openStreams = await measureAllOpen(peers, { unable, fresh, notes }, plan, options, context);
  const counts: CallCounts[] = [];
  for (const gateway of plan.scenarios.includes(COUNTS) ? peers.gateways : []) {
    const monitor = peers.natsMonitors.get(gateway) ?? null;
    try {
      const counted = await countCalls(load, gateway, monitor, options.seconds, context);
      counts.push(...counted.counts);
      notes.push(...counted.notes);
    } catch (error) {
      // Another commit may have other counters.
      if (context.signal.aborted || gateway.id !== 'against') throw error;
      notes.push(`${gateway.title}: its work is not counted: ${messageOf(error)}`);
    }
  }
  const rounds = await runRounds(peers, scenarios, { unable, notes }, options, context);
  const ours = rounds.samples.filter(({ peer }) => peers.gateways.some(({ id }) => id === peer));
  const billed = ours.reduce((sum, { result }) => sum + result.calls, 0).toLocaleString('en-US');
  const versions = peers.all.filter(({ version }) => version !== '').map((peer) => `${peer.title}: ${peer.version}`);
  return {
    title: plan.title,
    facts: [
      ...facts,
      ['Placement', peers.placement],
      ['Versions', versions.join('; ')],
      ['Rounds', `${options.rounds}, ${options.seconds} s for each peer and scenario in each`],
      [
        'Accounts of each gateway',
        `${options.accounts}, each with a wallet and one key, at most ${CALLS_PER_MINUTE_MAX} calls a minute each (the default limits), and ${HOT_ACCOUNTS} with raised limits`,
      ],
      ['Billed', `${billed} measured calls of the gateways, each with its record; every wallet is exact`],
    ],
    brokenOff: rounds.brokenOff,
    sections: renderSections({ ...plan, peers: peers.all, scenarios, counts, openStreams, ...rounds }),
    notes,
    samples: { calls: rounds.samples, idle: rounds.idle, openStreams, counts },
  };
}

/** Returns the scenario with half the rate of the other commit's gateway, if compared. */
async function createHalfLoad(
  { gateways, load }: Started,
  plan: EdgePlan,
  { seconds }: BenchOptions,
): Promise<Scenario[]> {
  const against = gateways.find(({ id }) => id === 'against');
  const full = SCENARIOS.find(({ id }) => id === FULL_LOAD);
  if (against === undefined || full === undefined || !plan.scenarios.includes(HALF_LOAD)) return [];
  const { calls, elapsedMs } = await runJob(load, against, createJob(against, full, { seconds }));
  return [atHalfLoad((calls * 1_000) / elapsedMs)];
}

interface Findings {
  readonly unable: Unable;
  /** Receives failed and unreliable measurements. */
  readonly notes: string[];
}

/**
 * Measures open streams at every peer that has processes and answers streams. The number is limited
 * by the concurrency of the gateway's accounts. Dropped streams would leave records without a
 * response at gateways of a separate process, so these are left out.
 */
async function measureAllOpen(
  { all, gateways, load }: Started,
  { unable, notes, fresh }: Findings & { readonly fresh: ReadonlyMap<Peer, Readonly<Record<string, number>>> },
  plan: EdgePlan,
  { accounts, quick }: BenchOptions,
  context: BenchContext,
): Promise<OpenStreams[]> {
  if (!plan.scenarios.includes(OPEN_STREAMS)) return [];
  const found: OpenStreams[] = [];
  const able = all
    .filter(({ id, keyed }) => id !== 'direct' && (!keyed || id === 'gateway'))
    .filter((peer) => unable.get(peer)?.has('streamed') !== true);
  for (const count of quick ? OPEN_COUNTS_QUICK : OPEN_COUNTS) {
    if (count.streams > accounts * CALLS_AT_A_TIME_MAX) continue;
    for (const peer of able) {
      const one = await measureOpenStreams(load, peer, count, fresh.get(peer) ?? {}, context);
      if (one.spoiled !== null) notes.push(`${peer.title}: ${one.spoiled}`);
      found.push(one);
    }
    for (const gateway of gateways) await gateway.audit();
    context.log(`${count.streams} streams were open at each peer`);
  }
  return found;
}

/**
 * Measures every scenario for every peer in every round. Audits the books of the gateways after
 * each round. A failed measurement of another peer is left out and noted. If a later round fails,
 * the earlier ones are kept.
 */
async function runRounds(
  { all, gateways, load }: Started,
  scenarios: readonly Scenario[],
  { unable, notes }: Findings,
  { rounds, seconds }: BenchOptions,
  context: BenchContext,
): Promise<{ samples: Sample[]; idle: IdleReading[]; brokenOff: string | null }> {
  const [samples, idle]: [Sample[], IdleReading[]] = [[], []];
  const { complete, brokenOff } = await interleave<Peer, Scenario>(
    {
      rounds,
      subjects: all,
      cases: scenarios,
      async beginRound(round) {
        idle.push(...(await measureIdle(gateways, round)));
      },
      async measure(peer, scenario, round) {
        if (
          !isMeasured(
            gateways.find((one) => one === peer),
            peer,
            scenario,
            unable,
          )
        )
          return;
        try {
          const sample = await measure(load, peer, scenario, round, seconds);
          if (sample.failed > 0) notes.push(judge(sample, peer, scenario));
          samples.push(sample);
        } catch (error) {
          if (context.signal.aborted || peer.keyed) throw error;
          notes.push(`${peer.title}, ${scenario.title}, round ${round}: ${messageOf(error)}`);
        }
      },
      async endRound() {
        for (const gateway of gateways) await gateway.audit();
      },
    },
    context,
  );
  const isComplete = ({ round }: { readonly round: number }): boolean => round <= complete;
  return { samples: samples.filter(isComplete), idle: idle.filter(isComplete), brokenOff };
}

/** Leaves out peers that cannot make the scenario's calls or lack its accounts. */
function isMeasured(
  gateway: { readonly hotSecrets?: readonly string[] } | undefined,
  peer: Peer,
  { kind, accounts }: Scenario,
  unable: Unable,
): boolean {
  if (kindsOf({ kind }).some((one) => unable.get(peer)?.has(one) === true)) return false;
  if (accounts === undefined && kind !== 'mixed') return true;
  if (gateway !== undefined) return gateway.hotSecrets !== undefined;
  return accounts === undefined || peer.id === 'direct';
}

/**
 * Returns the note about a measurement with failed calls. @throws Error if they are plain calls of
 * this build, because then the measurement is invalid
 */
function judge({ failed, result, round }: Sample, peer: Peer, scenario: Scenario): string {
  const text = `${peer.title}, ${scenario.title}: ${failed} calls failed: ${JSON.stringify(result.failures)}`;
  if (peer.keyed && peer.id !== 'against' && (scenario.kind === 'plain' || scenario.kind === 'large'))
    throw new Error(text);
  return `${text} (round ${round})`;
}
