import { randomBytes } from 'node:crypto';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { natsAuthorization } from '@gateway/bus';
import { MESSAGES, SERVICE_NAMES, type ServiceName } from '@gateway/contracts/messages';
import { freePort, startServers, withoutLentServers, type RunningServer } from '@gateway/servers';
import { temporaryDirectory, until } from '@gateway/testkit';
import { Redis } from 'ioredis';
import pg from 'pg';
import { ADMISSION_USER, LEDGER_SERVICES, admissionUser, type LedgerService } from '../src/index.js';
import { makeCertificates } from './certificates.js';

const READY_MS = 60_000;
/** The user as which tools/servers runs PostgreSQL when the tests run as root. */
const NOBODY = 65_534;
const PASSWORDS = Object.fromEntries(
  [...SERVICE_NAMES, 'redis', 'finance', 'superuser'].map((name) => [name, `password-of-${name}`]),
) as Record<ServiceName | 'redis' | 'finance' | 'superuser', string>;

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
  readonly passwords: typeof PASSWORDS;
  /** Opens a session as a service's role or finance's. Default: the superuser. */
  postgres(role?: LedgerService | 'finance'): Promise<pg.Client>;
  /** Starts the compiled service. Without `trusted` it trusts only Node's built-in CAs. */
  start(service: ServiceName, trusted?: boolean): Promise<StartedService>;
  stop(): Promise<void>;
}

export async function startSecuredWorld(): Promise<SecuredServers> {
  const directory = temporaryDirectory('secured');
  chmodSync(directory.path, 0o711);
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
    postgres: { superuserPassword: PASSWORDS.superuser },
    nats: {
      config: `${natsAuthorization(PASSWORDS, MESSAGES)}tls { cert_file: "${files.certificate}", key_file: "${files.key}" }\n`,
    },
    redis: { password: PASSWORDS.redis, users: [admissionUser(PASSWORDS.admission)] },
  });
  const children: ChildProcess[] = [];
  const clients: pg.Client[] = [];
  await securePostgres(servers.postgres, files);
  const redisUrl = await secureRedis(servers.redis, files);
  const postgresUrl = (role: LedgerService | 'finance'): string => {
    const url = new URL(servers.postgres.url);
    url.username = `gateway_${role}`;
    url.password = PASSWORDS[role];
    return url.href;
  };

  migrateAsDeployed({
    NODE_EXTRA_CA_CERTS: files.authority,
    GATEWAY_MIGRATION_URL: `${servers.postgres.url}?sslmode=verify-full`,
    GATEWAY_BILLING_POSTGRES_URL: postgresUrl('billing'),
    GATEWAY_ACCOUNTS_POSTGRES_URL: postgresUrl('accounts'),
    GATEWAY_CATALOG_POSTGRES_URL: postgresUrl('catalog'),
    GATEWAY_FINANCE_PASSWORD: PASSWORDS.finance,
  });

  return {
    authority,
    natsUrl: servers.nats.url,
    redisUrl,
    passwords: PASSWORDS,
    async postgres(role) {
      const connectionString = role === undefined ? servers.postgres.url : postgresUrl(role);
      const client = new pg.Client({ connectionString, ssl: { ca: authority } });
      clients.push(client);
      await client.connect();
      return client;
    },
    async start(service, trusted = true) {
      const [adminPort, port, secondPort] = [await freePort(), await freePort(), await freePort()];
      const nats = new URL(servers.nats.url);
      const env = {
        PATH: process.env['PATH'],
        ...(trusted ? { NODE_EXTRA_CA_CERTS: files.authority } : {}),
        GATEWAY_NATS_URL: `tls://${service}:${PASSWORDS[service]}@${nats.host}`,
        GATEWAY_REDIS_URL: redisUrl,
        GATEWAY_POSTGRES_URL: isLedger(service) ? `${postgresUrl(service)}?sslmode=verify-full` : undefined,
        GATEWAY_ADMIN_PORT: String(adminPort),
        GATEWAY_PORT: String(port),
        GATEWAY_OPERATOR_PORT: String(port),
        GATEWAY_DASHBOARD_PORT: String(secondPort),
        GATEWAY_HOST: '127.0.0.1',
        GATEWAY_PUBLIC_URL: 'http://127.0.0.1:8080',
        GATEWAY_DASHBOARD_URL: 'http://127.0.0.1:8081',
        GATEWAY_KEY_PEPPER: 'p'.repeat(64),
        GATEWAY_SOURCE_PUBLIC_KEY: '09'.repeat(32),
        GATEWAY_SOURCE_PRIVATE_KEY: '01'.repeat(32),
        GATEWAY_WEBHOOK_PUBLIC_KEY: '09'.repeat(32),
        GATEWAY_WEBHOOK_PRIVATE_KEY: '02'.repeat(32),
        GATEWAY_SESSION_SECRET: 's'.repeat(64),
        GATEWAY_OPERATOR_TOKEN: randomBytes(32).toString('hex'),
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

function isLedger(service: ServiceName): service is LedgerService {
  return LEDGER_SERVICES.some((ledger) => ledger === service);
}

interface Files {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

/** PostgreSQL needs a key file of its own user and loads certificates at a reload. */
async function securePostgres({ url }: RunningServer, { certificate, key }: Files): Promise<void> {
  const own = `${key}.postgres`;
  writeFileSync(own, readFileSync(key), { mode: 0o600 });
  if (process.getuid?.() === 0) chownSync(own, NOBODY, NOBODY);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`ALTER SYSTEM SET ssl_cert_file = '${certificate}'`);
  await client.query(`ALTER SYSTEM SET ssl_key_file = '${own}'`);
  await client.query('ALTER SYSTEM SET ssl = on');
  await client.query('SELECT pg_reload_conf()');
  await until(
    'PostgreSQL speaks TLS',
    async () => (await client.query<{ ssl: string }>('SHOW ssl')).rows[0]?.ssl === 'on',
    READY_MS,
  );
  await client.end();
}

async function secureRedis({ url }: RunningServer, { authority, certificate, key }: Files): Promise<string> {
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
  redis.disconnect();
  return `rediss://${ADMISSION_USER}:${PASSWORDS.admission}@127.0.0.1:${port}`;
}
