import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findDebianProgram } from './find-debian-program.js';
import { probeNats } from './probe-nats.js';
import { isAtLeast } from './server-kind.js';
import type { ServerKind } from './server-kind.js';
import type { ServersOptions } from './server.js';

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
  parseVersion: (text) => /\bv?(\d+\.\d+\.\d+)/.exec(text)?.[1] ?? null,
  refuseProgram: () => Promise.resolve(null),
  findProject: (cacheDirectory, options) =>
    findDebianProgram(
      natsKind,
      { packages: ['nats-server'], program: 'usr/sbin/nats-server' },
      cacheDirectory,
      options,
    ),
  url(port, options) {
    const credentials = options.nats?.credentials;
    const login = credentials
      ? `${encodeURIComponent(credentials.user)}:${encodeURIComponent(credentials.password)}@`
      : '';
    return `nats://${login}127.0.0.1:${port}`;
  },
  probe: probeNats,

  async prepare(program, port, options) {
    const home = join(options.stateDirectory, 'nats');
    await mkdir(home, { recursive: true, mode: 0o700 });
    const file = join(home, 'nats.conf');
    const identity = options.nats?.name ?? `gateway-${randomUUID()}`;
    const durable = options.durable ?? true;
    const lines = [
      `server_name: ${JSON.stringify(identity)}`,
      'host: "127.0.0.1"',
      `port: ${port}`,
      ...commonLines(storeLines(join(home, 'jetstream'), durable && isAtLeast(program.version, SYNC_INTERVAL_SINCE))),
      options.nats?.config ?? '',
    ];
    await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o600 });
    return { args: ['-c', file], user: null, stopSignals: ['SIGTERM'], deathSignal: 'KILL', mark: file, identity };
  },

  async emptyState(options) {
    await rm(join(options.stateDirectory, 'nats', 'jetstream'), { recursive: true, force: true });
  },

  container: (options) => containerPlan(options),
};

function commonLines(store: string[]): string[] {
  return [
    'ping_interval: "1s"',
    'ping_max: 2',
    `max_payload: ${PAYLOAD_MAX}`,
    `max_connections: ${CONNECTIONS_MAX}`,
    'jetstream {',
    ...store.map((line) => `  ${line}`),
    '}',
  ];
}

function storeLines(directory: string, syncAlways: boolean): string[] {
  return [
    `store_dir: ${JSON.stringify(directory)}`,
    `max_memory_store: ${MEMORY_STORE_MAX}`,
    `max_file_store: ${FILE_STORE_MAX}`,
    ...(syncAlways ? ['sync_interval: always'] : []),
  ];
}

function containerPlan(options: ServersOptions): ReturnType<ServerKind['container']> {
  const lines = [...commonLines(storeLines('/data', options.durable ?? true)), options.nats?.config ?? ''];
  return {
    image: 'nats:2.12-alpine',
    port: 4222,
    environment: {},
    command: ['-c', '/etc/nats/gateway.conf'],
    dataDirectory: '/data',
    files: [{ target: '/etc/nats/gateway.conf', content: `${lines.join('\n')}\n` }],
  };
}
