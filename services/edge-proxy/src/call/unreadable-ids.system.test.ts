import { expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { send, type Answer } from '../../test/client.js';
import { startEdgeWorld, type EdgeWorld } from '../../test/edge-world.js';
import { publishOwnModel, type OwnModel } from '../../test/own-models.js';

/** Admission uses the same NATS server, which does not let the edge read its IDs. */

const WORLD_MS_MAX = 60_000;

async function withWorld(withheld: string, run: (world: EdgeWorld, model: OwnModel) => Promise<void>): Promise<void> {
  const world = await startEdgeWorld({ withheld });
  try {
    const more = { keepsState: true };
    await run(world, await publishOwnModel(world, { url: world.provider.urls[0], more }));
  } finally {
    await world.stop();
  }
}

function ask(url: string, { model }: OwnModel, fields: Record<string, unknown>): Promise<Answer> {
  const isMessage = 'messages' in fields;
  const body = JSON.stringify({ model, ...(isMessage ? { max_tokens: 9 } : { input: 'Say something.' }), ...fields });
  const headers = { 'content-type': 'application/json' };
  return send(url, isMessage ? '/v1/messages' : '/v1/responses', { headers, body });
}

const codeOf = ({ body }: Answer): unknown => (JSON.parse(body.toString()) as { error: { code: unknown } }).error.code;
const idOf = ({ body }: Answer): string => /"id":"(resp_[^"]+)"/.exec(body.toString())?.[1] ?? '';

const FOREIGN: readonly Record<string, unknown>[] = [
  { previous_response_id: 'resp_x' },
  { previous_response_id: 'resp_x', stream: true },
  { input: [{ type: 'item_reference', id: 'msg_x' }] },
  { tools: [{ type: 'code_interpreter', container: 'cntr_x' }] },
  { messages: [], container: 'container_x' },
];

/** Expects 500 `lookup_failed`, a released hold and no attempt for each request. */
async function expectRefused(world: EdgeWorld, model: OwnModel, url: string, each: readonly object[]): Promise<void> {
  const sent = world.provider.calls({ model: model.upstreamModel }).length;
  for (const fields of each) {
    const answer = await ask(url, model, fields as Record<string, unknown>);
    expect([fields, answer.status, codeOf(answer)]).toEqual([fields, 500, 'lookup_failed']);
    // The response does not wait for the release.
    const requestId = answer.headers['x-gateway-request-id'];
    const release = await until('the hold is released', () =>
      world.admission.releases.find(({ id }) => id === requestId),
    );
    expect(release).toMatchObject({ outcome: 'void' });
  }
  expect(world.provider.calls({ model: model.upstreamModel })).toHaveLength(sent);
}

test.each([
  ['no ID can be read', '$JS.API.DIRECT.GET.KV_response-ids.>'],
  ['no ID can be confirmed', '$JS.API.STREAM.MSG.GET.KV_response-ids'],
  ['the store cannot be created', '$JS.API.STREAM.CREATE.KV_response-ids'],
])(
  'requests with foreign IDs get 500 without an attempt while %s',
  (_what, withheld) =>
    withWorld(withheld, async (world, model) => {
      await expectRefused(world, model, world.edge.url, FOREIGN);
      // Every other request is served.
      expect((await ask(world.edge.url, model, { store: false })).status).toBe(200);
    }),
  WORLD_MS_MAX,
);

test(
  'an ID of another edge gets 500 while unreadable and 200 while unconfirmed',
  async () => {
    const statusAtAnother = async (world: EdgeWorld, model: OwnModel): Promise<number> => {
      const previous_response_id = idOf(await ask(world.edge.url, model, {}));
      // This edge has the ID in memory.
      expect((await ask(world.edge.url, model, { previous_response_id })).status).toBe(200);
      const another = await world.startAnother();
      const { status } = await ask(another.url, model, { previous_response_id });
      if (status === 500) await expectRefused(world, model, another.url, [{ previous_response_id }]);
      return status;
    };
    await withWorld('$JS.API.DIRECT.GET.KV_response-ids.>', async (world, model) => {
      expect(await statusAtAnother(world, model)).toBe(500);
    });
    await withWorld('$JS.API.STREAM.MSG.GET.KV_response-ids', async (world, model) => {
      expect(await statusAtAnother(world, model)).toBe(200);
    });
  },
  WORLD_MS_MAX,
);
