import { expect, test } from '@jest/globals';
import { NAMED_IDS_MAX, findStoredIds, type StoredIdReference } from './answer-names.js';
import { ENDPOINT_TABLE, type EndpointSpec } from '../formats/endpoints.js';
import { scanObject } from '../json/json-scanner.js';

function namesIn(path: string, body: string): ReturnType<typeof findStoredIds> {
  const bytes = Buffer.from(body);
  const scanned = scanObject(bytes);
  if (!scanned.ok) throw new Error(`${scanned.problem} at ${scanned.at}`);
  return findStoredIds(ENDPOINT_TABLE.get(path) as EndpointSpec, bytes, scanned.members);
}

/** Formats kind, ID and field of each ID. */
function shortOf(named: readonly StoredIdReference[]): string[] {
  return named.map(({ kind, id, param }) => `${kind} ${id} ${param}`);
}

const item = (fields: object): string => JSON.stringify({ input: [fields] });
const tool = (fields: object): string => JSON.stringify({ tools: [fields] });

test.each<[string, string, string[]]>([
  ['a previous response', '{"previous_response_id":"resp_1"}', ['response resp_1 previous_response_id']],
  ['no previous response', '{"previous_response_id":null}', []],
  ['an escaped ID', '{"previous_response_id":"resp\\u005f1"}', ['response resp_1 previous_response_id']],
  ['an empty ID', '{"previous_response_id":""}', ['response  previous_response_id']],
  ['a number', '{"previous_response_id":17}', ['response 17 previous_response_id']],
  ['a conversation', '{"conversation":"conv_1"}', ['conversation conv_1 conversation']],
  ['a conversation object', '{"conversation":{"id":"conv_1"}}', ['conversation conv_1 conversation']],
  ['a conversation object without an ID', '{"conversation":{}}', ['conversation {} conversation']],
  ['an item reference', item({ type: 'item_reference', id: 'msg_1' }), ['item msg_1 input']],
  ['a reference with content', item({ type: 'item_reference', id: 'msg_1', content: 'x' }), ['item msg_1 input']],
  ['a bare ID', item({ id: 'msg_1' }), ['item msg_1 input']],
  ['an ID with a null type', item({ type: null, id: 'msg_1' }), ['item msg_1 input']],
  ['an ID that is not a string', item({ id: 5 }), ['item 5 input']],
  ['a null ID', item({ id: null }), []],
  ['a message by its ID', item({ type: 'message', role: 'assistant', id: 'msg_1' }), ['item msg_1 input']],
  ['a message without content', item({ type: 'message', id: 'msg_1', content: [] }), ['item msg_1 input']],
  ['a message with other members', item({ type: 'message', id: 'msg_1', extra: 'x' }), ['item msg_1 input']],
  ['a whole message', item({ type: 'message', id: 'msg_1', content: 'Hi' }), []],
  ['a whole message without a type', item({ role: 'user', id: 'msg_1', content: [{ text: 'Hi' }] }), []],
  ['reasoning by its ID', item({ type: 'reasoning', id: 'rs_1', summary: [] }), ['item rs_1 input']],
  ['reasoning with a summary', item({ type: 'reasoning', id: 'rs_1', summary: [{ text: 'x' }] }), ['item rs_1 input']],
  ['encrypted reasoning', item({ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }), []],
  ['reasoning with its text', item({ type: 'reasoning', id: 'rs_1', content: [{ text: 'x' }] }), []],
  ['reasoning without an ID', item({ type: 'reasoning', summary: [], encrypted_content: null }), []],
  ['an image by its ID', item({ type: 'image_generation_call', id: 'ig_1', size: 'auto' }), ['item ig_1 input']],
  ['an image with its content', item({ type: 'image_generation_call', id: 'ig_1', result: 'iVBO' }), []],
  ['a compaction', item({ type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAA' }), []],
  ['a whole function call', item({ type: 'function_call', id: 'fc_1', call_id: 'c', name: 'f', arguments: '' }), []],
  ['a function call by its ID', item({ type: 'function_call', id: 'fc_1', status: 'completed' }), ['item fc_1 input']],
  ['an output', item({ type: 'function_call_output', id: 'fco_1', call_id: 'c', output: '' }), []],
  ['a web search', item({ type: 'web_search_call', id: 'ws_1', action: { type: 'search' } }), []],
  ['a search by its ID', item({ type: 'web_search_call', id: 'ws_1', status: 'completed' }), ['item ws_1 input']],
  ['a type with the name of an object member', item({ type: 'constructor', id: 'x_1' }), ['item x_1 input']],
  ['an ID in another case', '{"input":[{"type":"item_reference","ID":"msg_1"}]}', ['item msg_1 input']],
  ['content in another case', '{"input":[{"id":"msg_1","Content":"x"}]}', ['item msg_1 input']],
  ['an escaped name', '{"input":[{"\\u0069d":"msg_1"}]}', ['item msg_1 input']],
  ['two IDs', '{"input":[{"id":"msg_1","id":"msg_2"}]}', ['item msg_1 input', 'item msg_2 input']],
  ['two types', '{"input":[{"id":"m","type":"message","type":"item_reference","content":"x"}]}', ['item m input']],
  ['content that is replaced by null', '{"input":[{"id":"m","content":"x","content":null}]}', ['item m input']],
  [
    'a container of a replayed call',
    item({ type: 'code_interpreter_call', id: 'ci_1', code: '1', container_id: 'cntr_1' }),
    ['container cntr_1 input'],
  ],
  [
    'a container of a replayed shell call',
    item({ type: 'shell_call', call_id: 'c', environment: { type: 'container_reference', container_id: 'cntr_1' } }),
    ['container cntr_1 input'],
  ],
  ['a string as input', '{"input":"resp_1"}', []],
  ['a container', tool({ type: 'code_interpreter', container: 'cntr_1' }), ['container cntr_1 tools']],
  ['an automatic container', tool({ type: 'code_interpreter', container: { type: 'auto', file_ids: ['f'] } }), []],
  [
    'a container of a shell',
    tool({ type: 'shell', environment: { type: 'container_reference', container_id: 'cntr_1' } }),
    ['container cntr_1 tools'],
  ],
  ['an automatic shell', tool({ type: 'shell', environment: { type: 'container_auto' } }), []],
  [
    'a container in a namespace',
    tool({ type: 'namespace', tools: [{ type: 'code_interpreter', container: 'cntr_1' }] }),
    ['container cntr_1 tools'],
  ],
  [
    'a container of a tool that an item adds',
    item({
      type: 'additional_tools',
      tools: [{ type: 'namespace', tools: [{ type: 'code_interpreter', container: 'c' }] }],
    }),
    ['container c input'],
  ],
  ['a parameter of a function', tool({ type: 'function', parameters: { container: 'nginx' } }), []],
  ['files, vector stores, prompts', '{"prompt":{"id":"pmpt_1"},"tools":[{"vector_store_ids":["vs_1"]}]}', []],
  [
    'the same ID twice',
    JSON.stringify({ input: [{ id: 'msg_1' }, { type: 'item_reference', id: 'msg_1' }] }),
    ['item msg_1 input'],
  ],
])('answerNames() of a responses request: %s', (_name, body, expected) => {
  expect(shortOf(namesIn('/v1/responses', body).named)).toEqual(expected);
});

test.each<[string, string, string[]]>([
  ['a container', '{"container":"container_1"}', ['container container_1 container']],
  ['a container object', '{"container":{"id":"container_1","skills":[]}}', ['container container_1 container']],
  ['skills alone', '{"container":{"skills":[]}}', []],
  ['an object with a null ID', '{"container":{"id":null}}', []],
  ['no container', '{"container":null}', []],
  ['fields of another endpoint', '{"previous_response_id":"resp_1"}', []],
])('answerNames() of a messages request: %s', (_name, body, expected) => {
  for (const path of ['/v1/messages', '/v1/messages/count_tokens']) {
    expect(shortOf(namesIn(path, body).named)).toEqual(expected);
  }
});

test('answerNames() finds nothing on other endpoints', () => {
  const body = '{"previous_response_id":"resp_1","container":"c","input":[{"id":"msg_1"}]}';
  expect(namesIn('/v1/chat/completions', body).named).toEqual([]);
});

test('answerNames() cuts an ID that is too long and marks it as unusable', () => {
  const { named } = namesIn('/v1/responses', `{"previous_response_id":"${'x'.repeat(300)}"}`);
  expect(named).toMatchObject([{ id: expect.stringMatching(/^x{255}$/), isUnusable: true }]);
});

test('answerNames() stops one above the bound of IDs', () => {
  const input = Array.from({ length: NAMED_IDS_MAX + 10 }, (_, at) => ({ id: `msg_${at}` }));
  expect(namesIn('/v1/responses', JSON.stringify({ input })).named).toHaveLength(NAMED_IDS_MAX + 1);
});

test.each([
  ['{}', true],
  ['{"store":null}', true],
  ['{"store":true}', true],
  ['{"store":false}', false],
])('a response to %s is stored: %s', (body, isStored) => {
  expect(namesIn('/v1/responses', body).isStored).toBe(isStored);
});
