import { renderTable } from '@gateway/testkit';
import { rowOf } from '../failover/render-card.js';
import { SCENARIOS } from '../failover/scenarios.js';
import type { ExpectedHealth } from '../failover/scenario.js';
import type { SeenPlay } from '../failover/seen.js';

const HEAD = ['Scenario', 'What a client sees', 'Sources used', 'Charge', 'Source a afterwards', 'Plays', 'Requests'];

/** Renders the report as Markdown. Without a date, so that the same run gives the same text. */
export function renderFailover(seen: readonly SeenPlay[], wrong: number): string {
  const rows = SCENARIOS.map((scenario) => {
    const plays = seen.filter(({ play }) => play.scenario === scenario);
    const calls = plays.reduce((sum, each) => sum + each.calls.length, 0);
    return [...rowOf(scenario), healthText(scenario.health), String(plays.length), String(calls)];
  });
  const calls = seen.reduce((sum, each) => sum + each.calls.length, 0);
  return `# Failing sources in the whole system

\`npm run prove:failover\`: each scenario in chat completions, messages and responses, plain and streamed, with two
separate scripted sources, of which \`a\` is preferred. The table of expected values (\`src/failover/scenarios.ts\`) follows from
[0001](../docs/decisions/0001-the-class-of-an-error-decides-failover.md). Each run checks the response, the order of sources in the record, the
requests at the providers, the charge in record and ledger to the nano-USD, and \`GET /sources/health\`.

${renderTable(HEAD, rows, HEAD.length - 2)}

\`/\` separates consecutive requests. The charge is the usage that the named source reported, at the model's price. A broken
stream ends with an error event and a cut connection; on \`/v1/responses\` it ends with \`response.failed\`, an error event and
a normal end. On \`/v1/messages\` a provider's error inside a stream has the code \`upstream_error\`.

Plays ${seen.length}, requests ${calls}, differences ${wrong}.
`;
}

function healthText({ state, failuresInARow, restMs }: ExpectedHealth): string {
  const failures = failuresInARow === 0 ? '' : `, ${failuresInARow} failed`;
  return `${state}${restMs === null ? '' : `, ${restMs / 1_000} s`}${failures}`;
}
