import { expect, test } from '@jest/globals';
import { retiredWords, wideComments } from '../words.mjs';

/** Returns the retired words of one file with this text. */
const found = (text: string, file = 'services/a/src/b.ts'): string[] =>
  retiredWords(new Map([[file, text]])).map((line) => line.slice(file.length + 1));

test.each([
  ['const lastBeatAt = 1;', ['1: beat, better heartbeat']],
  ['class AdmissionDesk {}', ['1: desk, better client']],
  ['\nexport const BRAKES_MAX = 2;', ['2: brake, better back-pressure']],
  ['readSetAside();', ['1: setaside, better dead letter']],
  ['// a trouble log', ['1: trouble log, better throttled log']],
  ['/**\n * What the gate holds.\n */', ['2: gate, better limit store']],
  ["const url = 'http://x'; // through the door", ['1: door, better handler']],
])('%j is reported', (text, wanted) => {
  expect(found(text)).toEqual(wanted);
});

test.each([
  "log('the door is open');",
  'config.GATEWAY_HEARTBEAT_MS; gauge.gateway_edge_heartbeat_failures_total;',
  '// billing.balance-snapshot, in balances (GatewayHeartbeatsFailing)',
  'const outstanding = heartbeat + gateway + aggregate + upbeat;',
  '// What is set aside for one call.',
])('%j is not reported', (text) => {
  expect(found(text)).toEqual([]);
});

test('documents are checked without their code', () => {
  expect(found('The gate.\n\n`gate`\n\n```sh\ngate\n```\n', 'services/a/page.md')).toEqual([
    '1: gate, better limit store',
  ]);
});

test.each([
  ['/** %s */', 1],
  ['   * %s', 1],
  ['  // %s', 1],
  ['// eslint-disable-next-line %s', 0],
  ["const text = '%s';", 0],
])('a line of 100 words in %j is a wide comment %i times', (form, times) => {
  const text = form.replace('%s', 'word '.repeat(100));
  expect(wideComments(new Map([['services/a/src/b.ts', text]]))).toHaveLength(times);
});
