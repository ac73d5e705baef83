import { renderTable } from '@gateway/testkit';
import { rowOf } from '../failover/render-card.js';
import { SCENARIOS } from '../failover/scenarios.js';
import type { ExpectedHealth } from '../failover/scenario.js';
import type { SeenPlay } from '../failover/seen.js';

const HEAD = ['Scenario', 'What a client sees', 'Sources asked', 'Charge', 'Source a afterwards', 'Plays', 'Calls'];

/** Renders the report as Markdown. Without a date, so that the same run gives the same text. */
export function renderFailover(seen: readonly SeenPlay[], wrong: number): string {
  const rows = SCENARIOS.map((scenario) => {
    const plays = seen.filter(({ play }) => play.scenario === scenario);
    const calls = plays.reduce((sum, each) => sum + each.calls.length, 0);
    return [...rowOf(scenario), healthText(scenario.health), String(plays.length), String(calls)];
  });
  const calls = seen.reduce((sum, each) => sum + each.calls.length, 0);
  return `# Sources that fail, through the whole system

\`npm run prove:failover\`: each scenario in chat completions, messages and responses, plain and streamed, with two scripted
sources of its own, \`a\` preferred. Expected values are a table (\`src/failover/scenarios.ts\`) that follows from
[0001](../docs/decisions/0001-the-class-of-an-error-decides-failover.md); each run compares what the client read, the order of sources in the record, the calls that
the providers had, the charge in record and ledger to the nano-USD, and \`GET /sources/health\`.

${renderTable(HEAD, rows, HEAD.length - 2)}

Calls one after the other are parted by \`/\`. The charge is the usage that the named source reported, at the model's price. A
stream that breaks off ends with an error event and a cut connection; on \`/v1/responses\` with
\`response.failed\`, an error event and a normal end. On \`/v1/messages\` a provider's error inside a stream has the code
\`upstream_error\`.

Plays ${seen.length}, calls ${calls}, differences ${wrong}.
`;
}

function healthText({ state, failuresInARow, restMs }: ExpectedHealth): string {
  const failures = failuresInARow === 0 ? '' : `, ${failuresInARow} failed`;
  return `${state}${restMs === null ? '' : `, ${restMs / 1_000} s`}${failures}`;
}
