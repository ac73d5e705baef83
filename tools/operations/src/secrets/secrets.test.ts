import { createHash, randomBytes } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import { COMMON_FIELDS, openSealed, readConfig, sealTo } from '@gateway/service-kit';
import { PROGRAM_FIELDS, valueProblems } from '../../test/service-fields.js';
import { MIGRATE_FIELDS, rolesOf } from '../migrate-config.js';
import { makeSealingKeys, makeSecrets, type Secrets } from './make-secrets-rules.js';
import { rotateSecret } from './rotate-rules.js';
import { CONSUMERS, SECRET_ROWS, SECRETS_TABLE, type Consumer } from './table.js';

const { GATEWAY_SOURCE_PUBLIC_KEY, GATEWAY_SOURCE_PRIVATE_KEY } = COMMON_FIELDS;
const { GATEWAY_WEBHOOK_PUBLIC_KEY, GATEWAY_WEBHOOK_PRIVATE_KEY } = COMMON_FIELDS;
const KEY_FIELDS = {
  GATEWAY_SOURCE_PUBLIC_KEY,
  GATEWAY_SOURCE_PRIVATE_KEY,
  GATEWAY_WEBHOOK_PUBLIC_KEY,
  GATEWAY_WEBHOOK_PRIVATE_KEY,
};
const URLS = { postgres: 'postgres://db:5432/gateway', nats: 'tls://a:4222,b:4222', redis: 'redis://r:6379' };
const OPTIONS = { urls: URLS, random: randomBytes };
/** Options that a deployment may set, and that the table can make. */
const OPTIONAL = ['GATEWAY_SMTP_URL', 'GATEWAY_FINANCE_PASSWORD'];
/** Folders of servers and people, not of one program. */
const WITHOUT_SCHEMA = ['postgres', 'nats', 'redis', 'operator', 'demo', 'grafana'];

const directories: string[] = [];
afterEach(() => {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
});

test("the printed keys are two pairs that cannot open each other's texts", () => {
  const keys = makeSealingKeys();
  expect(Object.keys(keys).sort()).toEqual(Object.keys(KEY_FIELDS).sort());
  expectPairs(keys);
  expect(makeSealingKeys()).not.toEqual(keys);
});

test('the table makes exactly the required secrets of each program', () => {
  expect(CONSUMERS.filter((name) => !WITHOUT_SCHEMA.includes(name)).sort()).toEqual(Object.keys(PROGRAM_FIELDS).sort());
  for (const [program, fields] of Object.entries(PROGRAM_FIELDS)) {
    const secrets = fields.filter(({ secret, required, name }) => secret && (required || OPTIONAL.includes(name)));
    const made = Object.keys(SECRETS_TABLE[program as keyof typeof SECRETS_TABLE]);
    expect([program, made.sort()]).toEqual([program, secrets.map(({ name }) => name).sort()]);
  }
});

test('every program accepts its values, and consumers of one value have the same', () => {
  const { secrets, created } = makeSecrets({}, { ...OPTIONS, smtp: 'smtp://mail:25' });
  for (const program of Object.keys(PROGRAM_FIELDS)) {
    expect([program, valueProblems(program, of(secrets, program))]).toEqual([program, []]);
  }
  expectPairs({ ...of(secrets, 'dashboard'), ...of(secrets, 'edge-proxy'), ...of(secrets, 'billing') });
  const migration = of(secrets, 'migrate');
  for (const service of ['billing', 'accounts', 'catalog'] as const) {
    expect(of(secrets, service)['GATEWAY_POSTGRES_URL']).toBe(
      migration[`GATEWAY_${service.toUpperCase()}_POSTGRES_URL`],
    );
  }
  expect(of(secrets, 'operator')).toMatchObject({
    ...migration,
    GATEWAY_NATS_URL: of(secrets, 'billing')['GATEWAY_NATS_URL'],
  });
  expect(of(secrets, 'edge-proxy')['GATEWAY_KEY_PEPPER']).toBe(of(secrets, 'dashboard')['GATEWAY_KEY_PEPPER']);
  const config = readConfig(MIGRATE_FIELDS, migration);
  expect(rolesOf(config, 'x').roles.accounts.name).toBe('gateway_accounts');
  const texts = Object.values(secrets).flatMap((values) => Object.values(values));
  expect(new Set(texts).size).toBe(25);
  expect(created).toHaveLength(texts.length);
});

test('the servers get the passwords of the services, Redis as hashes', () => {
  const { secrets } = makeSecrets({}, OPTIONS);
  const url = of(secrets, 'edge-proxy')['GATEWAY_NATS_URL'] ?? '';
  const password = /^tls:\/\/edge-proxy:(\w{48})@a:4222,b:4222$/.exec(url)?.[1];
  expect(of(secrets, 'nats')['nats-authorization.conf']).toContain(`password: "${password}"`);
  const acl = of(secrets, 'redis')['redis-users.acl'] ?? '';
  expect(acl).toContain(
    `user admission on ${hash(new URL(of(secrets, 'admission')['GATEWAY_REDIS_URL'] ?? '').password)} `,
  );
  expect(acl).toContain(`user default on ${hash(of(secrets, 'redis')['REDIS_PASSWORD'] ?? '')} `);
});

test("a given PostgreSQL user migrates, and the services' URLs keep its address", () => {
  const urls = { ...URLS, postgres: 'postgres://owner:o%2Fo@a:5432,b:5432/books?sslmode=verify-full' };
  const { secrets } = makeSecrets({}, { ...OPTIONS, urls });
  expect(of(secrets, 'migrate')['GATEWAY_MIGRATION_URL']).toBe(urls.postgres);
  expect(of(secrets, 'catalog')['GATEWAY_POSTGRES_URL']).toMatch(
    /^postgres:\/\/gateway_catalog:\w{48}@a:5432,b:5432\/books\?sslmode=verify-full$/,
  );
});

test.each(CONSUMERS)('a second run changes nothing, and restores what %s has lost from others', (consumer) => {
  const { secrets } = makeSecrets({}, OPTIONS);
  expect(makeSecrets(secrets, OPTIONS)).toEqual({ secrets, created: [], rewritten: [], differing: [] });
  const again = makeSecrets({ ...secrets, [consumer]: {} }, OPTIONS);
  const own: readonly string[] = OWN_VALUES[consumer] ?? [];
  for (const [name, text] of Object.entries(of(secrets, consumer))) {
    expect([name, again.secrets[consumer]?.[name] === text]).toEqual([name, !own.includes(name)]);
  }
  expect(again.created).toEqual(Object.keys(of(secrets, consumer)).map((name) => `${consumer}/${name}`));
  const others = CONSUMERS.filter((name) => name !== consumer && !['nats', 'redis'].includes(name));
  const renewed = RENEWED_WITH[consumer] ?? [];
  for (const other of others) {
    for (const [name, text] of Object.entries(of(secrets, other)))
      expect([name, of(again.secrets, other)[name] === text]).toEqual([name, !renewed.includes(`${other}/${name}`)]);
  }
  expect(again.rewritten).toEqual(expect.arrayContaining([...renewed]));
  expect(again.differing).toEqual([]);
  expectPairs({
    ...of(again.secrets, 'dashboard'),
    ...of(again.secrets, 'edge-proxy'),
    ...of(again.secrets, 'billing'),
  });
});

test('the command creates the files once, for their owners, and keeps them', () => {
  const { directory, run, read } = startCommand();
  mkdirSync(`${directory}/billing`, { recursive: true, mode: 0o755 });
  const owner = process.getuid?.() === 0 ? ['--owner', '65532', '--owner', 'redis=999'] : [];
  const first = run(...owner, '--smtp', 'smtp://mail:25');
  expect([first.status, first.stdout, first.stderr]).toEqual([
    0,
    '',
    expect.stringContaining(`${SECRET_ROWS.length} secret values created, 0 kept in `),
  ]);
  const token = read('operator/GATEWAY_OPERATOR_TOKEN');
  for (const [path, mode, uid] of [
    ['billing', 0o700, 65_532],
    ['billing/GATEWAY_NATS_URL', 0o400, 65_532],
    ['redis/redis-users.acl', 0o400, 999],
  ] as const) {
    const found = statSync(`${directory}/${path}`);
    expect([path, found.mode & 0o777, found.uid]).toEqual([path, mode, owner.length > 0 ? uid : process.getuid?.()]);
  }
  const second = run(...owner);
  expect(second.stderr).toMatch(/^0 secret values created, (\d+) kept in .*\nthe operator's token is in .*\n$/);
  expect(second.stderr).toContain(` ${SECRET_ROWS.length} kept in `);
  expect(read('operator/GATEWAY_OPERATOR_TOKEN')).toBe(token);
  expect(read('accounts/GATEWAY_SMTP_URL')).toBe('smtp://mail:25');
  for (const text of [token, read('redis/REDIS_PASSWORD')]) expect(first.stderr + second.stderr).not.toContain(text);
});

test('a secret changed by hand is kept and named, and the servers get its password', () => {
  const { directory, run, read, write } = startCommand();
  run();
  const webhook = makeSealingKeys();
  const changed = {
    'dashboard/GATEWAY_OPERATOR_TOKEN': 'b0b1b2b3b4b5b6b7b8b9babbbcbdbebf\n',
    'billing/GATEWAY_NATS_URL': 'nats://billing:p%2Bw@nats:4222\n',
    'admission/GATEWAY_REDIS_URL': 'redis://admission:p@w@redis:6379',
    'redis/REDIS_PASSWORD': 'default-p+w\n',
    'billing/GATEWAY_WEBHOOK_PRIVATE_KEY': webhook['GATEWAY_WEBHOOK_PRIVATE_KEY'] ?? '',
  };
  const session = read('dashboard/GATEWAY_SESSION_SECRET');
  for (const [name, text] of Object.entries(changed)) write(name, text);
  write('dashboard/GATEWAY_WEBHOOK_PUBLIC_KEY', '');
  for (const folder of ['operator', 'demo']) rmSync(`${directory}/${folder}`, { recursive: true });
  const { stderr } = run();
  expect(stderr).toMatch(/^9 secret values created/);
  // The other values agree with the table: `p%2Bw` is `p+w` as a URL has it.
  const named = /^kept, although .*: (.*)$/m.exec(stderr)?.[1]?.split(', ') ?? [];
  expect(named.sort()).toEqual(['admission/GATEWAY_REDIS_URL']);
  expect(stderr).toContain('rewritten: nats/nats-authorization.conf, redis/redis-users.acl\n');
  for (const [name, text] of Object.entries(changed)) {
    expect([name, read(name), stderr.includes(text.trim())]).toEqual([name, text, false]);
  }
  const publicKey = Buffer.from(webhook['GATEWAY_WEBHOOK_PUBLIC_KEY'] ?? '', 'base64').toString('hex');
  expect([read('dashboard/GATEWAY_SESSION_SECRET'), read('dashboard/GATEWAY_WEBHOOK_PUBLIC_KEY')]).toEqual([
    session,
    publicKey,
  ]);
  expect(read('operator/GATEWAY_OPERATOR_TOKEN')).toBe(changed['dashboard/GATEWAY_OPERATOR_TOKEN'].trim());
  expect(read('nats/nats-authorization.conf')).toContain('password: "p+w"');
  expect(read('redis/redis-users.acl')).toContain(`user default on ${hash('default-p+w')} `);
  expect(read('redis/redis-users.acl')).toContain(`user admission on ${hash('p@w')} `);
  expect(run().stderr).not.toContain('rewritten');
});

test('a service with a credentials file keeps it, and NATS its users', () => {
  const { secrets } = makeSecrets({}, OPTIONS);
  const url = 'tls://a:4222,b:4222?credentials=/run/nats/billing.creds';
  const kept = { ...secrets, billing: { ...secrets.billing, GATEWAY_NATS_URL: url }, operator: {} };
  const again = makeSecrets(kept, OPTIONS);
  expect([of(again.secrets, 'billing'), of(again.secrets, 'nats')]).toEqual([kept.billing, secrets.nats]);
  expect(of(again.secrets, 'operator')['GATEWAY_NATS_URL']).toBe(url);
  expect([again.rewritten, again.differing]).toEqual([[], ['billing/GATEWAY_NATS_URL']]);
});

test('two kept values that should be equal are named', () => {
  const { run, write } = startCommand();
  run();
  write('dashboard/GATEWAY_KEY_PEPPER', 'p'.repeat(64));
  expect(run().stderr).toContain(
    'kept, although they differ from others or the options: dashboard/GATEWAY_KEY_PEPPER\n',
  );
});

test.each(['redis://admission:50%off@redis:6379', 'redis://redis:6379', 'something'])(
  'a file that is not a URL with a password, %s, is named and nothing is written',
  (text) => {
    const { run, read, write } = startCommand();
    run();
    const before = read('redis/redis-users.acl');
    write('admission/GATEWAY_REDIS_URL', text);
    const { stderr, status } = run();
    expect([status, stderr]).toEqual([
      2,
      expect.stringContaining('admission/GATEWAY_REDIS_URL is not a URL with a password'),
    ]);
    expect(stderr).not.toContain('50%');
    expect(read('redis/redis-users.acl')).toBe(before);
  },
);

test.each([
  ['GATEWAY_KEY_PEPPER', ['edge-proxy', 'dashboard'], []],
  ['GATEWAY_SOURCE_PRIVATE_KEY', ['edge-proxy'], ['dashboard/GATEWAY_SOURCE_PUBLIC_KEY']],
  ['GATEWAY_WEBHOOK_PRIVATE_KEY', ['billing'], ['dashboard/GATEWAY_WEBHOOK_PUBLIC_KEY']],
  ['GATEWAY_SESSION_SECRET', ['dashboard'], []],
  ['GATEWAY_OPERATOR_TOKEN', ['dashboard'], ['operator/GATEWAY_OPERATOR_TOKEN', 'demo/GATEWAY_OPERATOR_TOKEN']],
] as const)('a rotated %s is new for all, and %j also accept the old one', (name, readers, followers) => {
  const { secrets } = makeSecrets({}, OPTIONS);
  const { kept, moved } = rotateSecret(secrets, name);
  const rotated = makeSecrets(kept, OPTIONS);
  expect([...moved].sort()).toEqual(readers.map((consumer) => `${consumer}/${name}_PREVIOUS`).sort());
  expect([...rotated.created].sort()).toEqual(
    [...readers.map((consumer) => `${consumer}/${name}`), ...followers].sort(),
  );
  for (const consumer of readers) {
    const [before, after] = [of(secrets, consumer), of(rotated.secrets, consumer)];
    expect([after[`${name}_PREVIOUS`], after[name] === before[name]]).toEqual([before[name], false]);
    expect(after[name]).toBe(of(rotated.secrets, readers[0])[name]);
  }
  expectPairs({
    ...of(rotated.secrets, 'dashboard'),
    ...of(rotated.secrets, 'edge-proxy'),
    ...of(rotated.secrets, 'billing'),
  });
  // Everything else stays, and the next run keeps all.
  expect([rotated.differing, makeSecrets(rotated.secrets, OPTIONS).secrets]).toEqual([[], rotated.secrets]);
});

test('only a secret with a previous value, which exists, can be rotated', () => {
  expect(() => rotateSecret({}, 'GATEWAY_KEY_PEPPER')).toThrow('there is no value to rotate');
  expect(() => rotateSecret(makeSecrets({}, OPTIONS).secrets, 'GATEWAY_NATS_URL')).toThrow('can be rotated');
});

test('wrong arguments are refused before anything is written', () => {
  const { directory, run } = startCommand();
  for (const args of [['--owner', 'nobody'], ['--owner', 'cook=1'], ['--mode', '1'], ['second']]) {
    const { status, stderr } = run(...args);
    expect([args, status, stderr]).toEqual([args, 2, expect.stringMatching(/--owner|usage: secrets keys/)]);
  }
  expect(existsSync(directory)).toBe(false);
});

(existsSync('/sys') ? test : test.skip)('a directory that cannot be written is named with a remedy', () => {
  const program = fileURLToPath(new URL('../../dist/secrets-main.js', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [program, 'compose', '/sys/secrets'], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([
    2,
    expect.stringMatching(/^\/sys\/secrets cannot be written \(\w+\): .*a directory of a volume\n$/),
  ]);
});

test('permissions for your own servers are printed without a password', () => {
  const program = fileURLToPath(new URL('../../dist/permissions-main.js', import.meta.url));
  const print = (server: string) => spawnSync(process.execPath, [program, server], { encoding: 'utf8' });
  expect(print('nats').stdout.match(/password: .*/g)).toEqual(
    ['EDGE_PROXY', 'ADMISSION', 'BILLING', 'CATALOG', 'ACCOUNTS', 'DASHBOARD'].map(
      (name) => `password: $GATEWAY_BUS_PASSWORD_${name}`,
    ),
  );
  expect(print('redis').stdout).toContain('user admission on #<sha256 of the password of admission> ');
  expect(print('').status).toBe(1);
});

/** Values that no other consumer has, so that they are new after a loss. */
const OWN_VALUES: Readonly<Partial<Record<Consumer, readonly string[]>>> = {
  redis: ['REDIS_PASSWORD', 'redis-users.acl'],
  billing: ['GATEWAY_WEBHOOK_PRIVATE_KEY'],
  accounts: ['GATEWAY_NATS_URL'],
  catalog: ['GATEWAY_NATS_URL'],
  admission: ['GATEWAY_NATS_URL', 'GATEWAY_REDIS_URL'],
  'edge-proxy': ['GATEWAY_NATS_URL', 'GATEWAY_SOURCE_PRIVATE_KEY'],
  dashboard: ['GATEWAY_NATS_URL', 'GATEWAY_SESSION_SECRET'],
  grafana: ['GF_SECURITY_ADMIN_PASSWORD'],
};

/** Public keys of private keys that only this consumer has: a lost pair is renewed as a whole. */
const RENEWED_WITH: Readonly<Partial<Record<Consumer, readonly string[]>>> = {
  billing: ['dashboard/GATEWAY_WEBHOOK_PUBLIC_KEY'],
  'edge-proxy': ['dashboard/GATEWAY_SOURCE_PUBLIC_KEY'],
};

function of(secrets: Secrets, consumer: string): Readonly<Record<string, string>> {
  return secrets[consumer as Consumer] ?? {};
}

function hash(password: string): string {
  return `#${createHash('sha256').update(password).digest('hex')}`;
}

function expectPairs(keys: Readonly<Record<string, string>>): void {
  const config = readConfig(KEY_FIELDS, keys);
  const source = { privateKey: config.GATEWAY_SOURCE_PRIVATE_KEY };
  const webhook = { privateKey: config.GATEWAY_WEBHOOK_PRIVATE_KEY };
  const sealed = sealTo('sk-1', 'src', config.GATEWAY_SOURCE_PUBLIC_KEY);
  expect(openSealed(sealed, 'src', source)).toBe('sk-1');
  expect(() => openSealed(sealed, 'src', webhook)).toThrow();
  expect(openSealed(sealTo('s', 'w', config.GATEWAY_WEBHOOK_PUBLIC_KEY), 'w', webhook)).toBe('s');
}

/** Runs the command in its own directory. */
function startCommand() {
  const home = mkdtempSync(join(tmpdir(), 'gateway-secrets-'));
  directories.push(home);
  const directory = join(home, 'compose');
  const program = fileURLToPath(new URL('../../dist/secrets-main.js', import.meta.url));
  return {
    directory,
    run: (...args: string[]) =>
      spawnSync(process.execPath, [program, 'compose', directory, ...args], { encoding: 'utf8' }),
    read: (name: string) => readFileSync(`${directory}/${name}`, 'utf8'),
    write: (name: string, text: string) => {
      rmSync(`${directory}/${name}`, { force: true });
      writeFileSync(`${directory}/${name}`, text);
    },
  };
}
