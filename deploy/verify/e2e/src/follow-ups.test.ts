import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startProviderSimulator } from '@gateway/provider-simulator';
import type { ProviderSimulator } from '@gateway/provider-simulator';
import { chat } from '../test/call.js';
import type { Answer } from '../test/call.js';
import type { TestModel } from '../test/operator.js';
import { sharedSystem } from '../test/system.js';

const PRICES = { inputPerMillion: '1.00', outputPerMillion: '2.00' };

let provider: ProviderSimulator;
let model: TestModel;
let secret: string;
beforeEach(async () => {
  const { operator } = sharedSystem();
  provider = await startProviderSimulator();
  // A profile whose sources keep answers.
  const source = { profile: 'openai', endpoints: ['/v1/responses' as const] };
  model = await operator.model(PRICES, provider.urls, source);
  ({ secret } = await operator.account('10.00'));
});
afterEach(() => provider.close());

/** Asks one of the two edges. */
function ask(edge: 0 | 1, fields: object = {}): Promise<Answer> {
  const url = `${sharedSystem().edgeUrls[edge]}/v1/responses`;
  return chat(url, secret, { model: model.id, input: 'Say something.', ...fields });
}

const idOf = ({ text }: Answer): string => /"id":"(resp_[^"]+)"/.exec(text)?.[1] ?? '';

/** Status, and the sources that were asked, in order. */
async function cameOf(answer: Answer): Promise<[number, ...string[]]> {
  const { attempts } = await sharedSystem().operator.usageRecord(answer.requestId);
  return [answer.status, ...attempts.map(({ sourceId }) => 'ab'.charAt(model.sources.indexOf(sourceId)))];
}

test.each([false, true])(
  'at either edge a follow-up reaches the source of its answer, through failover and back; streamed: %s',
  async (stream) => {
    await provider.closeListener('a');
    const ofB = await ask(0, { stream });
    expect(await cameOf(ofB)).toEqual([200, 'a', 'b']);
    await provider.reopenListener('a');
    const ofA = await ask(1, { stream });
    expect(await cameOf(ofA)).toEqual([200, 'a']);

    // Both are well: each is asked for its own, by the edge that did not see the answer.
    expect(await cameOf(await ask(1, { stream, previous_response_id: idOf(ofB) }))).toEqual([200, 'b']);
    expect(await cameOf(await ask(0, { stream, previous_response_id: idOf(ofA) }))).toEqual([200, 'a']);

    // The first one is away: nobody else has its answer, and new calls go to the other.
    await provider.closeListener('a');
    for (const edge of [0, 1] as const) {
      expect(await cameOf(await ask(edge, { stream, previous_response_id: idOf(ofA) }))).toEqual([502, 'a']);
      expect(await cameOf(await ask(edge, { stream, previous_response_id: idOf(ofB) }))).toEqual([200, 'b']);
      expect(await cameOf(await ask(edge, { stream }))).toEqual([200, 'a', 'b']);
    }

    await provider.reopenListener('a');
    for (const edge of [0, 1] as const) {
      expect(await cameOf(await ask(edge, { stream, previous_response_id: idOf(ofA) }))).toEqual([200, 'a']);
    }
  },
  120_000,
);
