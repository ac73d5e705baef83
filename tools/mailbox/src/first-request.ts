// `first-request`: prepares the evaluation of docker-compose.yml once and prints its addresses and
// credentials, and two requests. Later runs print the same and create nothing.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { OperatorView } from '@gateway/contracts/operator';
import { formatDemoRequests, formatPairs } from './demo/ready-text.js';
import {
  createOperatorRequest,
  DEMO_EMAIL,
  type DemoState,
  findDemoModel,
  type OperatorRequest,
  seedDemo,
} from './demo/seed-demo.js';
import { readMails } from './mailbox.js';

interface State extends DemoState {
  /** Token of {@link OPERATOR_NAME}. */
  readonly operatorToken: string | null;
}

const OPERATOR_NAME = 'first-operator';
const NOTHING: State = { apiKey: null, password: null, providerUrls: null, operatorToken: null };

const file = variable('GATEWAY_DEMO_STATE');
let state: State = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as State) : NOTHING;
const system = {
  dashboardUrl: variable('GATEWAY_DEMO_DASHBOARD_URL'),
  operatorUrl: variable('GATEWAY_OPERATOR_URL'),
  operatorToken: readFileSync(variable('GATEWAY_OPERATOR_TOKEN_FILE'), 'utf8').trim(),
  providerUrls: variable('GATEWAY_DEMO_PROVIDER_URLS').split(','),
  mails: () => readMails(variable('GATEWAY_MAILBOX_DIRECTORY')),
};
const operator = createOperatorRequest(system);
await seedDemo(system, state, (demo) => save({ ...state, ...demo }));
if (state.operatorToken === null) save({ ...state, operatorToken: await createFirstOperator(operator) });
console.log(await formatText());

/** Creates the operator, and again if an earlier run ended before it had stored the token. */
async function createFirstOperator(operator: OperatorRequest): Promise<string> {
  const { data } = await operator<{ data: OperatorView[] }>('GET', '/operators');
  for (const { id, name } of data) if (name === OPERATOR_NAME) await operator('DELETE', `/operators/${id}`);
  const created = { name: OPERATOR_NAME, role: 'admin' };
  return (await operator<{ token: string }>('POST', '/operators', created)).token;
}

async function formatText(): Promise<string> {
  const gateway = variable('GATEWAY_PUBLIC_URL');
  const dashboard = variable('GATEWAY_DASHBOARD_URL');
  const { apiKey, password, operatorToken } = state;
  const model = apiKey === null ? null : await findDemoModel(operator, system);
  const lines = formatPairs([
    ['gateway', gateway],
    ['chat base URL', `${gateway}/v1`],
    ['messages base URL', gateway],
    ['dashboard', dashboard],
    ['operator pages', `${dashboard}/operator/sign-in`],
    ['emails', variable('GATEWAY_MAILBOX_URL')],
    ...(password === null ? [] : [['demo sign-in', `${DEMO_EMAIL}  ${password}`] as const]),
    ['operator token', operatorToken ?? ''],
    ...(apiKey === null ? [] : [['demo API key', apiKey] as const]),
  ]);
  const requests =
    apiKey === null || model === null
      ? ['There is no demo request, because the system already had accounts or the demo models are gone.', '']
      : formatDemoRequests(`${gateway}/v1`, apiKey, model, ' ');
  const ledger = 'docker compose run --rm operate ledger <x-gateway-request-id>';
  return ['', ...lines, '', ...requests, 'Show the cost of a request:', '', ledger, ''].join('\n');
}

/** Stores the state, which contains credentials, so that a crash leaves the old or the new one. */
function save(next: State): void {
  state = next;
  writeFileSync(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

function variable(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set`);
  return value;
}
