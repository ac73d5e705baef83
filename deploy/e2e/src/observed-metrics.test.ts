import { expect, test } from '@jest/globals';
import { expressions, metricsIn } from '../../observe/test/read-observe.js';
import { sharedSystem } from '../test/system.js';

const system = sharedSystem();

test('every metric of a rule or panel is in a scrape of the running system', async () => {
  const urls = Object.values(system.adminUrls).flat();
  const scrapes = await Promise.all(urls.map(async (url) => (await fetch(`${url}/metrics`)).text()));
  const known = new Set(scrapes.flatMap((text) => [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)));
  const used = [...new Set(expressions().flatMap(metricsIn))];
  expect(used.length).toBeGreaterThan(40);
  expect(used.filter((name) => !known.has(name))).toEqual([]);
});
