import { renderTable } from '@gateway/testkit';
import type { ClientSees, ExpectedCall, Scenario } from './scenario.js';

const HEAD = ['Scenario', 'What a client sees', 'Sources asked', 'Charge'];

/** The section of the README, from its title to the next one. */
export function renderCard(scenarios: readonly Scenario[]): string {
  const table = renderTable(HEAD, scenarios.map(rowOf), HEAD.length);
  return `## When a provider fails

A model with two sources, \`a\` preferred. Plain and streamed calls meet the same where nothing else is
said; calls one after the other are parted by \`/\`. A charge is the usage that the named source
reported. \`npm run prove:failover\` plays each row through a whole started system, in every format, and
compares client, sources, ledger and health
([last run](docs/verification.md)). The table is made of the cases that it plays.

${table}

A model with one source gets one retry after a 429 or 529, if the provider's wait is at most 2 s.

A stream that is cut ends with an error event and a broken connection, so that no client takes it for
a complete answer. [Failover](docs/behaviour.md#failover) has the rules.

`;
}

/** Scenario, client, sources asked and charge; plain and streamed calls apart where they differ. */
export function rowOf({ name, plain, streamed }: Scenario): string[] {
  const cells = (tell: (call: ExpectedCall) => string): string => {
    const [ofPlain, ofStreamed] = [plain, streamed].map((calls) => (calls === null ? null : told(calls.map(tell))));
    if (ofPlain === null) return `streamed: ${ofStreamed}`;
    if (ofStreamed === null) return `plain: ${ofPlain}`;
    return ofPlain === ofStreamed ? `${ofPlain}` : `plain: ${ofPlain}; streamed: ${ofStreamed}`;
  };
  return [name, cells(({ client }) => clientText(client)), cells(({ asked }) => asked.join(', ')), cells(chargeText)];
}

/** Calls one after the other; those that follow each other and are the same once. */
function told(calls: readonly string[]): string {
  const groups: { text: string; times: number }[] = [];
  for (const text of calls) {
    const last = groups.at(-1);
    if (last?.text === text) last.times += 1;
    else groups.push({ text, times: 1 });
  }
  if (groups.length === 1) return groups[0]?.text ?? '';
  return groups.map(({ text, times }) => (times === 1 ? text : `${times} × ${text}`)).join(' / ');
}

function clientText(client: ClientSees): string {
  switch (client.kind) {
    case 'whole':
      return 'the answer';
    case 'refused': {
      const retry = client.retryAfter === undefined ? '' : `, Retry-After ${client.retryAfter}`;
      return `${client.status} \`${client.code}\`${retry}`;
    }
    case 'broken_off':
      return `the begun answer, then ${client.said === true ? "the provider's error" : `\`${client.code}\``}, cut`;
  }
}

function chargeText({ charged }: ExpectedCall): string {
  return charged === null ? '0' : `usage of ${charged}`;
}
