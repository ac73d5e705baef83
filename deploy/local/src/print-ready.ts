import type { RealCall } from './demo/real-providers.js';
import { DEMO_EMAIL } from './demo/seed-demo.js';
import { COMMON_FIELDS, readConfig } from '@gateway/service-kit';
import { REDIS_DOWN_AFTER_MS } from './ha/topology.js';
import { outageMinutes } from './outage-minutes.js';
import type { RunningFile } from './running-file.js';

export interface ReadyInput {
  readonly stateDirectory: string;
  readonly isDefaultState: boolean;
  readonly mailboxUrl: string;
  /** It is null when there is no demo person. */
  readonly demoPassword: string | null;
  /** A call can name it; null: there is none. */
  readonly demoModel: string | null;
  /** First calls of providers that are no simulation. */
  readonly realCalls: readonly RealCall[];
  /** Servers by their names with where they listen, where each kind has standbys. */
  readonly members: Readonly<Record<string, string>> | null;
}

/**
 * What a newcomer needs, with commands to paste; the last line is the one that programs wait for.
 */
export function readyText(
  running: RunningFile,
  { stateDirectory, isDefaultState, mailboxUrl, demoPassword, demoModel, realCalls, members }: ReadyInput,
): string {
  const key = running.demoApiKey;
  const lines = [
    '',
    `gateway            ${running.edgeUrls.join('  ')}`,
    `chat base URL      ${running.chatBaseUrl}`,
    `messages base URL  ${running.messagesBaseUrl}`,
    `dashboard          ${running.dashboardUrl}`,
    `operator API       ${running.operatorUrl}  (token in ${stateDirectory}/running.json)`,
    `simulated provider ${running.providerUrls.join('  ')}`,
    `state and logs     ${stateDirectory}`,
    `mails              ${mailboxUrl}  (and ${stateDirectory}/mailbox)`,
    `without billing    ${withoutBilling(process.env)}`,
  ];
  if (demoPassword !== null) lines.push(`demo sign-in       ${DEMO_EMAIL}  ${demoPassword}`);
  if (key === null)
    lines.push(
      '',
      'There is no demo key here: the system had accounts, or its servers were given by URL (see --demo).',
    );
  else
    lines.push(
      `demo API key       ${key}`,
      '',
      ...(demoModel === null
        ? ['No demo model can be called now: none has a source that leads to the simulated provider.']
        : ['Try it:', '', curl(running, key, demoModel, false), '', curl(running, key, demoModel, true)]),
      '',
      ...realCalls.flatMap((call) => [
        `At the real ${call.profile}, which charges for it:`,
        '',
        realCurl(running, key, call),
        '',
      ]),
      ledger(isDefaultState ? '' : ` --state '${stateDirectory}'`),
    );
  if (members !== null)
    lines.push('', ...failoverLines(running, members, isDefaultState ? '' : ` --state '${stateDirectory}'`));
  return [...lines, '', 'Ctrl-C stops everything in order.', `ready: ${running.edgeUrl}`].join('\n');
}

/** Of the project's own Redis; one given by URL may have another size. */
const REDIS_BYTES = 1024 ** 3;
const CALLS_PER_SECOND = [100, 1_000] as const;

/** How long calls go on while nothing settles. */
function withoutBilling(env: NodeJS.ProcessEnv): string {
  const { GATEWAY_USAGE_STREAM_BYTES } = COMMON_FIELDS;
  const { GATEWAY_USAGE_STREAM_BYTES: streamBytes } = readConfig({ GATEWAY_USAGE_STREAM_BYTES }, env);
  const rates = CALLS_PER_SECOND.map((rate) => {
    return `${outageMinutes({ streamBytes, redisBytes: REDIS_BYTES }, rate)} minutes at ${rate} calls/s`;
  });
  return `calls go on for ${rates.join(', ')}`;
}

function curl(running: RunningFile, key: string, model: string, stream: boolean): string {
  const body = {
    model,
    messages: [{ role: 'user', content: 'Say hello.' }],
    ...(stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  };
  return [
    `curl -i${stream ? 'N' : ''} ${running.chatBaseUrl}/chat/completions \\`,
    `  -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join('\n');
}

function realCurl({ edgeUrl }: RunningFile, key: string, { model, endpoint }: RealCall): string {
  const messages = [{ role: 'user', content: 'Say hello.' }];
  const asked = endpoint === '/v1/responses' ? { input: 'Say hello.' } : { messages };
  const body = { model, ...asked, ...(endpoint === '/v1/messages' ? { max_tokens: 100 } : {}) };
  return [
    `curl -i ${edgeUrl}${endpoint} \\`,
    `  -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ].join('\n');
}

function failoverLines(running: RunningFile, members: Record<string, string>, state: string): string[] {
  const pid = (name: string): number => running.pids[name]?.[0] ?? 0;
  const led = Object.entries(members).map(([name, place]) => `${name.padEnd(18)} ${place}  (pid ${pid(name)})`);
  return [
    ...led,
    '',
    'Try a failover, with calls under way:',
    '',
    `npm run promote --${state}   # a standby of PostgreSQL takes over; the primary before comes back as a standby`,
    `kill -9 ${pid('redis-1')}   # the Sentinels promote the replica after ${REDIS_DOWN_AFTER_MS / 1_000} s`,
    `kill -9 ${pid('nats-1')}   # the other two go on; what ended is started again`,
    `kill -9 ${pid('postgres-1')}   # the primary is started again; with "npm run promote" beforehand it stays a standby`,
  ];
}

function ledger(state: string): string {
  return `What it cost, by the x-gateway-request-id of the answer (without one: the last calls):\n\nnpm run ledger -- <x-gateway-request-id>${state}`;
}
