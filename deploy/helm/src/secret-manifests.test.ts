import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { PROGRAM_FIELDS } from '../../../tools/operations/test/service-fields.js';
import { readGolden, workloadsOf, type Manifest } from '../test/goldens.js';
import { schemaProblems } from '../test/kubernetes-schema.js';

type Values = Readonly<Record<string, string>>;
const PROGRAM = fileURLToPath(new URL('../../../tools/operations/dist/secrets-main.js', import.meta.url));
/** Prints and records what kubectl would get; `existing.json` has the Secrets of the namespace. */
const KUBECTL = `#!/bin/sh
cd "$(dirname "$0")"
if [ "$1" = get ]; then cat existing.json; else echo "$@" > arguments; cat > applied.json; echo applied; fi
`;
let home = '';

beforeEach(() => {
  home = mkdtempSync(`${tmpdir()}/gateway-kubernetes-`);
  writeFileSync(`${home}/kubectl`, KUBECTL);
  chmodSync(`${home}/kubectl`, 0o755);
  writeFileSync(`${home}/existing.json`, '{"items":[]}');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

test('prints a Namespace and Secrets that Kubernetes accepts and the chart mounts', () => {
  const { stdout, stderr } = run();
  const manifests = parseAllDocuments(stdout).map((document) => document.toJS() as Manifest);
  expect(manifests.flatMap((manifest) => schemaProblems(manifest))).toEqual([]);
  expect(manifests[0]).toMatchObject({ kind: 'Namespace', metadata: { name: 'llm' } });
  const secrets = valuesOf(manifests);
  for (const { manifest, pod } of workloadsOf(readGolden('evaluation'))) {
    const [name] = pod.spec.volumes.flatMap(({ secret }) => secret?.secretName ?? []);
    const files = pod.spec.containers[0]?.env?.flatMap(
      (one) => /^\/run\/secrets\/gateway\/(.+)$/.exec(one.value ?? '')?.[1] ?? [],
    );
    expect([manifest.metadata.name, files?.filter((file) => secrets[name ?? '']?.[file] === undefined)]).toEqual([
      manifest.metadata.name,
      [],
    ]);
  }
  expect(Object.keys(secrets).sort()).toEqual(
    [...Object.keys(PROGRAM_FIELDS), 'operator', 'postgres', 'nats', 'redis'].map((name) => `gateway-${name}`).sort(),
  );
  expect(secrets['gateway-billing']?.['GATEWAY_POSTGRES_URL']).toContain(
    '@gateway-model-gateway-postgres:5432/gateway',
  );
  for (const text of Object.values(secrets).flatMap((values) => Object.values(values)))
    expect(stderr).not.toContain(text);
});

test('--apply keeps the values of the cluster, also those that the table does not have', () => {
  const first = run('--apply');
  expect([first.status, first.stdout]).toEqual([0, '']);
  const before = applied();
  const items = before.map((manifest) => ({ ...manifest, stringData: undefined, data: encoded(manifest) }));
  const pepper = items.find(({ metadata }) => metadata.name === 'gateway-edge-proxy');
  Object.assign(pepper?.data ?? {}, { GATEWAY_KEY_PEPPER_PREVIOUS: Buffer.from('old').toString('base64') });
  const lost = items.find(({ metadata }) => metadata.name === 'gateway-dashboard');
  delete lost?.data['GATEWAY_SESSION_SECRET'];
  writeFileSync(`${home}/existing.json`, JSON.stringify({ items }));
  const second = run('--apply');
  expect(second.stderr).toMatch(/^applied\n1 secret values created, /);
  const [old, now] = [valuesOf(before), valuesOf(applied())];
  expect(now['gateway-edge-proxy']).toEqual({ ...old['gateway-edge-proxy'], GATEWAY_KEY_PEPPER_PREVIOUS: 'old' });
  const { GATEWAY_SESSION_SECRET: session, ...others } = now['gateway-dashboard'] ?? {};
  expect(old['gateway-dashboard']).toEqual({ ...others, GATEWAY_SESSION_SECRET: expect.any(String) as unknown });
  expect(session).not.toBe(old['gateway-dashboard']?.['GATEWAY_SESSION_SECRET']);
  for (const name of ['migrate', 'billing', 'nats', 'operator'])
    expect(now[`gateway-${name}`]).toEqual(old[`gateway-${name}`]);
  expect(readFileSync(`${home}/arguments`, 'utf8')).toMatch(/^apply --server-side .*--filename=-\n$/);
});

test('--rotate makes a new value and keeps the old one for the programs that accept it', () => {
  run('--apply');
  const before = applied();
  const items = before.map((manifest) => ({ ...manifest, stringData: undefined, data: encoded(manifest) }));
  writeFileSync(`${home}/existing.json`, JSON.stringify({ items }));
  const { stderr } = run('--apply', '--rotate', 'GATEWAY_KEY_PEPPER');
  expect(stderr).toMatch(/^applied\n4 secret values created, /);
  const [old, now] = [valuesOf(before), valuesOf(applied())];
  for (const name of ['gateway-edge-proxy', 'gateway-dashboard']) {
    const { GATEWAY_KEY_PEPPER: pepper, ...others } = now[name] ?? {};
    expect({ ...others, GATEWAY_KEY_PEPPER: others['GATEWAY_KEY_PEPPER_PREVIOUS'] }).toEqual({
      ...old[name],
      GATEWAY_KEY_PEPPER_PREVIOUS: old[name]?.['GATEWAY_KEY_PEPPER'],
    });
    expect(pepper).toMatch(/^[0-9a-f]{64}$/);
    expect(stderr).not.toContain(pepper);
  }
});

test("a directory keeps managed servers' values for a second run and for their roles", () => {
  const servers = [
    '--postgres',
    'postgres://owner:o@db:5432/x?sslmode=verify-full',
    '--nats',
    'tls://n:4222',
    '--redis',
    'rediss://r:6379',
  ];
  const directory = `${home}/values`;
  expect(run(...servers, '--output', directory).stdout).toBe('');
  const read = () => readFileSync(`${directory}/manifests.yaml`, 'utf8');
  const before = read();
  expect(run(...servers, '--output', directory).stderr).toMatch(/^0 secret values created, /);
  expect(read()).toBe(before);
  expect(existsSync(`${directory}/postgres`)).toBe(false);
  expect(readFileSync(`${directory}/migrate/GATEWAY_MIGRATION_URL`, 'utf8')).toBe(servers[1]);
  const url = readFileSync(`${directory}/catalog/GATEWAY_POSTGRES_URL`, 'utf8');
  expect(run(...servers, '--from', directory, '--output', `${home}/copy`).stderr).toMatch(/^0 secret values created, /);
  expect(readFileSync(`${home}/copy/catalog/GATEWAY_POSTGRES_URL`, 'utf8')).toBe(url);
  expect(run(...servers, '--from', directory, '--print', 'sql').stdout).toContain(
    `ALTER ROLE "gateway_catalog" PASSWORD '${new URL(url).password}';`,
  );
  expect(run(...servers, '--from', `${home}/nothing`, '--print', 'sql')).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/nothing does not have: .*migrate\/GATEWAY_MIGRATION_URL/) as unknown,
  });
});

test('External Secrets get references only, and the values are in the directory', () => {
  mkdirSync(`${home}/values`);
  run('--external-secrets', 'ClusterSecretStore/vault', '--output', `${home}/values`);
  const text = readFileSync(`${home}/values/manifests.yaml`, 'utf8');
  const manifests = parseAllDocuments(text).map((document) => document.toJS() as Manifest);
  const admission = manifests.find(({ metadata }) => metadata.name === 'gateway-admission');
  expect(admission).toMatchObject({
    apiVersion: 'external-secrets.io/v1',
    kind: 'ExternalSecret',
    spec: {
      secretStoreRef: { name: 'vault', kind: 'ClusterSecretStore' },
      target: { name: 'gateway-admission', creationPolicy: 'Owner' },
      data: ['GATEWAY_NATS_URL', 'GATEWAY_REDIS_URL'].map((name) => ({
        secretKey: name,
        remoteRef: { key: 'gateway/admission', property: name },
      })),
    },
  });
  const url = readFileSync(`${home}/values/admission/GATEWAY_REDIS_URL`, 'utf8');
  expect(text).not.toContain(new URL(url).password);
  expect(run('--external-secrets', 'vault').stderr).toContain('the new values would be lost');
});

test('--postgres without the password of its user is refused', () => {
  expect(run('--postgres', 'postgres://db:5432/x')).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringMatching(/^--postgres needs the user that migrates and its password/) as unknown,
  });
});

test.each([[['--namespace']], [['--print', 'mongodb']], [['--apply', '--output', 'x']], [['more']]])(
  '%j is refused',
  (args) => {
    const { status, stdout, stderr } = run(...args);
    expect([status, stdout, stderr]).toEqual([2, '', expect.stringContaining('usage: secrets keys')]);
  },
);

/** Runs the command with a kubectl of this test. */
function run(...args: string[]) {
  return spawnSync(process.execPath, [PROGRAM, 'kubernetes', '--namespace', 'llm', ...args], {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${home}:${process.env['PATH']}` },
  });
}

function applied(): readonly Manifest[] {
  return (parse(readFileSync(`${home}/applied.json`, 'utf8')) as { items: Manifest[] }).items;
}

function valuesOf(manifests: readonly Manifest[]): Record<string, Values> {
  const secrets = manifests.filter(({ kind }) => kind === 'Secret');
  return Object.fromEntries(secrets.map(({ metadata, stringData = {} }) => [metadata.name, stringData]));
}

function encoded(manifest: Manifest): Record<string, string> {
  const values = Object.entries(valuesOf([manifest])[manifest.metadata.name] ?? {});
  return Object.fromEntries(values.map(([name, text]) => [name, Buffer.from(text).toString('base64')]));
}
