import { startOwnSystem } from '../../test/own-system.js';
import { thousands, total } from '../runner/render-report.js';
import { runnable } from '../runner/run-scenario.js';
import { FAILOVER_FORMATS } from './formats.js';
import { judgePlay } from './judge-play.js';
import { playScenarios } from './play-scenarios.js';
import { rowOf } from './render-card.js';
import { playsOf } from './scenario.js';
import { SCENARIOS } from './scenarios.js';

export const failover = runnable({
  name: 'failover',
  title: 'Failing sources in the whole system',
  about:
    'each scenario in chat completions, messages and responses, plain and streamed, with two separate scripted sources, of which `a` is preferred. The table of expected values (`src/failover/scenarios.ts`) follows from [0001](../docs/decisions/0001-the-class-of-an-error-decides-failover.md). Each run checks the response, the order of sources in the record, the requests at the providers, the charge in record and ledger to the nano-USD, and `GET /sources/health`.',
  options: {},
  topology: { replicas: { 'edge-proxy': 1, admission: 1 } },
  start: async ({ replicas }) => {
    const system = await startOwnSystem('verify-failover', {}, replicas);
    return { system, end: () => system.stop() };
  },
  fault: ({ system: { local, operator } }) =>
    playScenarios({ edgeUrl: local.running().edgeUrl, operator }, playsOf(SCENARIOS, FAILOVER_FORMATS)),
  judge: (_world, seen) =>
    Promise.resolve({
      violations: seen.flatMap(judgePlay),
      figures: SCENARIOS.map((scenario) => {
        const plays = seen.filter(({ play }) => play.scenario === scenario);
        const { state, failuresInARow, restMs } = scenario.health;
        const health = `${state}${restMs === null ? '' : `, ${restMs / 1_000} s`}`;
        return {
          cells: [...rowOf(scenario), failuresInARow === 0 ? health : `${health}, ${failuresInARow} failed`],
          plays: plays.length,
          calls: total(plays.map(({ calls }) => calls.length)),
        };
      }),
    }),
  report: (rounds) =>
    rounds.map(({ figures }) => ({
      head: ['Scenario', 'Client receives', 'Sources used', 'Charge', 'Source a afterwards', 'Plays', 'Requests'],
      wordColumns: 5,
      rows: [
        ...figures.map(({ cells, plays, calls }) => [...cells, thousands(plays), thousands(calls)]),
        [
          'all',
          '',
          '',
          '',
          '',
          ...[figures.map(({ plays }) => plays), figures.map(({ calls }) => calls)].map((each) =>
            thousands(total(each)),
          ),
        ],
      ],
      note: "`/` separates consecutive requests. The charge is the usage that the named source reported, at the model's price. A broken stream ends with an error event and a cut connection; on `/v1/responses` it ends with `response.failed`, an error event and a normal end. On `/v1/messages` a provider's error inside a stream has the code `upstream_error`.",
    })),
});
