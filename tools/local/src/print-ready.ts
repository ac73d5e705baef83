import type { RealCall } from './demo/real-providers.js';
import { DEMO_EMAIL } from './demo/seed-demo.js';
import { COMMON_FIELDS, readConfig } from '@gateway/service-kit';
import { REDIS_DOWN_AFTER_MS } from './ha/topology.js';
import { computeOutageMinutes } from './outage-minutes.js';
import type { RunningFile } from './running-file.js';

export interface ReadyInput {
  readonly stateDirectory: string;
  readonly isDefaultState: boolean;
  readonly mailboxUrl: string;
  /** Null if there is no demo user. */
  readonly demoPassword: string | null;
  /** A model for a first request; null if there is none. */
  readonly demoModel: string | null;
  /** First requests to real providers. */
  readonly realCalls: readonly RealCall[];
  /** Servers by name with their addresses, if each kind has standbys. */
  readonly members: Readonly<Record<string, string>> | null;
}

/** Returns the text for a new user, with commands to paste. Programs wait for the last line. */
export function formatReadyText(
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
    `emails             ${mailboxUrl}  (and ${stateDirectory}/mailbox)`,
    `without billing    ${withoutBilling(process.env)}`,
  ];
  if (demoPassword !== null) lines.push(`demo sign-in       ${DEMO_EMAIL}  ${demoPassword}`);
  if (key === null)
    lines.push(
      '',
      'There is no demo key, because the system already had accounts or its servers were given by URL (see --demo).',
    );
  else
    lines.push(
      `demo API key       ${key}`,
      '',
      ...(demoModel === null
        ? ['No demo model is available: none has an enabled source at the simulated provider.']
        : ['Try it:', '', curl(running, key, demoModel, false), '', curl(running, key, demoModel, true)]),
      '',
      ...realCalls.flatMap((call) => [
        `Request to the real ${call.profile}, which charges for it:`,
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

/** Memory limit of the project's own Redis; a server given by URL may have another one. */
const REDIS_BYTES = 1024 ** 3;
const CALLS_PER_SECOND = [100, 1_000] as const;

/** Describes how long requests are served while nothing settles. */
function withoutBilling(env: NodeJS.ProcessEnv): string {
  const { GATEWAY_USAGE_STREAM_BYTES } = COMMON_FIELDS;
  const { GATEWAY_USAGE_STREAM_BYTES: streamBytes } = readConfig({ GATEWAY_USAGE_STREAM_BYTES }, env);
  const rates = CALLS_PER_SECOND.map((rate) => {
    return `${computeOutageMinutes({ streamBytes, redisBytes: REDIS_BYTES }, rate)} minutes at ${rate} requests/s`;
  });
  return `requests are served for ${rates.join(', ')}`;
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
    'Try a failover while requests are running:',
    '',
    `npm run promote -w tools/local --${state}   # promotes a PostgreSQL standby; the former primary restarts as a standby`,
    `kill -9 ${pid('redis-1')}   # the Sentinels promote the replica after ${REDIS_DOWN_AFTER_MS / 1_000} s`,
    `kill -9 ${pid('nats-1')}   # the other two continue; the killed server is restarted`,
    `kill -9 ${pid('postgres-1')}   # the primary is restarted; after "npm run promote -w tools/local" it stays a standby`,
  ];
}

function ledger(state: string): string {
  return `Show the cost of a request by the x-gateway-request-id header of its response (without an ID: the last requests):\n\nnpm run ledger -- <x-gateway-request-id>${state}`;
}
