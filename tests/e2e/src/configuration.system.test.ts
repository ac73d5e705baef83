import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { SERVICES } from '@gateway/local';

const CANARY = 'canary-7f3a9e';
/** EX_CONFIG of sysexits.h. */
const EXIT_CONFIGURATION = 78;

/** Each variable is invalid, and each secret contains the canary. */
const BROKEN: Readonly<Record<string, string>> = {
  GATEWAY_LOG_LEVEL: 'loud',
  GATEWAY_ADMIN_PORT: '-1',
  GATEWAY_REPLICA: 'a replica',
  GATEWAY_NATS_URL: `https://edge:${CANARY}@127.0.0.1`,
  GATEWAY_POSTGRES_URL: `mysql://role:${CANARY}@127.0.0.1/x`,
  GATEWAY_REDIS_URL: `http://:${CANARY}@127.0.0.1`,
  GATEWAY_SMTP_URL: `http://user:${CANARY}@127.0.0.1`,
  GATEWAY_KEY_PEPPER: CANARY,
  GATEWAY_SOURCE_PUBLIC_KEY: CANARY,
  GATEWAY_SOURCE_PRIVATE_KEY: CANARY,
  GATEWAY_WEBHOOK_PUBLIC_KEY: CANARY,
  GATEWAY_WEBHOOK_PRIVATE_KEY: CANARY,
  GATEWAY_KEY_PREFIXES: 'nothing',
  GATEWAY_PUBLIC_URL: 'nowhere',
  GATEWAY_PORT: 'eighty',
  GATEWAY_OPERATOR_PORT: 'eighty',
  GATEWAY_LEASE_MS: 'soon',
  GATEWAY_DRAIN_MS: '1.5',
  GATEWAY_USAGE_STREAM_BYTES: '12',
  GATEWAY_TEAMS_ENABLED: 'perhaps',
  GATEWAY_ALLOW_PRIVATE_SOURCES: 'perhaps',
  GATEWAY_ALLOW_PRIVATE_WEBHOOKS: 'perhaps',
};
const OF_EVERY_SERVICE = ['GATEWAY_LOG_LEVEL', 'GATEWAY_ADMIN_PORT', 'GATEWAY_REPLICA', 'GATEWAY_NATS_URL'];
const OF_ONE: Readonly<Record<(typeof SERVICES)[number], readonly string[]>> = {
  'edge-proxy': [
    'GATEWAY_PORT',
    'GATEWAY_PUBLIC_URL',
    'GATEWAY_KEY_PREFIXES',
    'GATEWAY_KEY_PEPPER',
    'GATEWAY_SOURCE_PRIVATE_KEY',
    'GATEWAY_DRAIN_MS',
    'GATEWAY_ALLOW_PRIVATE_SOURCES',
  ],
  // The dashboard's URL and the session secret are missing in BROKEN. Missing variables are listed
  // too.
  dashboard: [
    'GATEWAY_DASHBOARD_URL',
    'GATEWAY_PUBLIC_URL',
    'GATEWAY_SESSION_SECRET',
    'GATEWAY_TEAMS_ENABLED',
    'GATEWAY_OPERATOR_PORT',
    'GATEWAY_OPERATOR_TOKEN',
    'GATEWAY_KEY_PREFIXES',
    'GATEWAY_KEY_PEPPER',
    'GATEWAY_SOURCE_PUBLIC_KEY',
    'GATEWAY_WEBHOOK_PUBLIC_KEY',
  ],
  admission: ['GATEWAY_REDIS_URL', 'GATEWAY_LEASE_MS', 'GATEWAY_USAGE_STREAM_BYTES'],
  billing: [
    'GATEWAY_POSTGRES_URL',
    'GATEWAY_USAGE_STREAM_BYTES',
    'GATEWAY_WEBHOOK_PRIVATE_KEY',
    'GATEWAY_ALLOW_PRIVATE_WEBHOOKS',
  ],
  accounts: ['GATEWAY_POSTGRES_URL', 'GATEWAY_DASHBOARD_URL', 'GATEWAY_TEAMS_ENABLED', 'GATEWAY_SMTP_URL'],
  catalog: ['GATEWAY_POSTGRES_URL', 'GATEWAY_ALLOW_PRIVATE_SOURCES'],
};

function run(service: (typeof SERVICES)[number], env: Readonly<Record<string, string>>) {
  const { PATH } = process.env;
  const options = { env: { PATH, ...env }, encoding: 'utf8', timeout: 20_000 } as const;
  const program = fileURLToPath(new URL(`../../../services/${service}/dist/main.js`, import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, [program], options);
  return { status, stdout, stderr };
}

test.each(SERVICES)('%s lists all invalid variables without secrets and exits with 78', (service) => {
  const { status, stdout, stderr } = run(service, BROKEN);
  expect([status, stdout]).toEqual([EXIT_CONFIGURATION, '']);
  const named = [...stderr.matchAll(/^ {2}- (GATEWAY_\w+)/gm)].map(([, name]) => name);
  expect(named.sort()).toEqual([...OF_EVERY_SERVICE, ...OF_ONE[service]].sort());
  expect(stderr).not.toContain(CANARY);
});

test.each(SERVICES)('%s lists missing variables if it has no configuration', (service) => {
  const { status, stderr } = run(service, {});
  expect(status).toBe(EXIT_CONFIGURATION);
  expect(stderr).toContain('GATEWAY_NATS_URL');
});
