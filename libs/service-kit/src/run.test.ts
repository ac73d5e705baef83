import { afterAll, expect, test } from '@jest/globals';
import { compileSources } from '../test/compile-sources.js';
import { freePort } from './free-port.js';
import { startService } from '../test/service-process.js';

const compiled = compileSources();
afterAll(() => compiled.remove());

const PASSWORD = 'correct-horse-battery-staple-0123456789';
const ENV = { GATEWAY_KEY_PEPPER: PASSWORD, GATEWAY_NATS_URL: `nats://u:${PASSWORD}@127.0.0.1:4222` };

/** Builds a service that logs its steps. `start` and `stop` are the bodies of its functions. */
function script({ start = '', stop = '', more = '' }: { start?: string; stop?: string; more?: string }): string {
  return `
    import { COMMON_FIELDS, counter, histogram, runService } from './index.js';
    const delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    await runService({
      name: 'small',
      version: '1.2.3',
      fields: { GATEWAY_KEY_PEPPER: COMMON_FIELDS.GATEWAY_KEY_PEPPER, GATEWAY_NATS_URL: COMMON_FIELDS.GATEWAY_NATS_URL },
      ${more}
      async start(context) {
        const { log, ready, stopping, config } = context;
        log.info({ config }, 'start called');
        ${start}
        return {
          async stop() {
            log.info({}, 'stop called');
            ${stop}
          },
        };
      },
    });`;
}

const run = (parts: Parameters<typeof script>[0], env: Record<string, string> = ENV) =>
  startService(compiled.directory, script(parts), env);

async function get(url: unknown, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${String(url)}${path}`, { headers: { connection: 'close' } });
  return { status: response.status, text: await response.text() };
}

test('a service starts, serves its admin address and stops with exit 0', async () => {
  const service = run({
    start: `
      counter('gateway_small_calls_total', 'Calls', { outcome: ['ok', 'bad'] }).of({ outcome: 'ok' }).add(3);
      histogram('gateway_small_seconds', 'Time', [0.1, 1]).observe(0.5);
      ready.add('mirror', () => globalThis.loaded ? true : 'the mirror is not loaded');
      process.on('SIGUSR2', () => { globalThis.loaded = true; log.info({}, 'loaded'); });`,
  });
  const { adminUrl, config, replica } = await service.line('started');
  expect(replica).toBe('one');
  expect(config).toMatchObject({
    GATEWAY_ADMIN_PORT: '0',
    GATEWAY_KEY_PEPPER: '[secret]',
    GATEWAY_NATS_URL: '[secret]',
  });

  expect(await get(adminUrl, '/healthz')).toEqual({ status: 200, text: 'ok\n' });
  const notReady = await get(adminUrl, '/readyz');
  expect(notReady.status).toBe(503);
  expect(JSON.parse(notReady.text)).toEqual({
    ready: false,
    checks: { process: 'ok', mirror: 'the mirror is not loaded' },
  });
  service.signal('SIGUSR2');
  await service.line('loaded');
  expect((await get(adminUrl, '/readyz')).status).toBe(200);
  expect((await get(adminUrl, '/nothing')).status).toBe(404);
  expect(
    (await fetch(`${String(adminUrl)}/metrics`, { method: 'POST', headers: { connection: 'close' } })).status,
  ).toBe(405);

  const { text } = await get(adminUrl, '/metrics');
  expect(text).toContain('gateway_small_calls_total{outcome="ok"} 3\n');
  expect(text).toContain('# TYPE gateway_small_seconds histogram\n');
  expect(text).toContain('gateway_small_seconds_bucket{le="0.1"} 0\n');
  expect(text).toContain('gateway_small_seconds_bucket{le="+Inf"} 1\n');
  expect(text).toMatch(/gateway_event_loop_delay_seconds\{quantile="0\.99"\} [\d.]+/);
  expect(text).toMatch(/target_info\{service_name="small",.*service_instance_id="one",service_version="1\.2\.3"\} 1/);

  service.signal('SIGTERM');
  expect(await service.exit).toEqual({ code: 0, signal: null });
  const texts = ['start called', 'started', 'loaded', 'stopping', 'stop called', 'stopped'];
  expect(service.lines.map((line) => line.text)).toEqual(texts);
  expect(service.stdout() + service.stderr()).not.toContain(PASSWORD);
});

// Covers an edge is told to stop
test('a service is not ready during its start and after a stop signal', async () => {
  const port = await freePort();
  const service = run(
    {
      start: `
      globalThis.hold = new Promise((resolve) => process.once('SIGUSR2', resolve));
      log.info({}, 'waiting');
      await globalThis.hold;
      globalThis.drained = new Promise((resolve) => process.once('SIGUSR2', resolve));`,
      stop: `await globalThis.drained;`,
    },
    { ...ENV, GATEWAY_ADMIN_PORT: String(port) },
  );
  await service.line('waiting');
  const adminUrl = `http://127.0.0.1:${port}`;
  expect((await get(adminUrl, '/healthz')).status).toBe(200);
  expect(JSON.parse((await get(adminUrl, '/readyz')).text)).toEqual({ ready: false, checks: { process: 'starting' } });
  service.signal('SIGUSR2');
  await service.line('started');
  expect((await get(adminUrl, '/readyz')).status).toBe(200);
  service.signal('SIGTERM');
  await service.line('stop called');
  expect(JSON.parse((await get(adminUrl, '/readyz')).text)).toEqual({ ready: false, checks: { process: 'stopping' } });
  expect((await get(adminUrl, '/metrics')).status).toBe(200);
  service.signal('SIGTERM');
  service.signal('SIGUSR2');
  expect(await service.exit).toEqual({ code: 0, signal: null });
});

test('a wrong configuration prints one text and exits with 78 before the start', async () => {
  const { GATEWAY_NATS_URL } = ENV;
  const service = run({}, { GATEWAY_NATS_URL: GATEWAY_NATS_URL.replace('nats:', 'http:'), GATEWAY_ADMIN_PORT: 'x' });
  expect(await service.exit).toEqual({ code: 78, signal: null });
  expect(service.stdout()).toBe('');
  expect(service.stderr().split('\n')).toEqual([
    'small: The configuration cannot be used:',
    expect.stringMatching(/^ {2}- GATEWAY_ADMIN_PORT must be a whole number from 0 to 65535, not "x"\. It is: /),
    expect.stringMatching(
      /^ {2}- GATEWAY_KEY_PEPPER is not set; set GATEWAY_KEY_PEPPER, or GATEWAY_KEY_PEPPER_FILE to/,
    ),
    expect.stringMatching(/^ {2}- GATEWAY_NATS_URL must be a URL that begins with nats:\/\//),
    '',
  ]);
  expect(service.stderr()).not.toContain(PASSWORD);
});

test('problems between fields are reported, and test controls need loopback', async () => {
  const more = `check: (config) => [\`GATEWAY_X clashes with \${config.GATEWAY_REPLICA}\`],`;
  const service = run({ more }, { ...ENV, GATEWAY_TEST_CONTROLS: 'on', GATEWAY_ADMIN_HOST: '0.0.0.0' });
  expect((await service.exit).code).toBe(78);
  expect(service.stderr()).toContain('  - GATEWAY_TEST_CONTROLS can be on only while GATEWAY_ADMIN_HOST is a loopback');
  expect(service.stderr()).toContain('  - GATEWAY_X clashes with one');
});

test('a failed start is logged without passwords and exits with 1', async () => {
  const service = run({ start: `throw new Error('cannot reach ' + config.GATEWAY_NATS_URL.reveal());` });
  expect(await service.exit).toEqual({ code: 1, signal: null });
  expect(service.lines.at(-1)).toMatchObject({ level: 'error', text: 'start failed' });
  expect(service.stdout()).toContain('cannot reach nats://[secret]@127.0.0.1:4222');
  expect(service.stdout() + service.stderr()).not.toContain(PASSWORD);
});

test.each([
  ['unhandled rejection', `setImmediate(() => Promise.reject(new Error('lost')));`],
  ['uncaught exception', `setImmediate(() => { throw new Error('lost'); });`],
])(
  'an %s is logged and exits with 1',
  async (text, start) => {
    const service = run({ start });
    expect(await service.exit).toEqual({ code: 1, signal: null });
    expect(service.lines.at(-1)).toMatchObject({ level: 'error', text, err: { message: 'lost' } });
  },
  30_000,
);

test('a stop that fails or exceeds its timeout exits with 1', async () => {
  const overdue = run({ more: 'stopMs: () => 50,', stop: 'await delay(60_000);' });
  const failing = run({ stop: `throw new Error('cannot close');` });
  await Promise.all([overdue.line('started'), failing.line('started')]);
  overdue.signal('SIGTERM');
  failing.signal('SIGINT');
  expect([(await overdue.exit).code, (await failing.exit).code]).toEqual([1, 1]);
  expect(overdue.lines.at(-1)).toMatchObject({ text: 'stop failed', err: { message: 'not done within 50 ms' } });
  expect(failing.lines.at(-1)).toMatchObject({ text: 'stop failed', err: { message: 'cannot close' } });
});

test('a signal during an abortable start exits with 0 without a stop', async () => {
  const service = run({
    start: `await new Promise((_, reject) => stopping.addEventListener('abort', () => reject(stopping.reason)));`,
  });
  await service.line('start called');
  service.signal('SIGTERM');
  expect(await service.exit).toEqual({ code: 0, signal: null });
  expect(service.lines.map(({ text }) => text)).toEqual(['start called', 'start aborted']);
});

test('a second SIGINT ends a hanging stop', async () => {
  const service = run({ stop: 'await delay(60_000);' });
  await service.line('started');
  service.signal('SIGINT');
  await service.line('stop called');
  service.signal('SIGINT');
  expect(await service.exit).toEqual({ code: 130, signal: null });
});

test('a taken admin port is logged and exits with 1', async () => {
  const first = run({});
  const { adminUrl } = await first.line('started');
  const second = run({}, { ...ENV, GATEWAY_ADMIN_PORT: new URL(String(adminUrl)).port });
  expect((await second.exit).code).toBe(1);
  expect(second.lines.at(-1)).toMatchObject({
    text: 'the admin address cannot be opened',
    err: { code: 'EADDRINUSE' },
  });
  first.signal('SIGTERM');
  expect((await first.exit).code).toBe(0);
});
