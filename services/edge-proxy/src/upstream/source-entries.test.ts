import { expect, test } from '@jest/globals';
import { openSealed, publicHalfOf, Secret, sealTo } from '@gateway/service-kit';
import { sourceEntry } from '../../test/edge-world.js';
import { NO_AUTHORIZERS } from '../../test/no-authorizers.js';
import { SourceEntries } from './source-entries.js';

/** The maximum number of sources in a catalog. */
const SOURCES = 20_000;
const KEY = new Secret(Buffer.alloc(32, 7));

test('opens none of 20,000 credentials at load, and one when its source is first used', () => {
  const opened: string[] = [];
  const entries = new SourceEntries({
    keys: { privateKey: { current: KEY, previous: null } },
    authorizers: NO_AUTHORIZERS,
    onUnusable: (_id, err) => {
      throw err;
    },
    open: (sealed, id, keys) => {
      opened.push(id);
      return openSealed(sealed, id, keys);
    },
  });
  const sealedCredential = sealTo('credential', 'src-777', publicHalfOf(KEY));
  const base = sourceEntry('base', 'https://provider.example');
  for (let number = 0; number < SOURCES; number += 1) {
    const id = `src-${number}`;
    entries.take(id, JSON.stringify({ ...base, id, sealedCredential }));
  }
  expect([[...entries.all()].length, entries.unreadable, entries.outdated]).toEqual([SOURCES, 0, 0]);
  expect(opened).toEqual([]);
  expect(entries.opened('src-777')?.headers).toEqual(['authorization', 'Bearer credential']);
  expect(entries.opened('src-777')).toBe(entries.opened('src-777'));
  expect(opened).toEqual(['src-777']);
});

const SHARED = 'provider:prov-1';
const providerEntry = (text: string | null, place = SHARED, key = KEY) =>
  JSON.stringify({
    v: 1,
    id: 'prov-1',
    name: 'P',
    format: 'openai',
    ...(text === null ? {} : { sealedCredential: sealTo(text, place, publicHalfOf(key)) }),
  });

function shared(): { entries: SourceEntries; opened: string[]; unusable: string[]; letIn: (id: string) => unknown } {
  const [opened, unusable]: [string[], string[]] = [[], []];
  const entries = new SourceEntries({
    keys: { privateKey: { current: KEY, previous: null } },
    authorizers: NO_AUTHORIZERS,
    onUnusable: (id) => void unusable.push(id),
    open: (sealed, place, keys) => {
      opened.push(place);
      return openSealed(sealed, place, keys);
    },
  });
  for (const id of ['a', 'b', 'own', 'foreign']) {
    const own = id === 'own' ? sealTo('own-key', 'own', publicHalfOf(KEY)) : null;
    const provider = id === 'foreign' ? 'prov-2' : 'prov-1';
    const entry = sourceEntry(id, 'https://provider.example', { provider, sealedCredential: own });
    entries.take(id, JSON.stringify(entry));
  }
  return { entries, opened, unusable, letIn: (id) => entries.opened(id)?.headers[1] };
}

test('sources without a credential use that of their provider, which is opened once', () => {
  const { entries, opened, letIn } = shared();
  expect(['a', 'b', 'own', 'foreign'].map(letIn)).toEqual([undefined, undefined, 'Bearer own-key', undefined]);
  entries.takeProvider('prov-1', providerEntry('first'));
  expect(['a', 'b', 'own', 'foreign'].map(letIn)).toEqual([
    'Bearer first',
    'Bearer first',
    'Bearer own-key',
    undefined,
  ]);
  expect(opened).toEqual(['own', SHARED]);
});

test('a new provider credential replaces the entries of the sources that use it', () => {
  const { entries, letIn } = shared();
  const first = providerEntry('first');
  entries.takeProvider('prov-1', first);
  const before = ['a', 'own'].map((id) => entries.entry(id));
  entries.takeProvider('prov-1', first);
  expect(entries.entry('a')).toBe(before[0]);
  entries.takeProvider('prov-1', providerEntry('second'));
  expect(['a', 'b', 'own'].map(letIn)).toEqual(['Bearer second', 'Bearer second', 'Bearer own-key']);
  expect([entries.entry('a') === before[0], entries.entry('own') === before[1]]).toEqual([false, true]);
  entries.takeProvider('prov-1', undefined);
  expect(['a', 'b', 'own'].map(letIn)).toEqual([undefined, undefined, 'Bearer own-key']);
});

test.each([
  ['to an unknown key', providerEntry('x', SHARED, new Secret(Buffer.alloc(32, 8)))],
  ['for another object', providerEntry('x', 'a')],
])('a provider credential sealed %s disables its sources until it is replaced', (_how, entry) => {
  const { entries, letIn } = shared();
  entries.takeProvider('prov-1', entry);
  expect(['a', 'b', 'own'].map(letIn)).toEqual([undefined, undefined, 'Bearer own-key']);
  expect([entries.opened('a'), entries.entry('a'), entries.unreadable]).toEqual([undefined, undefined, 2]);
  expect(entries.problemOf('a')).toMatch(/enter it again/);
  entries.takeProvider('prov-1', providerEntry('good'));
  expect(['a', 'b'].map(letIn)).toEqual(['Bearer good', 'Bearer good']);
  expect([entries.unreadable, entries.problemOf('a')]).toEqual([0, null]);
  entries.drop('a');
  entries.takeProvider('prov-1', providerEntry('later'));
  expect(entries.entry('a')).toBeUndefined();
});

test('a source added late, or moved to another provider, uses the current credential', () => {
  const { entries, letIn } = shared();
  entries.takeProvider('prov-1', providerEntry('first'));
  entries.take('late', JSON.stringify(sourceEntry('late', 'https://p.example', { sealedCredential: null })));
  expect(letIn('late')).toBe('Bearer first');
  const left = sourceEntry('late', 'https://p.example', { sealedCredential: null, provider: 'prov-2' });
  entries.take('late', JSON.stringify(left));
  expect(letIn('late')).toBeUndefined();
});
