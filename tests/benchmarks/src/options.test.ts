import { expect, test } from '@jest/globals';
import { readOptions } from './options.js';
import { SCENARIO_IDS } from './edge/scenarios.js';

test('measures everything without options', () => {
  expect(readOptions([])).toMatchObject({
    benchmark: 'edge',
    rounds: 5,
    records: 0,
    seconds: 4,
    accounts: 1_800,
    peers: ['direct', 'nginx', 'relay', 'portkey', 'litellm', 'gateway'],
    scenarios: SCENARIO_IDS,
    name: 'gateway-and-peers',
    quick: false,
    against: null,
    node: null,
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
      '--against=HEAD~1',
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
    against: 'HEAD~1',
  });
});

test('reports all wrong values at once', () => {
  const wrong = [
    '--rounds',
    '0',
    '--seconds',
    'x',
    '--only',
    'caddy',
    '--scenarios',
    'plain-65',
    '--name',
    '../x',
    '--against=',
  ];
  const answer = readOptions(wrong);
  expect('problems' in answer && answer.problems).toEqual([
    '--rounds must be an integer from 1 to 50',
    '--seconds must be a number from 0.2 to 60',
    expect.stringContaining('caddy'),
    expect.stringContaining('plain-65'),
    expect.stringContaining('--name'),
    '--against needs a commit',
    expect.stringContaining('compare with the gateway'),
  ]);
});

test('reads the options of another benchmark, and rejects those that it does not have', () => {
  expect(readOptions(['billing', '--events', '2000', '--quick'])).toMatchObject({
    benchmark: 'billing',
    events: 2_000,
    earlier: 100_000,
    name: 'quick',
  });
  expect(readOptions(['billing', '--seconds', '2'])).toEqual({ problems: ['--seconds is not an option of billing'] });
});

test.each([['--fast'], ['--accounts'], ['gateway']])('reports %s', (...line) => {
  expect(readOptions(line)).toEqual({ problems: [expect.stringContaining(line.join(' '))] });
});
