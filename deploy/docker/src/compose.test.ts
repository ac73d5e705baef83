import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { composeSecrets, OPERATOR_SECRETS } from '../../../tools/operations/src/compose-secrets.js';
import { environmentProblems, PROGRAM_FIELDS, valueProblems } from '../../../tools/operations/test/service-fields.js';

interface Service {
  readonly image: string;
  readonly build?: { readonly dockerfile: string; readonly args: { readonly ROOM: string } };
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly command?: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[]; readonly retries: number };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly profiles?: readonly string[];
  readonly networks?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly stop_grace_period?: string;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const compose = parse(readFileSync(`${root}docker-compose.yml`, 'utf8'), { merge: true }) as {
  services: Readonly<Record<string, Service>>;
  secrets: Readonly<Record<string, { file: string }>>;
  volumes: Readonly<Record<string, unknown>>;
  networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
};
const services = Object.entries(compose.services);
const ours = services.filter(([, { build }]) => build !== undefined);
/** A program that runs to its end, and an image without a program for a health check. */
const WITHOUT_HEALTH_CHECK = ['migrate', 'collector'];
/** Always mounted, but read only if compose's environment names the file. */
const OPTIONAL_SECRETS: Readonly<Record<string, string>> = { GATEWAY_SMTP_URL_FILE: 'smtp-url' };
/** Variables that every deployment must be able to set. Each program that reads one receives it. */
const TOLD_BY_COMPOSE = [
  'GATEWAY_BILLING_LINK_URL',
  'GATEWAY_DASHBOARD_OPERATORS',
  'GATEWAY_DASHBOARD_PROXIES',
  'GATEWAY_DASHBOARD_URL',
  'GATEWAY_EDGE_PROXIES',
  'GATEWAY_LOG_LEVEL',
  'GATEWAY_MAIL_FROM',
  'GATEWAY_MESSAGES_ENABLED',
  'GATEWAY_PUBLIC_URL',
  'GATEWAY_SIGN_UP_ENABLED',
  'GATEWAY_SMTP_URL',
  'GATEWAY_TEAMS_ENABLED',
  'GATEWAY_USAGE_STREAM_BYTES',
];
/** Time that an edge needs after its calls have ended, as in the chart's grace period. */
const AFTER_DRAIN_SECONDS = 35;
const OURS = [
  'migrate',
  'edge-proxy',
  'admission',
  'billing',
  'catalog',
  'accounts',
  'dashboard',
  'provider-simulator',
];

test('compose has every program of the project, each from the one recipe', () => {
  expect(ours.map(([name]) => name).sort()).toEqual([...OURS].sort());
  for (const [name, { build }] of ours) {
    expect([name, build?.dockerfile]).toEqual([name, 'deploy/docker/Dockerfile']);
    expect(existsSync(`${root}${build?.args.ROOM}/package.json`)).toBe(true);
  }
});

test.each(OURS.filter((name) => name !== 'provider-simulator'))(
  '%s gets exactly the variables of its schema',
  (name) => {
    const { environment = {} } = compose.services[name] as Service;
    expect(environmentProblems(name, Object.keys(environment))).toEqual([]);
  },
);

test.each(OURS.filter((name) => name !== 'provider-simulator'))(
  "%s receives the variables of compose, with the schema's values as defaults",
  (name) => {
    const own = Object.entries(compose.services[name]?.environment ?? {});
    const open = own.flatMap(([variable, value]) => {
      const asked = /^\$\{(\w+):-(.*)\}$/.exec(String(value));
      return asked === null ? [] : [{ variable, asked: asked[1], otherwise: asked[2] ?? '' }];
    });
    expect(open.filter(({ variable, asked }) => asked !== variable)).toEqual([]);
    expect(valueProblems(name, Object.fromEntries(open.map((one) => [one.variable, one.otherwise])))).toEqual([]);
    const told = open.map(({ variable }) => variable.replace(/_FILE$/, ''));
    const read = PROGRAM_FIELDS[name]?.map((field) => field.name) ?? [];
    expect(TOLD_BY_COMPOSE.filter((variable) => read.includes(variable) && !told.includes(variable))).toEqual([]);
  },
);

test('environmentProblems() finds missing, unknown and open secret variables', () => {
  const names = Object.keys(compose.services['billing']?.environment ?? {});
  const less = names.filter((name) => name !== 'GATEWAY_POSTGRES_URL_FILE');
  expect(environmentProblems('billing', less)).toEqual(['GATEWAY_POSTGRES_URL is not set for billing']);
  expect(environmentProblems('billing', [...names, 'GATEWAY_REDIS_URL'])).toHaveLength(1);
  expect(environmentProblems('billing', [...less, 'GATEWAY_POSTGRES_URL'])).toHaveLength(1);
});

test('each service mounts exactly the secrets that it reads', () => {
  const made = [...Object.keys(composeSecrets('a root')), ...OPERATOR_SECRETS];
  for (const [name, { environment = {}, secrets = [], command = [] }] of ours) {
    const read = Object.entries(environment).flatMap(([variable, value]) =>
      variable in OPTIONAL_SECRETS
        ? [OPTIONAL_SECRETS[variable]]
        : (/^\/run\/secrets\/(.+)$/.exec(String(value))?.[1] ?? []),
    );
    expect([name, [...read].sort()]).toEqual([name, [...secrets].sort()]);
    expect(JSON.stringify(command)).not.toContain('/run/secrets');
  }
  const mounted = new Set(services.flatMap(([, { secrets = [] }]) => secrets));
  expect([...mounted].sort()).toEqual(Object.keys(compose.secrets).sort());
  expect(Object.keys(compose.secrets).filter((name) => !made.includes(name))).toEqual([]);
  for (const [name, { file }] of Object.entries(compose.secrets)) expect(file).toBe(`./.compose/${name}`);
});

test('private addresses of sources and webhooks are refused by default', () => {
  const allowed = services.flatMap(([name, { environment = {} }]) =>
    Object.entries(environment).flatMap(([variable, value]) =>
      variable.startsWith('GATEWAY_ALLOW_PRIVATE_')
        ? [`${name} ${variable} ${/:-(.*)}$/.exec(String(value))?.[1]}`]
        : [],
    ),
  );
  expect(allowed.sort()).toEqual([
    'billing GATEWAY_ALLOW_PRIVATE_WEBHOOKS off',
    'catalog GATEWAY_ALLOW_PRIVATE_SOURCES off',
    'edge-proxy GATEWAY_ALLOW_PRIVATE_SOURCES off',
  ]);
});

test("the servers' own configuration reads the mounted secrets", () => {
  const read = (name: string) => readFileSync(`${root}deploy/docker/${name}`, 'utf8');
  const include = /^include "(.+)"$/m.exec(read('nats.conf'))?.[1] ?? '';
  // nats-server resolves it relative to the directory of the including file, even with a leading
  // slash.
  expect(posix.join('/etc/nats', include)).toBe('/run/secrets/nats-authorization.conf');
  expect(/^aclfile (.+)$/m.exec(read('redis.conf'))?.[1]).toBe('/run/secrets/redis-users.acl');
  expect(read('nats.conf')).toMatch(/^ {2}sync_interval: always$/m);
  expect(read('redis.conf')).toMatch(/^appendonly no$/m);
});

test('images of other projects are pinned to a version without a digest', () => {
  for (const [, { image }] of services) expect(image).toMatch(/^[\w./-]+:v?\d+(\.\d+)*(-alpine)?$/);
  for (const name of ['postgres', 'nats', 'redis']) {
    const kind = readFileSync(`${root}tools/servers/src/${name}-kind.ts`, 'utf8');
    expect(compose.services[name]?.image).toBe(/image: '([^']+)'/.exec(kind)?.[1]);
  }
});

test('dependencies are healthy or completed and have a health check', () => {
  for (const [name, { healthcheck, depends_on = {} }] of services) {
    expect([name, healthcheck === undefined]).toEqual([name, WITHOUT_HEALTH_CHECK.includes(name)]);
    for (const [other, { condition }] of Object.entries(depends_on)) {
      const wanted = other === 'migrate' ? 'service_completed_successfully' : 'service_healthy';
      expect([name, other, condition]).toEqual([name, other, wanted]);
    }
  }
});

test('containers are read-only without capabilities, and the edge may finish calls', () => {
  for (const [name, service] of ours) {
    expect([name, service.read_only, service.cap_drop]).toEqual([name, true, ['ALL']]);
  }
  expect(Number.parseInt(compose.services['edge-proxy']?.stop_grace_period ?? '0', 10)).toBeGreaterThan(660);
});

test('no variable sets a drain time above the stop grace period of the edge', () => {
  const { environment = {}, stop_grace_period: grace = '0s' } = compose.services['edge-proxy'] as Service;
  const byItself = PROGRAM_FIELDS['edge-proxy']?.find(({ name }) => name === 'GATEWAY_DRAIN_MS')?.default;
  const drainMs = Number(environment['GATEWAY_DRAIN_MS'] ?? byItself);
  expect(drainMs).toBeLessThan((Number.parseInt(grace, 10) - AFTER_DRAIN_SECONDS) * 1000);
});

test('only services that need a server reach it, and servers reach nothing outside', () => {
  const reaching = (server: string) => {
    const own = compose.services[server]?.networks ?? [];
    for (const network of own) expect([server, compose.networks[network]?.internal]).toEqual([server, true]);
    const others = services.filter(
      ([name, { networks = [] }]) => name !== server && networks.some((one) => own.includes(one)),
    );
    return [own.length, ...others.map(([name]) => name).sort()];
  };
  expect(reaching('postgres')).toEqual([1, 'accounts', 'billing', 'catalog', 'migrate']);
  expect(reaching('redis')).toEqual([1, 'admission']);
  expect(reaching('nats')).toEqual([1, 'accounts', 'admission', 'billing', 'catalog', 'dashboard', 'edge-proxy']);
  for (const name of ['postgres', 'redis', 'nats']) {
    expect(compose.services[name]).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  }
  // A service without a network would join compose's default network.
  expect(services.filter(([, { networks = [] }]) => networks.length === 0)).toEqual([]);
  const told = Object.entries(compose.services['edge-proxy']?.depends_on ?? {}).map(([name]) => name);
  expect(told).not.toContain('provider-simulator');
  expect(readFileSync(`${root}deploy/docker/nats.conf`, 'utf8')).toMatch(/^http: "127\.0\.0\.1:8222"$/m);
});

test('ports are published on loopback by default, and mounted files exist', () => {
  for (const [name, { ports = [], volumes = [] }] of services) {
    for (const port of ports) {
      const start = name === 'edge-proxy' ? '${GATEWAY_LISTEN:-127.0.0.1}:' : '127.0.0.1:';
      expect(port.startsWith(start)).toBe(true);
    }
    for (const volume of volumes) {
      const [source = ''] = volume.split(':');
      expect([volume, source.startsWith('./') ? existsSync(`${root}${source}`) : source in compose.volumes]).toEqual([
        volume,
        true,
      ]);
    }
  }
});

const tool = ['docker-compose', 'docker'].find((name) => isComposeTool(name));
(tool === undefined ? test.skip : test)(
  'docker compose accepts the file (needs docker compose or docker-compose)',
  () => {
    const run = spawnSync(tool ?? '', [...(tool === 'docker' ? ['compose'] : []), 'config', '-q'], {
      cwd: root,
      encoding: 'utf8',
    });
    expect([run.status, run.stderr]).toEqual([0, expect.not.stringContaining('rror')]);
  },
);

function isComposeTool(name: string): boolean {
  const args = name === 'docker' ? ['compose', 'version'] : ['version'];
  return spawnSync(name, args, { stdio: 'ignore' }).status === 0;
}
