import { expect, test } from '@jest/globals';
import { createLogger, Secret, type LogLevel } from '../index.js';

function collect(level: LogLevel) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  return { lines, log: createLogger({ service: 'edge-proxy', replica: 'one', level, destination }) };
}

test('the logger writes one JSON line with time, level, service, replica and fields', () => {
  const { lines, log } = collect('info');
  log.child({ account: 'acc_1' }).warn({ slots: 3 }, 'nearly full');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] ?? '')).toEqual({
    level: 'warn',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    service: 'edge-proxy',
    replica: 'one',
    account: 'acc_1',
    slots: 3,
    text: 'nearly full',
  });
});

test('the logger writes nothing below its level', () => {
  const { lines, log } = collect('warn');
  log.debug({}, 'a');
  log.info({}, 'b');
  log.error({}, 'c');
  expect(lines.map((line) => (JSON.parse(line) as { text: string }).text)).toEqual(['c']);
});

test('the logger shows no secret and no password of a URL in an error', () => {
  const { lines, log } = collect('info');
  const token = new Secret('hunter2-hunter2');
  log.info({ token, nested: { list: [token] }, key: new Secret(Buffer.from('hunter2-hunter2')) }, `token ${token}`);
  const cause = Object.assign(new Error('Invalid URL'), { input: 'postgres://u:hunter2-hunter2@db:x/y' });
  log.error({ err: new Error('cannot connect to nats://u:hunter2-hunter2@h:4222', { cause }) }, 'start failed');
  log.error({ err: new Error('redis://:hunter2-hunter2@h, redis://:p@ss-hunter2-hunter2@h') }, 'odd password');
  expect(lines).toHaveLength(3);
  expect(lines.join('')).not.toContain('hunter2');
  expect(lines[1]).toContain('nats://[secret]@h:4222');
  for (const line of lines) expect(() => void JSON.parse(line)).not.toThrow();
});

test('the logger keeps type, message and stack of an error', () => {
  const { lines, log } = collect('info');
  log.error({ err: new TypeError('no number') }, 'failed');
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    err: { type: 'TypeError', message: 'no number', stack: expect.any(String) },
  });
});
