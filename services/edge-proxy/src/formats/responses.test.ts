import { expect, test } from '@jest/globals';
import { gatewayError } from '@gateway/contracts/errors';
import { DEEP_JSON } from '../../test/deep-json.js';
import { eventText, meterText, type MeterRun } from '../../test/meter-text.js';
import { JsonReducer } from '../json/json-reducer.js';
import { RULES } from '../../test/pricing-rules.js';
import { toResponseShape, KEPT_ANSWER_BYTES_MAX } from './answer-shape.js';
import { EventSplitter } from './event-stream.js';
import type { MeterResult } from './meter.js';
import { READERS } from './readers.js';

const reader = READERS.response;
const NONE = { input: 0, cachedInput: 0, cacheWrite: 0, cacheWrite1h: 0, output: 0 };
const USAGE = {
  input_tokens: 12,
  input_tokens_details: { cached_tokens: 5 },
  output_tokens: 34,
  output_tokens_details: { reasoning_tokens: 30 },
  total_tokens: 46,
};
const READ = { ...NONE, input: 12, cachedInput: 5, output: 34 };

const event = (type: string, fields: object = {}, number = 0) => ({ type, sequence_number: number, ...fields });
const state = (type: string, fields: object = {}, number = 0) =>
  event(type, { response: { id: 'resp_1', created_at: 7, model: 'up', usage: null, ...fields } }, number);
const text = (delta: string, number = 0) => event('response.output_text.delta', { delta }, number);

const meter = (...events: { type: string }[]): MeterRun => meterText(reader, eventText(events));

test('an output reported before further text is the least', () => {
  const running = { usage: { input_tokens: 9, output_tokens: 0, total_tokens: 9 } };
  const { result } = meter(state('response.in_progress', running), text('word '), state('response.completed'));
  expect(result).toMatchObject({ usage: null, begun: { input: 9, output: null, outputAtLeast: 0 }, deliveredBytes: 5 });
});

test('a stream is metered: text, usage, marker', () => {
  const { seen, result } = meter(
    state('response.created'),
    state('response.in_progress'),
    text('Hé'),
    text('llo'),
    event('response.output_text.done', { text: 'Héllo' }),
    state('response.completed', { usage: USAGE }),
  );
  expect(seen).toEqual(['early', 'early', 'pass', 'pass', 'pass', 'final']);
  const ids = { stored: ['resp_1'], containers: [], isCut: false };
  expect(result).toEqual({ usage: READ, problem: null, deliveredBytes: 6, finished: true, ids });
});

test.each([
  ['response.completed', 'final', true],
  ['response.incomplete', 'final', true],
  ['response.cancelled', 'final', true],
  ['response.failed', 'error', false],
])('%s is %s and has its usage', (type, seen, finished) => {
  const metered = meter(text('a'), state(type, { usage: USAGE }));
  expect(metered.seen).toEqual(['pass', seen]);
  expect(metered.result).toMatchObject({ usage: READ, finished });
});

test.each([
  ['an error event', 'event: error\ndata: {"type":"error","code":"x","message":"y"}\n\n', 'error'],
  ['an error event whose data is not JSON', 'event: error\ndata: nonsense\n\n', 'error'],
  ['a failure whose data is not JSON', 'event: response.failed\ndata: nonsense\n\n', 'error'],
  ['an error object', 'data: {"error":{"message":"x"}}\n\n', 'error'],
  ['error null', 'data: {"type":"response.queued","error":null}\n\n', 'early'],
  ['a marker without its event field', 'data: {"type":"response.completed","response":{}}\n\n', 'final'],
  ['an unknown event', 'event: response.new\ndata: {"type":"response.new"}\n\n', 'pass'],
  ['a comment', ': note\n\n', 'early'],
  ['data that is not JSON', 'data: [DONE]\n\n', 'early'],
])('read() treats %s as %s', (_name, stream, seen) => {
  expect(meterText(reader, stream).seen).toEqual([seen]);
});

test.each<[string, unknown, MeterResult['usage'], MeterResult['problem']]>([
  ['absent', undefined, null, 'absent'],
  ['null', null, null, 'absent'],
  ['zero', { input_tokens: 0, output_tokens: 0 }, NONE, null],
  ['without details', { input_tokens: 3, output_tokens: 4 }, { ...NONE, input: 3, output: 4 }, null],
  [
    'with written input',
    { ...USAGE, input_tokens_details: { cached_tokens: 5, cache_write_tokens: 6 } },
    { ...READ, cacheWrite: 6 },
    null,
  ],
  ['without output', { input_tokens: 3 }, null, 'malformed'],
  ['negative', { ...USAGE, output_tokens: -1 }, READ, null],
  ['details of another type', { ...USAGE, input_tokens_details: 5 }, { ...READ, cachedInput: 0 }, null],
  ['a number', 46, null, 'malformed'],
])('usage: %s', (_name, usage, read, problem) => {
  expect(meter(text('a'), state('response.completed', { usage })).result).toMatchObject({ usage: read, problem });
  const plain = reader.readPlain(Buffer.from(JSON.stringify({ id: 'resp_1', output: [], error: null, usage })));
  expect(plain).toMatchObject({ usage: read, problem, finished: true });
});

test.each<[string, object, number]>([
  ['text', text('abc'), 3],
  ['a refusal', event('response.refusal.delta', { delta: 'no' }), 2],
  ['reasoning', event('response.reasoning_summary_text.delta', { delta: 'hm' }), 2],
  ['arguments', event('response.function_call_arguments.delta', { delta: '{"a":1}' }), 7],
  ['the name of a function', event('response.output_item.added', { item: { type: 'function_call', name: 'fn' } }), 2],
  ['audio', event('response.audio.delta', { delta: 'AAAA' }), 0],
  ['text that was sent before', event('response.output_text.done', { text: 'abc' }), 0],
])('text of %s is counted correctly', (_name, each, bytes) => {
  expect(meter({ type: '', ...each }).result.deliveredBytes).toBe(bytes);
});

test('text of a plain response is counted', () => {
  const output = [
    { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'zzzz' },
    {
      type: 'message',
      id: 'm',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'abc' }],
    },
    { type: 'function_call', id: 'f', call_id: 'c', name: 'fn', arguments: '{}' },
  ];
  expect(reader.readPlain(Buffer.from(JSON.stringify({ output }))).deliveredBytes).toBe(9);
});

test.each([
  ['not JSON', '<html>', 'malformed'],
  ['an error', '{"error":{"message":"x"}}', 'absent'],
  ['not a response', '{"detail":"Not Found"}', 'absent'],
  ['a failed response', '{"id":"resp_1","status":"failed","error":{"code":"server_error"},"output":[]}', 'absent'],
])('a plain body that is %s is not a response', (_name, body, problem) => {
  expect(reader.readPlain(Buffer.from(body))).toMatchObject({
    usage: null,
    problem,
    deliveredBytes: 0,
    finished: false,
  });
});

test('a failed response is relayed unchanged unless its error must be cleaned', () => {
  const response = (message: string): Buffer =>
    Buffer.from(
      JSON.stringify({ id: 'resp_1', status: 'failed', error: { code: 'rate_limit_exceeded', message }, output: [] }),
    );
  const plain = response('The request was refused.');
  expect(reader.readPlain(plain).failure).toMatchObject({
    relayed: plain,
    reported: { message: 'The request was refused.' },
  });
  const leaking = reader.readPlain(
    response('Limit of organization org-SECRETabcdef12 reached, see https://x.example/SECRET'),
  );
  const relayed = JSON.parse(String(leaking.failure?.relayed));
  expect(relayed).toMatchObject({ id: 'resp_1', status: 'failed', error: { code: 'rate_limit_exceeded' }, output: [] });
  expect(relayed.error.message).toContain('[removed]');
  expect(relayed.error.message).not.toContain('SECRET');
});

const LEAKING = 'See https://x.example/SECRET.';

test.each([
  ['nothing to remove', 'The request was refused.', true],
  ['a text to remove', LEAKING, false],
])('a failed response with deep nesting and %s is relayed', (_name, message, isSame) => {
  const error = JSON.stringify({ code: 'server_error', message });
  const text = `{"id":"resp_1","status":"failed","error":${error},"output":[${DEEP_JSON}]}`;
  const { failure } = reader.readPlain(Buffer.from(text));
  const relayed = String(failure?.relayed);
  expect(relayed === text).toBe(isSame);
  expect(relayed).not.toContain('SECRET');
  expect(JSON.parse(relayed)).toMatchObject({ id: 'resp_1', status: 'failed', output: [expect.any(Array)] });
  const { seen } = meterText(reader, `data: {"type":"response.failed","response":${text}}\n\n`);
  expect(seen).toEqual(['error']);
});

test('an error nested too deeply has no text and is relayed without its depth', () => {
  const detail = '{"detail":'.repeat(100_000) + '1' + '}'.repeat(100_000);
  const { failure } = reader.readPlain(Buffer.from(`{"object":"response","status":"failed","error":${detail}}`));
  expect(failure?.reported).toBeNull();
  expect(String(failure?.relayed).length).toBeLessThan(1_000);
});

test('a failed response loses error texts beyond 8,000 characters', () => {
  const details = Array.from({ length: 4 }, (_each, index) => `${index} ${'not so good. '.repeat(230)}`);
  const error = { code: 'x', message: 'Bad.', details };
  const { failure } = reader.readPlain(Buffer.from(JSON.stringify({ object: 'response', status: 'failed', error })));
  const relayed = JSON.parse(String(failure?.relayed)) as { error: typeof error };
  expect([relayed.error.message, ...relayed.error.details].map((each) => each.length)).toEqual([4, 2_000, 2_000, 0, 0]);
});

const item = (type: string, fields: object = {}) => event('response.output_item.added', { item: { type, ...fields } });

test.each<[string, { type: string }, string]>([
  ['a response that is created', state('response.created'), 'early'],
  ['one in a queue', state('response.queued'), 'early'],
  ['one in progress', state('response.in_progress'), 'early'],
  ['an empty message', item('message', { id: 'm', role: 'assistant', status: 'in_progress', content: [] }), 'early'],
  ['empty reasoning', item('reasoning', { id: 'r', summary: [] }), 'early'],
  ['an empty part', event('response.content_part.added', { part: { type: 'output_text', text: '' } }), 'early'],
  ['an empty delta', text(''), 'early'],
  ['a list of tools', event('response.mcp_list_tools.in_progress'), 'early'],
  ['a keepalive', event('keepalive'), 'early'],
  ['text', text('a'), 'pass'],
  ['encrypted reasoning', item('reasoning', { summary: [], encrypted_content: 'zz' }), 'pass'],
  ['a part with text', event('response.content_part.added', { part: { type: 'output_text', text: 'a' } }), 'pass'],
  ['a called function', item('function_call', { name: 'fn', arguments: '' }), 'pass'],
  ['a search', item('web_search_call', { id: 'w', status: 'in_progress' }), 'pass'],
  ['progress of a search', event('response.web_search_call.searching'), 'pass'],
  ['an image', event('response.image_generation_call.partial_image', { partial_image_b64: 'AA' }), 'pass'],
])('read() holds an event without content (%s): %s', (_name, each, seen) => {
  expect(meter(each).seen).toEqual([seen]);
});

test('a cancelled response is a response with its usage', () => {
  const plain = { object: 'response', status: 'cancelled', output: [], error: null, usage: USAGE };
  expect(reader.readPlain(Buffer.from(JSON.stringify(plain)))).toMatchObject({ usage: READ, finished: true });
});

test('a cut stream fails its own response, sends an error and ends normally', () => {
  const { meter: cut } = meter(state('response.created', {}, 0), text('a', 1), text('b', 2));
  const sseEvents = new EventSplitter().push(cut.cutEnding(gatewayError('upstream_timeout'), 'r-1'));
  expect(sseEvents.map((sseEvent) => sseEvent.event)).toEqual(['response.failed', 'error']);
  const [failed, error] = sseEvents.map((sseEvent) => JSON.parse(String(sseEvent.data)));
  expect(failed).toMatchObject({
    type: 'response.failed',
    sequence_number: 3,
    response: {
      id: 'resp_1',
      created_at: 7,
      model: 'up',
      status: 'failed',
      output: [],
      error: { code: 'upstream_timeout' },
    },
  });
  expect(error).toMatchObject({
    type: 'error',
    sequence_number: 4,
    code: 'upstream_timeout',
    param: null,
    error: { code: 'upstream_timeout', type: 'api_error', request_id: 'r-1' },
  });
  expect(error.message).toBe(error.error.message);
  expect(error.message).toBe(failed.response.error.message);
  expect(reader.cutEndsNormally).toBe(true);
});

test.each([
  ['nested too deeply to be serialized', DEEP_JSON, DEEP_JSON],
  ['of another type', '"7"', '7'],
  ['not a time, and longer than any name', '-1', `"${'x'.repeat(10_000)}"`],
])('the ending of a cut stream has null for time and model that are %s', (_name, createdAt, model) => {
  const created = `data: {"type":"","response":{"id":"resp_1","created_at":${createdAt},"model":${model}}}\n\n`;
  const { meter: cut } = meterText(reader, created);
  const [failed] = new EventSplitter().push(cut.cutEnding(gatewayError('upstream_timeout'), 'r-1'));
  expect(JSON.parse(String(failed?.data)).response).toMatchObject({ id: 'resp_1', created_at: null, model: null });
});

test('a stream cut before its response has an ID gets one from the request', () => {
  const { meter: cut } = meter({ type: 'response.new' });
  const [failed] = new EventSplitter().push(cut.cutEnding(gatewayError('upstream_timeout'), 'a-b'));
  expect(JSON.parse(String(failed?.data))).toMatchObject({ sequence_number: 0, response: { id: 'resp_ab' } });
});

test('the IDs of a long body are kept next to large content', () => {
  const large = 'x'.repeat(6_000);
  const output = Array.from({ length: 400 }, (_, at) => ({
    type: 'shell_call',
    action: { commands: [large], env: { note: 'y'.repeat(1_000) } },
    environment: { type: 'container_reference', container_id: `cntr_${at}` },
    id: `sh_${at}`,
  }));
  const reducer = new JsonReducer(toResponseShape(undefined), KEPT_ANSWER_BYTES_MAX);
  reducer.write(Buffer.from(JSON.stringify({ id: 'resp_1', object: 'response', output, usage: USAGE })));
  const { ids } = reader.readPlain(reducer);
  expect(ids?.stored).toEqual(['resp_1', ...output.map(({ id }) => id)]);
  expect(ids?.containers).toEqual(output.map(({ environment }) => environment.container_id));
});

test('a large response keeps members that rules name at unusual places', () => {
  const reportedCostAt = { path: 'billing.sum.total', unit: 'usd' } as const;
  const pricing = { ...RULES, reportedCostAt, unpricedAnswers: { 'place.region': ['us'] }, modelAt: 'served_by' };
  const reducer = new JsonReducer(toResponseShape(pricing), KEPT_ANSWER_BYTES_MAX);
  const output = Array.from({ length: 2_000 }, (_, n) => ({ type: 'message', id: `m${n}`, text: 'x'.repeat(1_000) }));
  const more = { billing: { sum: { total: 0.5 } }, place: { region: 'us' }, served_by: 'another' };
  reducer.write(Buffer.from(JSON.stringify({ object: 'response', id: 'r', output, ...more })));
  const { reported } = reader.readPlain(reducer, { pricing });
  expect(reported).toMatchObject({ costNanoUsd: 500_000_000, unpriced: ['region:us'], model: 'another' });
});
