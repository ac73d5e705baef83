import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { startProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { chat, HELLO } from '../test/call.js';
import type { TestResponse } from '../test/call.js';
import { fetchSpans } from '../test/collected-spans.js';
import type { CollectedSpan } from '../test/collected-spans.js';
import { sharedSystem } from '../test/system.js';

const CALLER_SPAN = '1'.repeat(16);
const [UNSET, ERROR] = [0, 2];
/** Concurrent requests that the default plan allows. */
const CALLS_AT_ONCE = 3;
const [SERVER, CLIENT, PRODUCER, CONSUMER] = [2, 3, 4, 5];
const PROMPT = [{ role: 'user', content: 'a prompt that no span may show' }];

const system = sharedSystem();
const simulator = await startProviderSimulator();
afterAll(() => simulator.close());

test('a streamed call is one trace through all services if the client sets the flag', async () => {
  const { secret } = await system.operator.account('5.00');
  const model = await system.operator.model({ inputPerMillion: '1.00', outputPerMillion: '2.00' }, simulator.urls);
  const upstream = `up-${model.id.slice('test/'.length)}`;
  const body = { model: model.id, messages: PROMPT, stream: true };
  const [silent] = await answered(secret, body, '00');
  const failing = { status: 503, headers: { 'content-type': 'application/json' } };
  simulator.script({ model: upstream, times: 1, steps: [failing, { chunk: '{}' }, { end: 'normal' }] });
  const [traced, answer] = await answered(secret, body, '01');
  expect(answer).toMatchObject({ cut: false, text: expect.stringContaining('[DONE]') });
  // The gateway does not send its trace IDs to providers.
  const received = simulator.calls({ model: upstream });
  expect(received).toHaveLength(3);
  const names = received.flatMap(({ headers }) => headers.map(([name]) => name.toLowerCase()));
  expect(names).not.toContain('traceparent');

  const expected = [
    'POST /v1/chat/completions',
    'POST /v1/chat/completions > admit',
    'POST /v1/chat/completions > admit > admission.admit',
    'POST /v1/chat/completions > admit > admission.admit > EVALSHA',
    `POST /v1/chat/completions > chat ${upstream}`,
    'POST /v1/chat/completions > release',
    'POST /v1/chat/completions > send USAGE',
    'POST /v1/chat/completions > send USAGE > billing.settle',
    'POST /v1/chat/completions > send USAGE > billing.settle > settle batch',
  ];
  const attemptsOf = (all: readonly CollectedSpan[]) => all.filter(({ name }) => name === `chat ${upstream}`);
  // Each process sends its spans at its own time.
  const spans = await until('the whole trace', async () => {
    const all = await fetchSpans(system);
    expect(all.filter(({ traceId }) => traceId === silent)).toEqual([]);
    const own = all.filter(({ traceId }) => traceId === traced);
    const paths = new Set(pathsOf(own));
    return expected.every((path) => paths.has(path)) && attemptsOf(own).length >= 2 && own;
  });
  const ids = new Set(spans.map(({ spanId }) => spanId));
  const [root, ...otherRoots] = spans.filter(({ parentSpanId }) => !ids.has(parentSpanId));
  expect(otherRoots).toEqual([]);
  expect(root).toMatchObject({
    service: 'edge-proxy',
    name: 'POST /v1/chat/completions',
    kind: SERVER,
    parentSpanId: CALLER_SPAN,
    status: {},
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': model.id,
      'gateway.request_id': answer.requestId,
    },
  });
  // Compares the parents of all spans, regardless of the order of arrival. A request may run
  // several scripts.
  expect([...new Set(pathsOf(spans))].sort()).toEqual(expected);
  const attempts = attemptsOf(spans);
  expect(attempts).toHaveLength(2);
  expect(attempts).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        kind: CLIENT,
        status: { code: ERROR },
        attributes: expect.objectContaining({ 'error.type': 'rejected', 'http.response.status_code': 503 }),
      }),
      expect.objectContaining({
        kind: CLIENT,
        status: { code: UNSET },
        attributes: expect.objectContaining({
          'gateway.attempt.outcome': 'completed',
          'gen_ai.request.model': upstream,
          'gen_ai.usage.input_tokens': expect.any(Number),
          'gen_ai.usage.output_tokens': expect.any(Number),
        }),
      }),
    ]),
  );
  expect(spans.find(({ name }) => name === 'send USAGE')).toMatchObject({ service: 'edge-proxy', kind: PRODUCER });
  expect(spans.find(({ name }) => name === 'billing.settle')).toMatchObject({ service: 'billing', kind: CONSUMER });
  expect(JSON.stringify(spans)).not.toContain('a prompt that');
});

test('the spans of calls are linked with the transaction that settles them', async () => {
  const { secret } = await system.operator.account('5.00');
  const model = await system.operator.model({ inputPerMillion: '1.00', outputPerMillion: '2.00' }, [simulator.urls[0]]);
  const calls = Array.from({ length: CALLS_AT_ONCE }, () =>
    answered(secret, { model: model.id, messages: HELLO }, '01'),
  );
  const traces = (await Promise.all(calls)).map(([trace]) => trace);
  await until('each call has its transaction', async () => {
    const all = await fetchSpans(system);
    const settled = all.filter(({ name, traceId }) => name === 'billing.settle' && traces.includes(traceId));
    const transactions = all.filter(({ name }) => name === 'settle batch');
    const isSettledBy = (event: CollectedSpan, transaction: CollectedSpan): boolean =>
      transaction.parentSpanId === event.spanId ||
      (transaction.links.some(({ spanId }) => spanId === event.spanId) &&
        event.links.some(({ spanId }) => spanId === transaction.spanId));
    return (
      settled.length >= traces.length &&
      settled.every((event) => transactions.some((transaction) => isSettledBy(event, transaction)))
    );
  });
});

/**
 * Sends a request with a new trace ID. Repeats it with another ID if the machine was too busy to
 * decide it in time.
 */
function answered(secret: string, body: Record<string, unknown>, flag: '00' | '01'): Promise<[string, TestResponse]> {
  return until('the call is answered', async () => {
    const trace = randomBytes(16).toString('hex');
    const headers = { traceparent: `00-${trace}-${CALLER_SPAN}-${flag}` };
    const answer = await chat(`${system.chatBaseUrl}/chat/completions`, secret, body, headers);
    return answer.status === 200 && [trace, answer];
  });
}

/** Returns the path of names from the root to each span. */
function pathsOf(spans: readonly CollectedSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const pathOf = ({ name, parentSpanId }: CollectedSpan): string => {
    const parent = byId.get(parentSpanId);
    return parent === undefined ? name : `${pathOf(parent)} > ${name}`;
  };
  return spans.map(pathOf);
}
