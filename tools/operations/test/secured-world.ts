import { randomBytes } from 'node:crypto';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import { freePort, startServers, withoutLentServers, type RunningServer } from '@gateway/servers';
import { temporaryDirectory, until } from '@gateway/testkit';
import { Redis } from 'ioredis';
import pg from 'pg';
import type { LedgerService } from '../src/index.js';
import { makeSecrets, withUser, type Secrets } from '../src/secrets/make-secrets-rules.js';
import { SERVER_COMMANDS } from '../src/secrets/server-commands-rules.js';
import type { Consumer } from '../src/secrets/table.js';
import { makeCertificates } from './certificates.js';

const READY_MS = 60_000;
/** The user as which tools/servers runs PostgreSQL when the tests run as root. */
const NOBODY = 65_534;
/** Addresses that are replaced when the servers have their ports. */
const UNKNOWN = { postgres: 'postgres://postgres.test/gateway', nats: 'tls://nats.test', redis: 'rediss://redis.test' };

/** A service process with its output. */
export interface StartedService {
  readonly edgeUrl: string;
  isReady(): Promise<boolean>;
  log(): string;
}

/** The three servers with TLS, users and permissions, migrated. */
export interface SecuredServers {
  /** PEM. */
  readonly authority: string;
  readonly natsUrl: string;
  readonly redisUrl: string;
  readonly passwords: Readonly<Record<ServiceName, string>>;
  /** Opens a session as a service's role or finance's. Default: the superuser. */
  postgres(role?: LedgerService | 'finance'): Promise<pg.Client>;
  /** Starts the compiled service. Without `trusted` it trusts only Node's built-in CAs. */
  start(service: ServiceName, trusted?: boolean): Promise<StartedService>;
  stop(): Promise<void>;
}

export async function startSecuredWorld(): Promise<SecuredServers> {
  const directory = temporaryDirectory('secured');
  chmodSync(directory.path, 0o711);
  const { secrets } = makeSecrets({}, { urls: UNKNOWN, random: randomBytes });
  const superuserPassword = valueOf(secrets, 'postgres', 'POSTGRES_PASSWORD');
  const { authority, certificate, key } = makeCertificates(Date.now());
  const files = {
    authority: `${directory.path}/ca.crt`,
    certificate: `${directory.path}/tls.crt`,
    key: `${directory.path}/tls.key`,
  };
  writeFileSync(files.authority, authority);
  writeFileSync(files.certificate, certificate);
  writeFileSync(files.key, key, { mode: 0o600 });
  const servers = await startServers(['postgres', 'nats', 'redis'], {
    stateDirectory: directory.path,
    durable: false,
    env: withoutLentServers(),
    postgres: { superuserPassword },
    nats: {
      config: `${SERVER_COMMANDS.nats(secrets)}tls { cert_file: "${files.certificate}", key_file: "${files.key}" }\n`,
    },
    redis: { password: valueOf(secrets, 'redis', 'REDIS_PASSWORD') },
  });
  const children: ChildProcess[] = [];
  const clients: pg.Client[] = [];
  await securePostgres(servers.postgres, files, SERVER_COMMANDS.sql(secrets));
  const redisHost = await secureRedis(servers.redis, files, SERVER_COMMANDS.redis(secrets));
  const { host, pathname } = new URL(servers.postgres.url);
  const real = JSON.parse(
    JSON.stringify(secrets)
      .replaceAll('postgres.test/gateway', `${host}${pathname}?sslmode=verify-full`)
      .replaceAll('nats.test', new URL(servers.nats.url).host)
      .replaceAll('redis.test', redisHost),
  ) as typeof secrets;
  const redisUrl = valueOf(real, 'admission', 'GATEWAY_REDIS_URL');
  const postgresUrl = (role: LedgerService | 'finance'): string => {
    const password = valueOf(real, 'migrate', 'GATEWAY_FINANCE_PASSWORD');
    const url =
      role === 'finance'
        ? withUser(valueOf(real, 'billing', 'GATEWAY_POSTGRES_URL'), 'gateway_finance', password)
        : valueOf(real, role, 'GATEWAY_POSTGRES_URL');
    // The client gets the CA itself.
    return url.replace(/\?.*$/, '');
  };
  migrateAsDeployed({
    NODE_EXTRA_CA_CERTS: files.authority,
    ...real.migrate,
    GATEWAY_EXTERNAL_ROLES: 'on',
  });

  return {
    authority,
    natsUrl: servers.nats.url,
    redisUrl,
    passwords: Object.fromEntries(
      SERVICE_NAMES.map((name) => [name, new URL(valueOf(real, name, 'GATEWAY_NATS_URL')).password]),
    ) as Record<ServiceName, string>,
    async postgres(role) {
      const connectionString = role === undefined ? servers.postgres.url : postgresUrl(role);
      const client = new pg.Client({ connectionString, ssl: { ca: authority } });
      clients.push(client);
      await client.connect();
      return client;
    },
    async start(service, trusted = true) {
      const [adminPort, port, secondPort] = [await freePort(), await freePort(), await freePort()];
      const env = {
        PATH: process.env['PATH'],
        ...(trusted ? { NODE_EXTRA_CA_CERTS: files.authority } : {}),
        ...real[service],
        GATEWAY_ADMIN_PORT: String(adminPort),
        GATEWAY_PORT: String(port),
        GATEWAY_OPERATOR_PORT: String(port),
        GATEWAY_DASHBOARD_PORT: String(secondPort),
        GATEWAY_HOST: '127.0.0.1',
        GATEWAY_PUBLIC_URL: 'http://127.0.0.1:8080',
        GATEWAY_DASHBOARD_URL: 'http://127.0.0.1:8081',
      };
      const logFile = `${directory.path}/${service}-${children.length}.log`;
      const log = openSync(logFile, 'w');
      const program = fileURLToPath(new URL(`../../../services/${service}/dist/main.js`, import.meta.url));
      children.push(spawn(process.execPath, [program], { env, stdio: ['ignore', log, log] }));
      return {
        edgeUrl: `http://127.0.0.1:${port}`,
        isReady: () =>
          fetch(`http://127.0.0.1:${adminPort}/readyz`).then(
            ({ ok }) => ok,
            () => false,
          ),
        log: () => readFileSync(logFile, 'utf8'),
      };
    },
    async stop() {
      await Promise.all(clients.map((client) => client.end()));
      for (const child of children) child.kill('SIGKILL');
      await Promise.all(Object.values(servers).map((server) => server.stop()));
      directory.remove();
    },
  };
}

/** Runs the migration command of compose and chart twice. The second run finds nothing to do. */
function migrateAsDeployed(env: Readonly<Record<string, string>>): void {
  const program = fileURLToPath(new URL('../dist/migrate-main.js', import.meta.url));
  for (const wanted of [/"billing":\["0001/, /"billing":\[\]/]) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program], { env, encoding: 'utf8' });
    if (status !== 0 || !wanted.test(stdout))
      throw new Error(`the migration ended with ${status}:\n${stdout}${stderr}`);
  }
}

interface Files {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

/** Returns a value that the secrets command makes. */
function valueOf(secrets: Secrets, consumer: Consumer, name: string): string {
  return secrets[consumer]?.[name] ?? '';
}

/** PostgreSQL needs a key file of its own user and loads certificates at a reload. */
async function securePostgres({ url }: RunningServer, { certificate, key }: Files, roles: string): Promise<void> {
  const own = `${key}.postgres`;
  writeFileSync(own, readFileSync(key), { mode: 0o600 });
  if (process.getuid?.() === 0) chownSync(own, NOBODY, NOBODY);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`ALTER SYSTEM SET ssl_cert_file = '${certificate}'`);
  await client.query(`ALTER SYSTEM SET ssl_key_file = '${own}'`);
  await client.query('ALTER SYSTEM SET ssl = on');
  await client.query('SELECT pg_reload_conf()');
  // May be repeated.
  for (let times = 0; times < 2; times += 1) await client.query(roles);
  await until(
    'PostgreSQL speaks TLS',
    async () => (await client.query<{ ssl: string }>('SHOW ssl')).rows[0]?.ssl === 'on',
    READY_MS,
  );
  await client.end();
}

/** Returns the address for TLS. Runs the printed command of admission's user. */
async function secureRedis(
  { url }: RunningServer,
  { authority, certificate, key }: Files,
  command: string,
): Promise<string> {
  const port = await freePort();
  const redis = new Redis(url);
  await redis.config(
    'SET',
    'tls-cert-file',
    certificate,
    'tls-key-file',
    key,
    'tls-ca-cert-file',
    authority,
    'tls-auth-clients',
    'no',
    'tls-port',
    String(port),
  );
  const [name = '', ...words] = command.trim().split(' ');
  await redis.call(name, ...words);
  redis.disconnect();
  return `127.0.0.1:${port}`;
}
