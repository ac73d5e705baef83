import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { SECRETS_TABLE } from '../../../tools/operations/src/secrets/table.js';
import { environmentProblems, PROGRAM_FIELDS, valueProblems } from '../../../tools/operations/test/service-fields.js';

interface Service {
  readonly image?: string;
  readonly extends?: { readonly file: string; readonly service: string };
  readonly build?: { readonly dockerfile: string; readonly target: string };
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
  readonly command?: readonly string[] | string;
  readonly healthcheck?: { readonly test: readonly string[]; readonly retries: number };
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly profiles?: readonly string[];
  readonly networks?: readonly string[];
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly mem_limit?: string;
  readonly stop_grace_period?: string;
}

const root = fileURLToPath(new URL('../../../', import.meta.url));
const read = (name: string): string => readFileSync(`${root}${name}`, 'utf8');
const text = read('docker-compose.yml');
const compose = parse(text, { merge: true, maxAliasCount: -1 }) as {
  services: Readonly<Record<string, Service>>;
  volumes: Readonly<Record<string, unknown>>;
  networks: Readonly<Record<string, { readonly internal?: boolean } | null>>;
};
const settings = new Map(
  read('.env')
    .split('\n')
    .filter((line) => /^\w/.test(line))
    .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
);
const { version } = JSON.parse(read('package.json')) as { version: string };
const IMAGES = 'deploy/helm/model-gateway/files/images.yaml';
const services = Object.entries(compose.services);
const ours = services.filter(([, { build }]) => build !== undefined);
/** Programs that run to their end, and an image without a program for a health check. */
const WITHOUT_HEALTH_CHECK = ['init', 'migrate', 'operate', 'backup', 'audit', 'first-request', 'collector', 'caddy'];
const ENDING = ['init', 'migrate'];
/** The services that read a schema, and their program in the image of the same name. */
const PROGRAMS = ['migrate', 'edge-proxy', 'admission', 'billing', 'catalog', 'accounts', 'dashboard'];
/** Consumers of secrets that several services have. Every other service is its own consumer. */
const CONSUMERS: Readonly<Record<string, string>> = {
  operate: 'operator',
  backup: 'operator',
  audit: 'operator',
  'first-request': 'demo',
};
/** Differences of .env to the defaults of the file, which are those of a server. */
const OF_EVALUATION = { GATEWAY_ALLOW_PRIVATE_SOURCES: 'on', GATEWAY_DASHBOARD_OPERATORS: 'on' };
/** Other users than that of the image. */
const USERS: Readonly<Record<string, string>> = {
  init: '0:0',
  postgres: '999:999',
  nats: '65532:65532',
  redis: '65532:65532',
  caddy: '65532:65532',
  grafana: '472:472',
};
/** `init` gives files to their readers; the program of Caddy's image has a file capability. */
const ADDED: Readonly<Record<string, readonly string[]>> = {
  init: ['CHOWN', 'DAC_OVERRIDE'],
  caddy: ['NET_BIND_SERVICE'],
};
/** Time that an edge needs after its calls have ended, as in the chart's grace period. */
const AFTER_DRAIN_SECONDS = 35;

test('compose has every program of the project, built from the one recipe', () => {
  for (const [name, { build, image }] of ours) {
    expect([name, build?.dockerfile]).toEqual([name, 'deploy/docker/Dockerfile']);
    expect([name, image]).toEqual([name, `gateway/${build?.target}:\${IMAGE_VERSION:-${version}}`]);
    expect(read('deploy/docker/Dockerfile')).toMatch(new RegExp(`^FROM \\S+ AS ${build?.target}$`, 'm'));
  }
  expect(PROGRAMS.filter((name) => !ours.some(([own]) => own === name))).toEqual([]);
});

test.each(PROGRAMS)('%s gets exactly the variables of its schema', (name) => {
  const { environment = {} } = compose.services[name] as Service;
  expect(environmentProblems(name, Object.keys(environment))).toEqual([]);
});

test.each(PROGRAMS)("%s receives the settings, with the schema's values as defaults", (name) => {
  const open = Object.entries(compose.services[name]?.environment ?? {}).flatMap(([variable, value]) => {
    const asked = /^\$\{(\w+):-(.*)\}$/.exec(String(value));
    return asked === null ? [] : [{ variable, asked: asked[1], otherwise: asked[2] ?? '' }];
  });
  expect(open.filter(({ variable, asked }) => asked !== variable)).toEqual([]);
  expect(valueProblems(name, Object.fromEntries(open.map((one) => [one.variable, one.otherwise])))).toEqual([]);
  const set = open.map(({ variable }) => variable);
  const fields = PROGRAM_FIELDS[name]?.map((field) => field.name) ?? [];
  expect([...settings.keys()].filter((variable) => fields.includes(variable) && !set.includes(variable))).toEqual([]);
});

test(".env has each setting once, with the file's default or the evaluation's value", () => {
  const defaults = [...text.matchAll(/\$\{(\w+):-([^}]*)\}/g)].map(
    ([, name = '', value = '']) => [name, value] as const,
  );
  const wanted = { ...Object.fromEntries(defaults), ...OF_EVALUATION, COMPOSE_PROFILES: 'evaluation' };
  expect(Object.fromEntries(settings)).toEqual(wanted);
  for (const [name, value] of defaults) expect([name, value]).toEqual([name, Object.fromEntries(defaults)[name]]);
  expect(read('.env').match(/^\w+=/gm)).toHaveLength(settings.size);
});

test('environmentProblems() finds missing, unknown and open secret variables', () => {
  const names = Object.keys(compose.services['billing']?.environment ?? {});
  const less = names.filter((name) => name !== 'GATEWAY_POSTGRES_URL_FILE');
  expect(environmentProblems('billing', less)).toEqual(['GATEWAY_POSTGRES_URL is not set for billing']);
  expect(environmentProblems('billing', [...names, 'GATEWAY_REDIS_URL'])).toHaveLength(1);
  expect(environmentProblems('billing', [...less, 'GATEWAY_POSTGRES_URL'])).toHaveLength(1);
});

test("a container mounts one consumer's secrets, read-only, and names existing files", () => {
  const mounted = services.flatMap(([name, service]) => {
    const secrets = (service.volumes ?? []).filter((volume) => volume.startsWith('secrets-'));
    if (name === 'init') {
      expect(secrets).toEqual(Object.keys(SECRETS_TABLE).map((consumer) => `secrets-${consumer}:/secrets/${consumer}`));
      return [];
    }
    const consumer = CONSUMERS[name] ?? name;
    const files = [...JSON.stringify(service).matchAll(/\/run\/secrets\/(\w+)/g)].map(([, file = '']) => file);
    expect([name, secrets]).toEqual([name, consumer in SECRETS_TABLE ? [`secrets-${consumer}:/run/secrets:ro`] : []]);
    const known = Object.keys(SECRETS_TABLE[consumer as keyof typeof SECRETS_TABLE] ?? {});
    expect([name, files.filter((file) => !known.includes(file))]).toEqual([name, []]);
    for (const [variable, value] of Object.entries(service.environment ?? {})) {
      if (!String(value).startsWith('/run/secrets/')) continue;
      expect([name, variable]).toEqual([name, expect.stringMatching(/_FILE$/)]);
    }
    return secrets.map(() => consumer);
  });
  expect([...new Set(mounted)].sort()).toEqual(Object.keys(SECRETS_TABLE).sort());
});

test('private addresses of sources and webhooks are refused without .env', () => {
  const allowed = text.match(/GATEWAY_ALLOW_PRIVATE_\w+: .*/g) ?? [];
  const off = (what: string) => `GATEWAY_ALLOW_PRIVATE_${what}: \${GATEWAY_ALLOW_PRIVATE_${what}:-off}`;
  expect([...new Set(allowed)].sort()).toEqual([off('SOURCES'), off('WEBHOOKS')]);
});

test("the servers' own configuration reads the mounted secrets", () => {
  const include = /^include "(.+)"$/m.exec(read('deploy/docker/nats.conf'))?.[1] ?? '';
  // nats-server resolves it relative to the directory of the including file, even with a leading
  // slash.
  expect(posix.join('/etc/nats', include)).toBe('/run/secrets/nats-authorization.conf');
  expect(/^aclfile (.+)$/m.exec(read('deploy/docker/redis.conf'))?.[1]).toBe('/run/secrets/redis-users.acl');
  expect(read('deploy/docker/nats.conf')).toMatch(/^ {2}sync_interval: always$/m);
  expect(read('deploy/docker/redis.conf')).toMatch(/^appendonly no$/m);
});

test('images of other projects come from the one list of versions', () => {
  const { services: listed } = parse(read(IMAGES)) as { services: Record<string, { image?: string }> };
  for (const [name, service] of services) {
    const isOurs = service.build !== undefined;
    expect([name, service.extends]).toEqual([name, { file: IMAGES, service: isOurs ? 'program' : name }]);
    if (!isOurs) expect([name, listed[name]?.image]).toEqual([name, expect.stringMatching(/^[\w./-]+:v?\d+\.[\w.-]+/)]);
  }
  // `npm start` uses the same versions of servers if it starts them in containers.
  for (const name of ['postgres', 'nats', 'redis']) {
    const own = /image: '([^']+)'/.exec(read(`tools/servers/src/${name}-kind.ts`))?.[1];
    expect([name, `docker.io/library/${own}`]).toEqual([name, listed[name]?.image]);
  }
});

test('dependencies are in an active profile, have a health check, or are completed', () => {
  for (const [name, { healthcheck, depends_on = {}, profiles }] of services) {
    expect([name, healthcheck === undefined]).toEqual([name, WITHOUT_HEALTH_CHECK.includes(name)]);
    for (const [other, { condition }] of Object.entries(depends_on)) {
      const wanted = ENDING.includes(other) ? 'service_completed_successfully' : 'service_healthy';
      expect([name, other, condition]).toEqual([name, other, wanted]);
      const needed = compose.services[other]?.profiles ?? [];
      expect([name, needed.every((profile) => profiles?.includes(profile))]).toEqual([name, true]);
    }
  }
});

test('containers are unprivileged, read-only and limited; the edge may finish calls', () => {
  for (const [name, service] of services) {
    const { read_only, cap_drop, mem_limit, stop_grace_period } = service;
    expect([name, read_only, cap_drop]).toEqual([name, true, ['ALL']]);
    expect([name, mem_limit, stop_grace_period]).toEqual([name, expect.any(String), expect.any(String)]);
    expect([name, service.cap_add ?? [], service.user]).toEqual([name, ADDED[name] ?? [], USERS[name]]);
  }
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
  expect(reaching('postgres')).toEqual([1, 'accounts', 'audit', 'backup', 'billing', 'catalog', 'migrate', 'operate']);
  expect(reaching('redis')).toEqual([1, 'admission']);
  expect(reaching('nats')).toEqual([
    1,
    ...['accounts', 'admission', 'billing', 'catalog', 'dashboard', 'edge-proxy', 'operate'],
  ]);
  // A service without a network would join compose's default network.
  expect(services.filter(([, { networks = [] }]) => networks.length === 0).map(([name]) => name)).toEqual(['init']);
  expect(read('deploy/docker/nats.conf')).toMatch(/^http: "127\.0\.0\.1:8222"$/m);
});

test('only the ports of TLS are published beyond loopback, and mounted files exist', () => {
  for (const [name, { ports = [], volumes = [] }] of services) {
    for (const port of ports) expect([port, name === 'caddy']).toEqual([port, !port.includes(':-127.0.0.1:')]);
    for (const volume of volumes) {
      const [source = ''] = volume.split(':');
      const isThere = source.startsWith('./') ? existsSync(`${root}${source}`) : source in compose.volumes;
      expect([volume, isThere]).toEqual([volume, true]);
    }
  }
});

test.each([
  ['docker-compose', []],
  ['docker', ['compose']],
])('%s %j accepts the file with all profiles, if it is installed', (tool, first) => {
  if (spawnSync(tool, [...first, 'version'], { stdio: 'ignore' }).status !== 0) return;
  const env = { ...process.env, COMPOSE_PROFILES: 'evaluation,observe,tls,backup,operate' };
  const run = spawnSync(tool, [...first, 'config', '-q'], { cwd: root, encoding: 'utf8', env });
  expect([run.status, run.stderr]).toEqual([0, expect.not.stringContaining('rror')]);
});
