import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { COMMON_FIELDS, openSealed, readConfig, sealTo } from '@gateway/service-kit';
import { composeSecrets, makeRoot, makeSealingKeys } from './compose-secrets.js';
import { MIGRATE_FIELDS, rolesOf } from './migrate-config.js';

const { GATEWAY_SOURCE_PUBLIC_KEY, GATEWAY_SOURCE_PRIVATE_KEY } = COMMON_FIELDS;
const { GATEWAY_WEBHOOK_PUBLIC_KEY, GATEWAY_WEBHOOK_PRIVATE_KEY } = COMMON_FIELDS;
const KEY_FIELDS = {
  GATEWAY_SOURCE_PUBLIC_KEY,
  GATEWAY_SOURCE_PRIVATE_KEY,
  GATEWAY_WEBHOOK_PUBLIC_KEY,
  GATEWAY_WEBHOOK_PRIVATE_KEY,
};

test("the printed keys are two pairs that cannot open each other's texts", () => {
  const keys = makeSealingKeys();
  expect(Object.keys(keys).sort()).toEqual(Object.keys(KEY_FIELDS).sort());
  const config = readConfig(KEY_FIELDS, keys);
  const source = { privateKey: config.GATEWAY_SOURCE_PRIVATE_KEY };
  const webhook = { privateKey: config.GATEWAY_WEBHOOK_PRIVATE_KEY };
  const sealed = sealTo('sk-1', 'src', config.GATEWAY_SOURCE_PUBLIC_KEY);
  expect(openSealed(sealed, 'src', source)).toBe('sk-1');
  expect(() => openSealed(sealed, 'src', webhook)).toThrow();
  expect(openSealed(sealTo('s', 'w', config.GATEWAY_WEBHOOK_PUBLIC_KEY), 'w', webhook)).toBe('s');
  expect(makeSealingKeys()).not.toEqual(keys);
});

test('the same root gives the same secrets, another root gives other ones', () => {
  const one = composeSecrets('one');
  expect(composeSecrets('one')).toEqual(one);
  const other = composeSecrets(makeRoot());
  for (const [name, text] of Object.entries(one)) expect([name, other[name] === text]).toEqual([name, false]);
  const secrets = [
    'key-pepper',
    'source-private-key',
    'webhook-private-key',
    'session-secret',
    'operator-token',
    'postgres-password',
    'redis-password',
  ];
  expect(new Set(secrets.map((name) => one[name])).size).toBe(secrets.length);
});

test('the servers get the passwords of the services, Redis as hashes', () => {
  const secrets = composeSecrets('one');
  const password = (name: string) => new URL(secrets[name] ?? '').password;
  expect(secrets['nats-authorization.conf']).toContain(`password: "${password('edge-proxy-nats-url')}"`);
  expect(secrets['redis-users.acl']).not.toContain(password('redis-url'));
  const config = readConfig(MIGRATE_FIELDS, {
    GATEWAY_MIGRATION_URL: secrets['migration-url'],
    GATEWAY_BILLING_POSTGRES_URL: secrets['billing-postgres-url'],
    GATEWAY_ACCOUNTS_POSTGRES_URL: secrets['accounts-postgres-url'],
    GATEWAY_CATALOG_POSTGRES_URL: secrets['catalog-postgres-url'],
  });
  expect(rolesOf(config, 'x').roles.accounts).toEqual({
    name: 'gateway_accounts',
    password: password('accounts-postgres-url'),
  });
});

test('the command creates the files once, privately, and keeps them', () => {
  const { directory, run } = startCommand();
  try {
    expect(run().stdout).toMatch(/^[1-9]\d* secret files created, 0 kept in /);
    const token = readFileSync(`${directory}/operator-token`, 'utf8');
    expect([statSync(directory).mode & 0o777, statSync(`${directory}/root`).mode & 0o777]).toEqual([0o700, 0o600]);
    expect(readFileSync(`${directory}/smtp-url`, 'utf8')).toBe('');
    writeFileSync(`${directory}/smtp-url`, 'smtps://mail.example.com');
    expect(run().stdout).toMatch(/^0 secret files created, [1-9]\d* kept in .*\nthe operator's token is in .*\n$/);
    expect(readFileSync(`${directory}/operator-token`, 'utf8')).toBe(token);
    expect(readFileSync(`${directory}/smtp-url`, 'utf8')).toBe('smtps://mail.example.com');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('a secret changed by hand is kept and named, and the servers get its password', () => {
  const { directory, run } = startCommand();
  const read = (name: string) => readFileSync(`${directory}/${name}`, 'utf8');
  try {
    run();
    const { 'webhook-public-key': publicKey = '', 'webhook-private-key': privateKey = '' } = composeSecrets('other');
    const inBase64 = Buffer.from(privateKey, 'hex').toString('base64');
    const changed = {
      'operator-token': 'b0b1b2b3b4b5b6b7b8b9babbbcbdbebf\n',
      'billing-nats-url': 'nats://billing:p%2Bw@nats:4222\n',
      'redis-url': 'redis://admission:p+w@redis:6379',
      'redis-password': 'default-p+w\n',
      'webhook-private-key': inBase64,
    };
    const session = read('session-secret');
    for (const [name, text] of Object.entries(changed)) writeFileSync(`${directory}/${name}`, text);
    for (const name of ['session-secret', 'webhook-public-key']) rmSync(`${directory}/${name}`);
    const { stdout } = run();
    expect(stdout).toMatch(/^2 secret files created/);
    const named = /^kept, although the root secret gives another value: (.*)$/m.exec(stdout)?.[1]?.split(', ') ?? [];
    expect(named.sort()).toEqual(Object.keys(changed).sort());
    expect(stdout).toContain('rewritten: nats-authorization.conf, redis-users.acl\n');
    for (const [name, text] of Object.entries(changed)) {
      expect([name, read(name), stdout.includes(text.trim())]).toEqual([name, text, false]);
    }
    expect([read('session-secret'), read('webhook-public-key')]).toEqual([session, publicKey]);
    expect(read('nats-authorization.conf')).toContain('password: "p+w"');
    const hash = (password: string) => `#${createHash('sha256').update(password).digest('hex')} `;
    expect(read('redis-users.acl')).toContain(`user default on ${hash('default-p+w')}`);
    expect(read('redis-users.acl')).toContain(`user admission on ${hash('p+w')}`);
    expect(run().stdout).not.toContain('written anew');
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test.each([
  ['is rewritten if it is empty', '', null],
  ['has the password that the service reads from it', '\n redis://admission:p@w@redis:6379\n', 'p@w'],
])('an existing secret file %s', (_name, text, password) => {
  const { directory, run } = startCommand();
  try {
    run();
    const before = readFileSync(`${directory}/redis-url`, 'utf8');
    writeFileSync(`${directory}/redis-url`, text);
    run();
    expect(readFileSync(`${directory}/redis-url`, 'utf8')).toBe(password === null ? before : text);
    const hash = createHash('sha256')
      .update(password ?? new URL(before).password)
      .digest('hex');
    expect(readFileSync(`${directory}/redis-users.acl`, 'utf8')).toContain(`user admission on #${hash} `);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test.each(['redis://admission:50%off@redis:6379', 'redis://redis:6379', 'something'])(
  'a file that is not a URL with a password, %s, is named and nothing is written',
  (text) => {
    const { directory, run } = startCommand();
    try {
      run();
      const before = readFileSync(`${directory}/redis-users.acl`, 'utf8');
      writeFileSync(`${directory}/redis-url`, text);
      const { stderr, status } = run();
      expect([status, stderr]).toEqual([1, expect.stringContaining('the file redis-url is not a URL with a password')]);
      expect(stderr).not.toContain('50%');
      expect(readFileSync(`${directory}/redis-users.acl`, 'utf8')).toBe(before);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
);

test('changed server files are rewritten in place, also after a crash', () => {
  const { directory, run } = startCommand();
  try {
    run();
    const fileStates = () =>
      ['nats-authorization.conf', 'redis-users.acl', 'operator-token'].map((name) => {
        const { ino, mtimeMs } = statSync(`${directory}/${name}`);
        return { name, ino, mtimeMs, text: readFileSync(`${directory}/${name}`, 'utf8') };
      });
    const before = fileStates();
    writeFileSync(`${directory}/nats-authorization.conf`, 'the permissions of another release');
    writeFileSync(`${directory}/redis-users.acl`, before[1]?.text.slice(0, 40) ?? '');
    run();
    const places = (all: typeof before) => all.map(({ name, ino, text }) => ({ name, ino, text }));
    expect(places(fileStates())).toEqual(places(before));
    expect(fileStates()[2]).toEqual(before[2]);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});

test('permissions for your own servers are printed without a password', () => {
  const program = fileURLToPath(new URL('../dist/permissions-main.js', import.meta.url));
  const print = (server: string) => spawnSync(process.execPath, [program, server], { encoding: 'utf8' });
  expect(print('nats').stdout.match(/password: .*/g)).toEqual(
    ['EDGE_PROXY', 'ADMISSION', 'BILLING', 'CATALOG', 'ACCOUNTS', 'DASHBOARD'].map(
      (name) => `password: $GATEWAY_BUS_PASSWORD_${name}`,
    ),
  );
  expect(print('redis').stdout).toContain('user admission on #<sha256 of the password of admission> ');
  expect(print('').status).toBe(1);
});

test('each service gets only its own sealing keys', () => {
  const { services } = readCompose();
  const holders = (name: string) => Object.keys(services).filter((service) => services[service]?.includes(name));
  expect(['source-private-key', 'webhook-private-key', 'source-public-key', 'webhook-public-key'].map(holders)).toEqual(
    [['edge-proxy'], ['billing'], ['dashboard'], ['dashboard']],
  );
});

/** Returns the secret files that each service of the compose file mounts. */
function readCompose(): { services: Record<string, readonly string[]> } {
  const text = readFileSync(fileURLToPath(new URL('../../../docker-compose.yml', import.meta.url)), 'utf8');
  const blocks = text
    .slice(text.indexOf('\nservices:'))
    .split(/\n {2}(?=[a-z-]+:\n)/)
    .slice(1);
  const services = blocks.map((block) => {
    const mounted = /^ {4}secrets: \[(.*)\]$/m.exec(block)?.[1] ?? '';
    const read = [...block.matchAll(/\/run\/secrets\/([a-z-]+)/g)].map(([, name]) => name ?? '');
    return [block.slice(0, block.indexOf(':')), [...mounted.split(', '), ...read]] as const;
  });
  return { services: Object.fromEntries(services) };
}

/** Runs the command in its own directory. */
function startCommand() {
  const directory = join(mkdtempSync(join(tmpdir(), 'gateway-secrets-')), 'compose');
  const program = fileURLToPath(new URL('../dist/secrets-main.js', import.meta.url));
  return { directory, run: () => spawnSync(process.execPath, [program, 'compose', directory], { encoding: 'utf8' }) };
}
