import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { UsageEvent } from '@gateway/contracts/messages';
import { until } from '@gateway/testkit';
import { begin, chat, send, type Answer } from '../../../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../../../test/edge-world.js';
import { TEST_ACCOUNT } from '../../../test/fake-admission.js';
import { FORMATS, type Format } from '../../../test/formats.js';
import { publishOwnModel, type OwnModel } from '../../../test/own-models.js';
import { BREAKER_FAILURES, REFUSED_ACCOUNTS } from '../../sources/source-order.js';

const PATH = '/v1/chat/completions';
const RESPONSES = FORMATS.find(({ path }) => path === '/v1/responses') as Format;

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld();
}, 60_000);
afterAll(() => world.stop(), 60_000);
afterEach(() => {
  world.admission.account = TEST_ACCOUNT;
  world.provider.clearScripts();
});

const twoSources = (): Promise<OwnModel> => {
  const [a, b] = world.provider.urls;
  return publishOwnModel(world, { url: a }, { url: b });
};
const eventOf = (answer: { headers: Answer['headers'] }): Promise<UsageEvent> =>
  world.eventOf(String(answer.headers['x-gateway-request-id']));
const ask = (model: OwnModel, format = FORMATS[0] as Format, stream = false): Promise<Answer> =>
  send(world.edge.url, format.path, format.request({ model: model.model, stream }));

/** Sets the response of one source for all its requests. */
function say(model: OwnModel, listener: 'a' | 'b', status: number, body: string, type = 'application/json'): void {
  const steps = [{ status, headers: { 'content-type': type } }, { chunk: body }];
  world.provider.script({ model: model.upstreamModel, listener, times: 100, steps });
}

async function triedBy(model: OwnModel): Promise<number[]> {
  const { attempts } = await eventOf(await ask(model));
  return attempts.map(({ source }) => model.ids.indexOf(source));
}

const error = (message: string, code: string | null = null): string => JSON.stringify({ error: { message, code } });

describe('the client gets an upstream error if all sources failed or the last one did', () => {
  test.each<[string, [number, string], [number, string], number, string]>([
    ['our key, then a failure', [401, error('Incorrect API key provided')], [503, ''], 503, 'upstream_error'],
    ['a failure, then our key', [503, ''], [401, error('Incorrect API key provided')], 503, 'upstream_error'],
    ['a limit, then no balance', [429, ''], [402, error('Insufficient Balance')], 429, 'rate_limit_exceeded'],
    ['no balance, then no model', [402, ''], [404, error('model not found')], 404, 'model_not_found'],
    ['a limit, then a wrong body', [429, ''], [400, error('too hot')], 400, 'invalid_request'],
    ['a moderated prompt', [400, error('no', 'content_filter')], [200, ''], 400, 'invalid_request'],
  ])('%s', async (_name, [statusA, bodyA], [statusB, bodyB], status, code) => {
    const model = await twoSources();
    say(model, 'a', statusA, bodyA);
    if (statusB !== 200) say(model, 'b', statusB, bodyB);
    const answer = await ask(model);
    expect([answer.status, JSON.parse(answer.body.toString()).error.code]).toEqual([status, code]);
    expect((await eventOf(answer)).attempts).toHaveLength(statusB === 200 ? 1 : 2);
  });
});

describe('a source that refuses the gateway', () => {
  test('enters cooldown at once, is tried last, and the refusal is logged', async () => {
    const model = await twoSources();
    say(model, 'a', 401, error('Incorrect API key provided', 'invalid_api_key'));
    expect(await triedBy(model)).toEqual([0, 1]);
    expect(await triedBy(model)).toEqual([1]);
    say(model, 'b', 503, '');
    expect(await triedBy(model)).toEqual([1, 0]);
    expect(world.log).toContainEqual(
      expect.objectContaining({
        level: 'error',
        facts: expect.objectContaining({ source: model.ids[0], status: 401, class: 'credential' }),
      }),
    );
  });

  test('is used again as soon as its catalog entry has changed', async () => {
    const model = await twoSources();
    say(model, 'a', 401, '');
    expect(await triedBy(model)).toEqual([0, 1]);
    world.provider.clearScripts();
    expect(await triedBy(model)).toEqual([1]);
    const before = world.mirrored.length;
    await world.publishCatalog(({ sources }) => {
      const at = sources.findIndex(({ id }) => id === model.ids[0]);
      sources[at] = { ...(sources[at] as (typeof sources)[number]), weight: 2 };
    });
    await until('the edge has the catalog', () =>
      world.mirrored.slice(before).some(({ revision }) => revision === world.revision()),
    );
    expect(await triedBy(model)).toEqual([0]);
  });

  test('enters cooldown for an account-related error only after several accounts', async () => {
    const model = await twoSources();
    say(model, 'a', 403, '<html>Forbidden</html>', 'text/html');
    for (let call = 0; call < 2 * BREAKER_FAILURES; call += 1) expect(await triedBy(model)).toEqual([0, 1]);
    for (let account = 1; account < REFUSED_ACCOUNTS; account += 1) {
      world.admission.account = `account-${account}`;
      expect(await triedBy(model)).toEqual([0, 1]);
    }
    expect(await triedBy(model)).toEqual([1]);
  });
});

describe('a non-streamed response that the provider marks as failed', () => {
  const failed = (code: string): string =>
    JSON.stringify({
      id: 'resp_1',
      object: 'response',
      status: 'failed',
      error: { code, message: 'It failed.' },
      output: [],
    });

  test('is relayed unchanged without a charge if its error class is final', async () => {
    const model = await twoSources();
    say(model, 'a', 200, failed('invalid_prompt'));
    for (let call = 0; call <= BREAKER_FAILURES; call += 1) {
      const answer = await ask(model, RESPONSES);
      expect([answer.status, answer.body.toString()]).toEqual([200, failed('invalid_prompt')]);
      expect(await eventOf(answer)).toMatchObject({
        outcome: 'voided',
        amountNanoUsd: 0,
        status: 200,
        attempts: [{ source: model.ids[0], outcome: 'broken' }],
      });
    }
  });

  test('causes an attempt at the next source, and is relayed from the last one', async () => {
    const model = await twoSources();
    say(model, 'a', 200, failed('server_error'));
    expect(JSON.parse((await ask(model, RESPONSES)).body.toString())).not.toMatchObject({ status: 'failed' });
    say(model, 'b', 200, failed('server_error'));
    const answer = await ask(model, RESPONSES);
    expect([answer.status, answer.body.toString()]).toEqual([200, failed('server_error')]);
    const event = await eventOf(answer);
    expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0 });
    expect(event.attempts).toHaveLength(2);
  });

  test('is charged by its usage if it is only incomplete', async () => {
    const model = await twoSources();
    const usage = { input_tokens: 3, output_tokens: 5, total_tokens: 8 };
    say(model, 'a', 200, JSON.stringify({ id: 'resp_1', object: 'response', status: 'incomplete', output: [], usage }));
    expect(await eventOf(await ask(model, RESPONSES))).toMatchObject({ outcome: 'settled', amountNanoUsd: 13_000 });
  });
});

describe.each(FORMATS)('$path: an error within a stream', (format) => {
  const SECRETS = 'Rate limit of organization org-SECRETabcdef12 reached, see https://SECRET.example/x';
  const inside = (type: string, message: string): string => {
    if (format === RESPONSES) {
      const failed = {
        type: 'response.failed',
        sequence_number: 2,
        response: { id: 'resp_1', error: { code: type, message } },
      };
      return `event: response.failed\ndata: ${JSON.stringify(failed)}\n\n`;
    }
    return `event: error\ndata: ${JSON.stringify({ type: 'error', error: { type, code: type, message } })}\n\n`;
  };

  /** Reads a stream until it ends or breaks. */
  async function stream(model: OwnModel): Promise<{ seen: string; event: UsageEvent }> {
    const answer = await begin(world.edge.url, format.path, format.request({ model: model.model, stream: true }));
    let seen = '';
    answer.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    await new Promise((resolve) => answer.on('close', resolve).on('error', resolve));
    return { seen, event: await eventOf(answer) };
  }

  test('is relayed without internal data, and a rate limit starts a cooldown', async () => {
    const model = await twoSources();
    say(model, 'a', 200, format.first + inside('rate_limit_error', SECRETS), 'text/event-stream');
    const { seen, event } = await stream(model);
    expect(seen.startsWith(format.first)).toBe(true);
    expect(seen).not.toContain('SECRET');
    if (format.relaysErrors) expect(seen).toContain('Rate limit of');
    else expect(seen).toContain('rate_limit_exceeded');
    expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0, attempts: [{ source: model.ids[0] }] });
    expect((await stream(model)).event.attempts).toMatchObject([{ source: model.ids[1] }]);
  });

  test('opens the breaker for a failure, not for an error that the client caused', async () => {
    for (const [type, opens] of [
      ['invalid_request_error', false],
      ['server_error', true],
    ] as const) {
      const model = await twoSources();
      say(model, 'a', 200, format.first + inside(type, 'no'), 'text/event-stream');
      for (let call = 0; call < BREAKER_FAILURES; call += 1) await stream(model);
      expect((await stream(model)).event.attempts[0]?.source).toBe(model.ids[opens ? 1 : 0]);
    }
  });

  test("is sent in the endpoint's error format if it is final and the first event", async () => {
    const model = await twoSources();
    const early = format === RESPONSES ? format.first.slice(0, format.first.indexOf('\n\n') + 2) : '';
    const wire = early + inside('invalid_request_error', 'prompt is too long: 2 tokens > 1 maximum');
    say(model, 'a', 200, wire, 'text/event-stream');
    const { seen, event } = await stream(model);
    expect(event).toMatchObject({ outcome: 'voided', amountNanoUsd: 0 });
    expect(event.attempts).toHaveLength(1);
    if (format.relaysErrors) expect(seen).toBe(wire);
    else
      expect(JSON.parse(seen).error).toMatchObject({
        code: 'invalid_request',
        message: 'prompt is too long for this model',
      });
  });
});

test("a provider's error text for a refused body is logged without secrets", async () => {
  const model = await twoSources();
  say(model, 'a', 400, error('temperature is too hot for key sk-proj-CANARY0123456789abcdef'));
  const answer = await send(world.edge.url, PATH, chat({ model: model.model }));
  expect(answer.status).toBe(400);
  const facts = {
    source: model.ids[0],
    class: 'body',
    status: 400,
    requestId: answer.headers['x-gateway-request-id'],
    providerText: expect.stringContaining('temperature is too hot'),
  };
  expect(world.log).toContainEqual(expect.objectContaining({ level: 'info', facts: expect.objectContaining(facts) }));
  expect(JSON.stringify(world.log)).not.toContain('CANARY');
});
