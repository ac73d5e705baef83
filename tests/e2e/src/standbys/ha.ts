import { SEED_MAX, testSeed } from '@gateway/testkit/seed';
import { checkEvidence } from '../evidence/check-evidence.js';
import { FaultRun } from '../faults/fault-run.js';
import { startLoad } from '../faults/faults.js';
import { quantiles, seconds, thousands, total } from '../runner/render-report.js';
import { runnable } from '../runner/run-scenario.js';
import { causeStandbyFault, type FaultCost } from './cause-standby-fault.js';
import { STANDBY_FAULTS, type StandbyFault } from './standby-faults.js';

const CALLS_BETWEEN = 150;

export const ha = runnable({
  name: 'ha',
  title: 'Faults of servers with standbys',
  about:
    'PostgreSQL with two standbys, three NATS servers with streams of three copies, Redis with a replica and three Sentinels, two replicas of each service under the load of the random faults, and a proxy on every link to Redis, from a service to PostgreSQL and NATS, and between their servers. Each fault starts when both edges and the operator API serve again after the previous one. Each round causes each fault once on a new system.',
  options: {
    times: { or: 20, min: 1, max: 1_000 },
    seed: { or: testSeed(), min: 0, max: SEED_MAX },
    nats: () => undefined,
    kinds: selectFaults,
  },
  topology: { ha: true, isDivisible: true },
  rounds: {
    continuedWith: ['kinds', 'nats'],
    next: ({ times, seed }, done) =>
      done.length >= times ? null : { seed: (done[0]?.options.seed ?? seed) + done.length },
  },
  start: (topology, { kinds, nats }) => {
    if (nats !== undefined) process.env['GATEWAY_NATS_BINARY'] = nats;
    return FaultRun.begin('verify-ha', CALLS_BETWEEN * (selectFaults(kinds).length + 1), topology);
  },
  load: (run, { seed }) => startLoad(run, seed),
  fault: async (run, { load, options: { kinds }, log }) => {
    const costs: FaultCost[] = [];
    for (const fault of selectFaults(kinds)) {
      const cost = await causeStandbyFault(run, load, fault, CALLS_BETWEEN);
      costs.push(cost);
      log(`${cost.fault}: ${cost.refused} refused within ${cost.refusedMs} ms, all served after ${cost.servedMs} ms`);
    }
    return costs;
  },
  judge: async (run, costs, load) => {
    const versions = Object.values(run.system.local.servers).map(({ name, version }) => `${name} ${version}`);
    const evidence = await run.evidence(load);
    return { ...checkEvidence(evidence), figures: { calls: evidence.calls.length, costs, versions } };
  },
  report: (rounds) => {
    const costs = rounds.flatMap(({ figures }) => figures.costs);
    const calls = thousands(total(rounds.map(({ figures }) => figures.calls)));
    return [
      {
        head: ['Fault', 'times', 's with refusals: median', 'worst', 's until service: median', 'worst'],
        rows: [...new Set(costs.map(({ fault }) => fault))].map((fault) => {
          const own = costs.filter((cost) => cost.fault === fault);
          const refused = quantiles(own.map(({ refusedMs }) => refusedMs));
          const served = quantiles(own.map(({ servedMs }) => servedMs));
          return [fault, thousands(own.length), ...[...refused, ...served].map(seconds)];
        }),
        note: `Rounds: ${rounds.length}. Requests: ${calls}. Last versions: ${rounds.at(-1)?.figures.versions.join(', ')}.`,
      },
    ];
  },
});

/**
 * Returns the faults whose names contain the text; default: all.
 *
 * @throws RangeError if there is none
 */
function selectFaults(text = ''): readonly StandbyFault[] {
  const selected = STANDBY_FAULTS.filter(({ name }) => name.includes(text));
  if (selected.length === 0) throw new RangeError('--kinds must be a part of a fault name');
  return selected;
}
