import { expect, test } from '@jest/globals';
import { readOptions } from './options.js';
import { USUAL_IDS } from './edge/scenarios.js';

test('measures everything without options', () => {
  expect(readOptions([])).toMatchObject({
    benchmark: 'edge',
    rounds: 5,
    seconds: 4,
    accounts: 1_800,
    peers: ['direct', 'nginx', 'relay', 'portkey', 'litellm', 'gateway'],
    scenarios: USUAL_IDS,
    name: 'edge',
    quick: false,
    against: [],
    node: undefined,
  });
});

test('reads both forms of an option and always adds the direct call', () => {
  expect(
    readOptions([
      '--rounds',
      '2',
      '--seconds=0.5',
      '--only=gateway,nginx',
      '--quick',
      '--accounts',
      '100',
      '--against=HEAD~1,aaeab6cc',
      '--scenarios=counts,plain-64',
    ]),
  ).toMatchObject({
    rounds: 2,
    seconds: 0.5,
    accounts: 100,
    peers: ['direct', 'nginx', 'gateway'],
    scenarios: ['plain-64', 'counts'],
    name: 'quick',
    quick: true,
    against: ['HEAD~1', 'aaeab6cc'],
  });
});

test('reads the options of another benchmark', () => {
  expect(readOptions(['billing', '--events', '2000', '--quick'])).toMatchObject({
    benchmark: 'billing',
    events: 2_000,
    earlier: 100_000,
    name: 'quick',
  });
});

test.each([
  [['--rounds', '0'], '--rounds must be a number above 0'],
  [['--seconds', 'x'], '--seconds must be a number above 0'],
  [['--only', 'caddy'], 'unknown caddy'],
  [['--scenarios', 'plain-65'], 'unknown plain-65'],
  [['--name', '../x'], '--name must be'],
  [['billing', '--seconds', '2'], "Unknown option '--seconds'"],
  [['--fast'], "Unknown option '--fast'"],
  [['--accounts'], 'argument missing'],
  [['gateway'], 'unknown benchmark "gateway"'],
])('throws for %j', (line, problem) => {
  expect(() => readOptions(line)).toThrow(problem);
});
