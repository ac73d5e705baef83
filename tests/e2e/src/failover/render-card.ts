import { renderTable } from '@gateway/testkit';
import type { ExpectedResponse, ExpectedCall, Scenario } from './scenario.js';

const HEAD = ['Failure of `a`', 'Client receives', 'Sources queried', 'Charge'];

export function renderCard(scenarios: readonly Scenario[]): string {
  return `# When a provider fails

<!-- Written from the failover scenarios of the end-to-end tests with UPDATE_GOLDEN=1. -->

A model has two sources, \`a\` and \`b\`, and \`a\` is preferred. \`/\` separates consecutive requests. Plain and streamed requests have
the same result unless a row distinguishes them. The charge is the usage that the named source reported. [Failover](behaviour.md#failover) has
the rules, and [Responses](behaviour.md#answers) explains how a stream is cut.

\`npm run test:system -- failover\` runs each row on the whole system in every format. It checks the client's response, the queried
sources, the ledger and the health of the sources.

${renderTable(HEAD, scenarios.map(rowOf), HEAD.length)}
`;
}

/**
 * Returns the cells scenario, client, sources and charge. A cell distinguishes plain and streamed
 * requests if they differ.
 */
export function rowOf({ name, plain, streamed }: Scenario): string[] {
  const cells = (format: (call: ExpectedCall) => string): string => {
    const [ofPlain, ofStreamed] = [plain, streamed].map((calls) =>
      calls === null ? null : joinTexts(calls.map(format)),
    );
    if (ofPlain === null) return `streamed: ${ofStreamed}`;
    if (ofStreamed === null) return `plain: ${ofPlain}`;
    return ofPlain === ofStreamed ? `${ofPlain}` : `plain: ${ofPlain}; streamed: ${ofStreamed}`;
  };
  return [
    name,
    cells(({ client }) => clientText(client)),
    cells(({ queried }) => queried.join(', ')),
    cells(chargeText),
  ];
}

function joinTexts(calls: readonly string[]): string {
  const groups: { text: string; times: number }[] = [];
  for (const text of calls) {
    const last = groups.at(-1);
    if (last?.text === text) last.times += 1;
    else groups.push({ text, times: 1 });
  }
  if (groups.length === 1) return groups[0]?.text ?? '';
  return groups.map(({ text, times }) => (times === 1 ? text : `${times} × ${text}`)).join(' / ');
}

function clientText(client: ExpectedResponse): string {
  switch (client.kind) {
    case 'whole':
      return 'the response';
    case 'refused': {
      const retry = client.retryAfter === undefined ? '' : `, Retry-After ${client.retryAfter}`;
      return `${client.status} \`${client.code}\`${retry}`;
    }
    case 'broken_off':
      return `a partial response, then ${client.isProviderError === true ? "the provider's error" : `\`${client.code}\``}, cut`;
  }
}

function chargeText({ charged }: ExpectedCall): string {
  return charged === null ? '0' : `usage of ${charged}`;
}
