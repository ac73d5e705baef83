import { expect, test } from '@jest/globals';
import { recordingLog } from '@gateway/testkit';
import type { ErrorClass } from '../errors/error-class.js';
import { LOGGED_LENGTH_MAX, LOG_EVERY_MS, ProviderTexts } from './provider-texts.js';

function world() {
  const log = recordingLog();
  const time = { ms: 0 };
  const texts = new ProviderTexts({ log, monotonicMs: () => time.ms });
  const hear = (source: string, errorClass: ErrorClass | null, message: string | null = 'temperature is too hot') =>
    texts.record({
      source,
      requestId: 'r-1',
      judged: { errorClass, status: 400, reported: { message, codes: [], status: null, moderated: false } },
    });
  return { log, time, hear };
}

test('a rejected request is logged with its source, ID, error class and error text', () => {
  const { log, hear } = world();
  hear('src-a', 'body');
  hear('src-b', 'forbidden');
  expect(log.lines).toMatchObject([
    {
      level: 'info',
      facts: { source: 'src-a', requestId: 'r-1', status: 400, class: 'body', providerText: 'temperature is too hot' },
    },
    { level: 'warn', facts: { source: 'src-b', class: 'forbidden' } },
  ]);
});

test('each source has one line in ten seconds, with the number of skipped lines', () => {
  const { log, time, hear } = world();
  for (let call = 0; call < 1_000; call += 1) hear('src-a', 'body');
  hear('src-b', 'body');
  time.ms = LOG_EVERY_MS - 1;
  hear('src-a', 'body');
  expect(log.lines).toHaveLength(2);
  time.ms = LOG_EVERY_MS;
  hear('src-a', 'body');
  expect(log.lines[2]?.facts).toMatchObject({ source: 'src-a', unlogged: 1_000 });
});

test('provider failures, rate limits and successes are not logged here', () => {
  const { log, hear } = world();
  for (const errorClass of [null, 'quota', 'overload', 'late'] as const) hear('src-a', errorClass);
  expect(log.lines).toEqual([]);
});

test('the logged text contains no secret and at most a limited part of a quoted prompt', () => {
  const { log, hear } = world();
  const secrets = 'key sk-proj-CANARY0123456789abcdef of org-CANARYabcdef12 at https://CANARY.internal/x';
  hear('src-a', 'body', `${secrets} rejected: ${'word '.repeat(150)}CANARYPROMPT`);
  const line = JSON.stringify(log.lines);
  expect(line).toContain('rejected');
  expect(line).not.toContain('CANARY');
  expect((log.lines[0]?.facts as { providerText: string }).providerText.length).toBeLessThanOrEqual(LOGGED_LENGTH_MAX);
});
