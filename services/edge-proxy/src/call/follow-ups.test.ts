import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { send, type Answer } from '../../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../../test/edge-world.js';
import { publishOwnModel, type OwnModel } from '../../test/own-models.js';

const PATH = '/v1/responses';
const NOT_HERE = JSON.stringify({
  error: {
    message: "Previous response with id 'resp_x' not found.",
    type: 'invalid_request_error',
    param: 'previous_response_id',
    code: 'previous_response_not_found',
  },
});

let world: EdgeWorld;
beforeAll(async () => {
  world = await startEdgeWorld();
}, 60_000);
afterAll(() => world.stop(), 60_000);
afterEach(() => world.provider.clearScripts());

const KEEPS = { more: { keepsState: true } };

function ask(model: OwnModel, fields: Record<string, unknown> = {}): Promise<Answer> {
  const body = JSON.stringify({ model: model.model, input: 'Say something.', ...fields });
  return send(world.edge.url, PATH, { headers: { 'content-type': 'application/json' }, body });
}

/** The id of an answer, plain or streamed. */
function idOf({ body }: Answer): string {
  return /"id":"(resp_[^"]+)"/.exec(body.toString())?.[1] ?? '';
}

/** Which sources a call tried, by their number. */
async function triedBy(model: OwnModel, answer: Answer): Promise<number[]> {
  const { attempts } = await world.eventOf(String(answer.headers['x-gateway-request-id']));
  return attempts.map(({ source }) => model.ids.indexOf(source));
}

function script(model: OwnModel, listener: 'a' | 'b', status: number, text?: string): void {
  const steps = text === undefined ? [{ status }] : [{ status }, { chunk: text }];
  world.provider.script({ model: model.upstreamModel, listener, steps });
}

const twoSources = (more = KEEPS): Promise<OwnModel> => {
  const [a, b] = world.provider.urls;
  return publishOwnModel(world, { url: a, ...more }, { url: b, ...more });
};

test.each([false, true])(
  'a follow-up reaches the source of its answer through failover and back; streamed: %s',
  async (stream) => {
    const model = await twoSources();
    script(model, 'a', 503);
    const first = await ask(model, { stream });
    expect(await triedBy(model, first)).toEqual([0, 1]);
    // The first source is well again, and new calls go there.
    const second = await ask(model, { stream });
    expect(await triedBy(model, second)).toEqual([0]);
    const afterFirst = await ask(model, { stream, previous_response_id: idOf(first) });
    expect([afterFirst.status, await triedBy(model, afterFirst)]).toEqual([200, [1]]);
    // Now the first source rests, and new calls go to the second.
    script(model, 'a', 429);
    expect(await triedBy(model, await ask(model))).toEqual([0, 1]);
    expect(await triedBy(model, await ask(model))).toEqual([1]);
    const afterSecond = await ask(model, { stream, previous_response_id: idOf(second) });
    expect([afterSecond.status, await triedBy(model, afterSecond)]).toEqual([200, [0]]);
  },
);

test('an error of the source that has the answer is final', async () => {
  const model = await twoSources();
  const first = await ask(model);
  script(model, 'a', 503);
  const answer = await ask(model, { previous_response_id: idOf(first) });
  expect([answer.status, await triedBy(model, answer)]).toEqual([503, [0]]);
});

test('an unknown answer that one source does not have is asked of the next', async () => {
  const model = await twoSources();
  script(model, 'a', 404, NOT_HERE);
  const answer = await ask(model, { previous_response_id: 'resp_of_long_ago' });
  expect([answer.status, await triedBy(model, answer)]).toEqual([200, [0, 1]]);
});

test.each<[string, Record<string, unknown>, boolean]>([
  ['a request that wants nothing stored', { store: false }, true],
  ['a source that keeps no answers', {}, false],
])('%s: its answer is not remembered', async (_name, fields, keepsState) => {
  const model = await twoSources({ more: { keepsState } });
  script(model, 'a', 503);
  const first = await ask(model, fields);
  expect(await triedBy(model, first)).toEqual([0, 1]);
  const next = await ask(model, { previous_response_id: idOf(first) });
  expect(await triedBy(model, next)).toEqual([0]);
});

test('answers of another account are unknown', async () => {
  const model = await twoSources();
  script(model, 'a', 503);
  const first = await ask(model);
  expect(await triedBy(model, first)).toEqual([0, 1]);
  const own = world.admission.account;
  world.admission.account = 'acc-other';
  try {
    expect(await triedBy(model, await ask(model, { previous_response_id: idOf(first) }))).toEqual([0]);
  } finally {
    world.admission.account = own;
  }
});

test('a source that is no longer one of the model is as unknown', async () => {
  const model = await twoSources();
  script(model, 'a', 503);
  const first = await ask(model);
  world.admission.sources.set(model.model, [model.ids[0] as string]);
  expect(await triedBy(model, await ask(model, { previous_response_id: idOf(first) }))).toEqual([0]);
});
