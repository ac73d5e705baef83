import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { chat, send, type Answer } from '../../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../../test/edge-world.js';
import { publishOwnModels, type OwnModel } from '../../test/own-models.js';
import { onRequest, startRawProvider, type RawProvider } from '../../test/raw-provider.js';
import { OUTPUT_TOKENS_UNKNOWN } from '../parse/output-bound.js';

let world: EdgeWorld;
let endless: RawProvider;
/** `strict` has sources that reject endless limits; `mixed` also has one that accepts them. */
let mixed: OwnModel;
let strict: OwnModel;

beforeAll(async () => {
  world = await startEdgeWorld();
  endless = await startRawProvider((socket) => onRequest(socket, () => socket.end(ANSWER)));
  const [first] = world.provider.urls;
  [mixed, strict] = (await publishOwnModels(world, [
    [{ url: first }, { url: endless.url, more: { unlimitedMaxTokens: [-1] } }],
    [{ url: first, more: { unlimitedMaxTokens: [-2] } }],
  ])) as [OwnModel, OwnModel];
}, 60_000);
afterAll(async () => {
  await endless.stop();
  await world.stop();
}, 60_000);

const BODY = JSON.stringify({
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 2 },
});
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${BODY.length}\r\nconnection: close\r\n\r\n${BODY}`;

const ask = ({ model }: OwnModel, max_tokens: number): Promise<Answer> =>
  send(world.edge.url, '/v1/chat/completions', chat({ model, max_tokens }));

test('an endless limit goes to a source that accepts it; the longest response is held', async () => {
  const answer = await ask(mixed, -1);
  expect(answer.status).toBe(200);
  const { entry } = world.admission.admits.at(-1) ?? {};
  expect(entry).toMatchObject({ model: mixed.model, bounds: { outputTokensMax: OUTPUT_TOKENS_UNKNOWN } });
  const event = await world.eventOf(String(answer.headers['x-gateway-request-id']));
  expect(event.attempts.map(({ source }) => source)).toEqual([mixed.ids[1]]);
});

test.each<[string, () => OwnModel, number]>([
  ['another negative limit', () => mixed, -2],
  ['an endless limit that no source accepts', () => strict, -1],
])('%s is refused', async (_name, model, limit) => {
  const { status, body } = await ask(model(), limit);
  expect([status, JSON.parse(body.toString())]).toMatchObject([
    400,
    { error: { code: 'invalid_request', param: 'max_tokens', message: expect.stringContaining('at least 0') } },
  ]);
});

test('a limit of 0 is sent to every source', async () => {
  const answer = await ask(mixed, 0);
  const event = await world.eventOf(String(answer.headers['x-gateway-request-id']));
  expect(event.attempts.map(({ source }) => source)).toEqual([mixed.ids[0]]);
});
