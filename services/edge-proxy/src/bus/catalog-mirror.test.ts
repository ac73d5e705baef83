import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Bus } from '@gateway/bus';
import type { CatalogSource } from '@gateway/contracts/messages';
import { openSealed, publicHalfOf, Secret, sealTo, type OpeningKeys } from '@gateway/service-kit';
import { recordingLog, startTestBus, until, type TestBus } from '@gateway/testkit';
import { sourceEntry } from '../../test/edge-world.js';
import { NO_AUTHORIZERS } from '../../test/no-authorizers.js';
import { followCatalog, type CatalogMirror } from './catalog-mirror.js';

const SOURCES = 10;
const keyOf = (byte: number): Secret<Buffer> => new Secret(Buffer.alloc(32, byte));
const [KEY, OTHER_KEY] = [keyOf(7), keyOf(8)];
const KEYS: OpeningKeys = { privateKey: { current: KEY, previous: null } };
const sealed = (id: string, key = KEY): string => sealTo(`credential of ${id}`, id, publicHalfOf(key));
const BASE = sourceEntry('base', 'https://provider.example');
/** Can be opened only as the credential of `src-0`. */
const SEALED = sealed('src-0');

let bus: TestBus;
let publisher: Bus;
let mirror: CatalogMirror;
const log = recordingLog();
const opened: string[] = [];
const entries = new Map<string, CatalogSource>();
let revision = 0;

beforeAll(async () => {
  bus = await startTestBus();
  publisher = await bus.connect('catalog', 'c0');
  const reader = await bus.connect('edge-proxy', 'e0');
  const open: typeof openSealed = (text, id, keys) => {
    opened.push(id);
    return openSealed(text, id, keys);
  };
  mirror = followCatalog(reader, { keys: KEYS, authorizers: NO_AUTHORIZERS, log, open });
  for (let number = 0; number < SOURCES - 2; number += 1) put(`src-${number}`, { sealedCredential: SEALED });
  put('src-other', { sealedCredential: sealed('src-other', OTHER_KEY) });
  put('src-open', { sealedCredential: null });
  await publish();
}, 120_000);
afterAll(async () => {
  await mirror.stop();
  await bus.stop();
}, 60_000);

test("the mirror opens no credential at load, and each once at its source's first use", async () => {
  expect([...mirror.sourcesOf('pub/model')]).toHaveLength(SOURCES - 1);
  expect(mirror.entry('src-0')).toMatchObject({ id: 'src-0' });
  expect(opened).toEqual([]);
  const { headers } = mirror.source('src-0') ?? {};
  expect(headers).toEqual(['authorization', 'Bearer credential of src-0']);
  expect(mirror.source('src-0')?.headers).toBe(headers);
  expect(mirror.source('src-open')?.headers).toEqual([]);
  expect(opened).toEqual(['src-0']);
});

test('the mirror reopens the credential of a changed source only if its text changed', async () => {
  const [entry, before] = [mirror.entry('src-0'), opened.length];
  put('src-0', { sealedCredential: SEALED, weight: 5 });
  await publish();
  expect(mirror.entry('src-0')).not.toBe(entry);
  expect(mirror.source('src-0')).toMatchObject({ source: { weight: 5 } });
  expect(opened).toHaveLength(before);
  put('src-0', { sealedCredential: sealTo('another', 'src-0', publicHalfOf(KEY)) });
  await publish();
  expect(mirror.source('src-0')?.headers).toEqual(['authorization', 'Bearer another']);
  expect(opened.slice(before)).toEqual(['src-0']);
});

test('a credential sealed to an unknown key is logged at load without being opened', () => {
  expect([mirror.unreadable(), mirror.entry('src-other')]).toEqual([1, undefined]);
  expect(complaints('source.src-other')).toBe(1);
});

test('a credential that fails to open is logged once, and its source is left out', async () => {
  expect(mirror.sourcesOf('pub/model').some(({ id }) => id === 'src-1')).toBe(true);
  expect([mirror.source('src-1'), mirror.source('src-1'), mirror.entry('src-1')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
  expect([mirror.unreadable(), complaints('source.src-1')]).toEqual([2, 1]);
  expect(mirror.sourcesOf('pub/model').some(({ id }) => id === 'src-1')).toBe(false);
  put('src-1', { sealedCredential: sealed('src-1') });
  await publish();
  expect(mirror.source('src-1')?.headers).toEqual(['authorization', 'Bearer credential of src-1']);
  expect([mirror.unreadable(), complaints('source.src-1')]).toEqual([1, 1]);
});

test('a deleted source is no longer found', async () => {
  entries.delete('src-0');
  await publish();
  expect([mirror.entry('src-0'), mirror.source('src-0')]).toEqual([undefined, undefined]);
});

function put(id: string, more: Partial<CatalogSource>): void {
  entries.set(id, { ...BASE, id, ...more });
}

async function publish(): Promise<void> {
  revision += 1;
  const all = new Map([...entries].map(([id, entry]) => [`source.${id}`, JSON.stringify(entry)]));
  await publisher.publishBucket('catalog', all, revision);
  await until('the catalog is applied', () => mirror.revision() === revision, 60_000);
}

function complaints(key: string): number {
  return log.lines.filter(
    ({ text, facts }) => text === 'a catalog entry cannot be used' && 'key' in facts && facts.key === key,
  ).length;
}
