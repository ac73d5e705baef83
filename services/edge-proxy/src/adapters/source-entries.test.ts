import { expect, test } from '@jest/globals';
import { openSealed, publicHalfOf, Secret, sealTo } from '@gateway/service-kit';
import { sourceEntry } from '../../test/edge-world.js';
import { NO_AUTHORIZERS } from '../../test/no-authorizers.js';
import { SourceEntries } from './source-entries.js';

/** As many as a catalog may have. */
const SOURCES = 20_000;
const KEY = new Secret(Buffer.alloc(32, 7));

test('of 20,000 credentials none is opened at load, and one when its source is first used', () => {
  const opened: string[] = [];
  const entries = new SourceEntries({
    keys: { privateKey: { current: KEY, previous: null }, formerKey: null },
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
