import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { connect as connectSocket } from 'node:net';
import { join } from 'node:path';
import { urlsOf } from '@gateway/service-kit';
import type { ConnectionOptions, ServerInfo } from 'nats';
import { findDebianProgram } from './debian-packages.js';
import { ProbeRefused, isAtLeast } from './server-kind.js';
import type { ProbeResult, ServerKind } from './server-kind.js';
import type { ServersOptions } from './server.js';

const DEFAULT_PORT = 4222;
const PAYLOAD_MAX = '1MB';
const MEMORY_STORE_MAX = '256MB';
const FILE_STORE_MAX = '32GB';
const CONNECTIONS_MAX = 1_000;
/** Older servers refuse to start with `sync_interval` in their configuration. */
const SYNC_INTERVAL_SINCE = '2.10';

export const natsKind: ServerKind = {
  name: 'nats',
  title: 'NATS',
  urlVariables: ['GATEWAY_NATS_URL'],
  urlExample: 'nats://user:password@host:4222',
  binaryVariable: 'GATEWAY_NATS_BINARY',
  programName: 'nats-server',
  minimumVersion: '2.9',
  installHint: 'Debian and Ubuntu: apt-get install nats-server; macOS: brew install nats-server',
  usualPlaces: [],
  versionPattern: /\bv?(\d+\.\d+\.\d+)/,
  findProject: (cacheDirectory, options) =>
    findDebianProgram(natsKind, ['nats-server'], 'usr/sbin/nats-server', cacheDirectory, options),
  url(port, options) {
    const { user, password } = options.nats?.credentials ?? {};
    const login = user ? `${encodeURIComponent(user)}:${encodeURIComponent(password ?? '')}@` : '';
    return `nats://${login}127.0.0.1:${port}`;
  },
  probe: probeNats,

  async prepare(program, port, options) {
    const home = join(options.stateDirectory, 'nats');
    await mkdir(home, { recursive: true, mode: 0o700 });
    const file = join(home, 'nats.conf');
    const identity = options.nats?.name ?? `gateway-${randomUUID()}`;
    const isSynced = (options.durable ?? true) && isAtLeast(program.version, SYNC_INTERVAL_SINCE);
    const lines = [`server_name: ${JSON.stringify(identity)}`, 'host: "127.0.0.1"', `port: ${port}`];
    await writeFile(file, lines.join('\n') + settings(join(home, 'jetstream'), isSynced, options), { mode: 0o600 });
    return { args: ['-c', file], user: null, stopSignals: ['SIGTERM'], deathSignal: 'KILL', mark: file, identity };
  },

  async emptyState(options) {
    await rm(join(options.stateDirectory, 'nats', 'jetstream'), { recursive: true, force: true });
  },

  container: (options) => ({
    image: 'nats:2.12.15-alpine',
    port: 4222,
    command: ['-c', '/etc/nats/gateway.conf'],
    dataDirectory: '/data',
    files: [{ target: '/etc/nats/gateway.conf', content: settings('/data', options.durable ?? true, options) }],
  }),
};

function settings(directory: string, isSynced: boolean, { nats }: ServersOptions): string {
  return `
ping_interval: "1s"
ping_max: 2
max_payload: ${PAYLOAD_MAX}
max_connections: ${CONNECTIONS_MAX}
jetstream {
  store_dir: ${JSON.stringify(directory)}
  max_memory_store: ${MEMORY_STORE_MAX}
  max_file_store: ${FILE_STORE_MAX}
  ${isSynced ? 'sync_interval: always' : ''}
}
${nats?.config ?? ''}
`;
}

/**
 * Reads a NATS server's greeting. Checks the URL's credentials if no TLS is required, which could
 * lead to a stranger. The URL may name several servers (`nats://user:password@a:4222,b`); the first
 * response counts. Refuses a server without JetStream.
 */
async function probeNats(text: string, timeoutMs: number): Promise<ProbeResult> {
  const urls = urlsOf(text).map((url) => new URL(url));
  const greeting = await Promise.any(urls.map((url) => readGreeting(url, timeoutMs))).catch((error: AggregateError) => {
    throw error.errors[0];
  });
  const info = JSON.parse(greeting) as ServerInfo & { readonly tls_required?: boolean };
  if (info.jetstream !== true) throw new ProbeRefused('JetStream is not enabled on this NATS server');
  const [user = '', pass = ''] = [urls[0]?.username, urls[0]?.password].map((part) => decodeURIComponent(part ?? ''));
  const isChecked = user !== '' && info.tls_required !== true;
  if (isChecked) await checkCredentials(urls, pass === '' ? { token: user } : { user, pass }, timeoutMs);
  return { version: info.version, identity: info.server_name };
}

/** The server sends it before TLS and authentication. */
function readGreeting({ hostname, port }: URL, timeoutMs: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = connectSocket({ host: hostname, port: Number(port) || DEFAULT_PORT });
    const fail = (error?: Error): void => reject(error ?? new Error('the connection was closed'));
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`no response within ${timeoutMs} ms`)));
    socket.once('error', fail).once('close', () => fail());
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      received += chunk;
      const [, json] = /^INFO (\{.*\}) ?\r\n/.exec(received) ?? [];
      if (json === undefined) return;
      resolve(json);
      socket.destroy();
    });
  });
}

async function checkCredentials(urls: readonly URL[], login: ConnectionOptions, timeoutMs: number): Promise<void> {
  const { connect, ErrorCode } = await import('nats');
  const refusals: readonly string[] = [ErrorCode.AuthorizationViolation, ErrorCode.BadAuthentication];
  const servers = urls.map(({ host }) => host);
  const fixed = { servers, reconnect: false, ignoreClusterUpdates: true, name: 'gateway-servers' };
  const connection = await connect({ ...fixed, ...login, timeout: timeoutMs }).catch(
    (error: Error & { code?: string; chainedError?: Error }) => {
      throw refusals.includes(error.code ?? '') ? new ProbeRefused(error.message) : (error.chainedError ?? error);
    },
  );
  await connection.close();
}
