import { DEMO_EMAIL, DEMO_MESSAGES, formatCurl, formatDemoRequests, formatPairs } from '@gateway/mailbox';
import type { RealCall } from './demo/real-providers.js';
import { REDIS_DOWN_AFTER_MS } from './ha/topology.js';
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
  const state = isDefaultState ? '' : ` --state '${stateDirectory}'`;
  const lines = [
    '',
    ...formatPairs([
      ['gateway', running.edgeUrls.join('  ')],
      ['chat base URL', running.chatBaseUrl],
      ['messages base URL', running.messagesBaseUrl],
      ['dashboard', running.dashboardUrl],
      ['operator API', `${running.operatorUrl}  (token in ${stateDirectory}/running.json)`],
      ['simulated provider', running.providerUrls.join('  ')],
      ['state and logs', stateDirectory],
      ['emails', `${mailboxUrl}  (and ${stateDirectory}/mailbox)`],
      ...(demoPassword === null ? [] : [['demo sign-in', `${DEMO_EMAIL}  ${demoPassword}`] as const]),
    ]),
  ];
  if (key === null)
    lines.push(
      '',
      'There is no demo key, because the system already had accounts or its servers were given by URL (see --demo).',
    );
  else {
    lines.push(...formatPairs([['demo API key', key]]), '');
    if (demoModel === null)
      lines.push('No demo model is available: none has an enabled source at the simulated provider.', '');
    else lines.push(...formatDemoRequests(running.chatBaseUrl, key, demoModel));
    for (const { profile, model, endpoint } of realCalls) {
      const asked = endpoint === '/v1/responses' ? { input: 'Say hello.' } : DEMO_MESSAGES;
      const body = { model, ...asked, ...(endpoint === '/v1/messages' ? { max_tokens: 100 } : {}) };
      lines.push(`Request to the real ${profile}, which charges for it:`, '');
      lines.push(formatCurl('-i', running.edgeUrl + endpoint, key, body), '');
    }
    lines.push(
      'Show the cost of a request by the x-gateway-request-id header of its response (without an ID: the last requests):',
      '',
      `npm run ledger -- <x-gateway-request-id>${state}`,
    );
  }
  if (members !== null) lines.push('', ...failoverLines(running, members, state));
  return [...lines, '', 'Ctrl-C stops everything in order.', `ready: ${running.edgeUrl}`].join('\n');
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
