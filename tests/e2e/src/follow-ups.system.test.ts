import { isDeepStrictEqual } from 'node:util';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startProviderSimulator } from '@gateway/provider-simulator';
import type { ProviderSimulator } from '@gateway/provider-simulator';
import { freePort } from '@gateway/servers';
import { request } from 'undici';
import { chat } from '../test/call.js';
import type { TestResponse } from '../test/call.js';
import type { TestModel } from '../test/operator.js';
import { sharedSystem } from '../test/system.js';

const FAILURES = /^gateway_edge_response_id_failures_total\{[^}]*\} (\d+)$/gm;
const PRICES = { inputPerMillion: '1.00', outputPerMillion: '2.00' };

let provider: ProviderSimulator;
let model: TestModel;
let secret: string;
beforeEach(async () => {
  const { operator } = sharedSystem();
  // Ports that the kernel does not give to other tests while the listener is closed.
  provider = await startProviderSimulator({ ports: [await freePort(), await freePort()] });
  // Sources of this profile store responses.
  const source = { profile: 'openai', endpoints: ['/v1/responses' as const] };
  model = await operator.model(PRICES, provider.urls, source);
  ({ secret } = await operator.account('10.00'));
});
afterEach(() => provider.close());

/** Sends a request to one of the two edges. */
function ask(edge: 0 | 1, fields: object = {}): Promise<TestResponse> {
  const url = `${sharedSystem().edgeUrls[edge]}/v1/responses`;
  return chat(url, secret, { model: model.id, input: 'Say something.', ...fields });
}

const idOf = ({ text }: TestResponse): string => /"id":"(resp_[^"]+)"/.exec(text)?.[1] ?? '';

/** Returns how often the edges failed to store or look up the source of a response in time. */
async function memoryFailures(): Promise<number> {
  const texts = (sharedSystem().adminUrls['edge-proxy'] ?? []).map(async (url) =>
    (await request(`${url}/metrics`)).body.text(),
  );
  const samples = (await Promise.all(texts)).join('\n').matchAll(FAILURES);
  return [...samples].reduce((sum, [, count]) => sum + Number(count), 0);
}

/**
 * Sends a request and compares the result. Repeats a different result if the memory of responses
 * failed meanwhile.
 */
async function expectThat(edge: 0 | 1, fields: object, expected: [number, ...string[]]): Promise<TestResponse> {
  for (;;) {
    const before = await memoryFailures();
    const answer = await ask(edge, fields);
    const came = await cameOf(answer);
    if ((await memoryFailures()) !== before && !isDeepStrictEqual(came, expected)) continue;
    expect(came).toEqual(expected);
    return answer;
  }
}

/** Returns the status and the queried sources in order. */
async function cameOf(answer: TestResponse): Promise<[number, ...string[]]> {
  const { attempts } = await sharedSystem().operator.usageRecord(answer.requestId);
  return [answer.status, ...attempts.map(({ sourceId }) => 'ab'.charAt(model.sources.indexOf(sourceId)))];
}

test.each([false, true])(
  'a follow-up reaches the source of its response from both edges; streamed: %s',
  async (stream) => {
    await provider.closeListener('a');
    const ofB = await expectThat(0, { stream }, [200, 'a', 'b']);
    await provider.reopenListener('a');
    const ofA = await expectThat(1, { stream }, [200, 'a']);
    const [afterA, afterB] = [ofA, ofB].map((answer) => ({ stream, previous_response_id: idOf(answer) })) as [
      object,
      object,
    ];

    // Both sources are healthy. Each follow-up reaches the source of its response, through the edge
    // that did not see the response.
    await expectThat(1, afterB, [200, 'b']);
    await expectThat(0, afterA, [200, 'a']);

    // Source a is down. Its follow-ups fail, because no other source has its response. New requests
    // fail over to b.
    await provider.closeListener('a');
    for (const edge of [0, 1] as const) {
      await expectThat(edge, afterA, [502, 'a']);
      await expectThat(edge, afterB, [200, 'b']);
      await expectThat(edge, { stream }, [200, 'a', 'b']);
    }

    await provider.reopenListener('a');
    for (const edge of [0, 1] as const) {
      await expectThat(edge, afterA, [200, 'a']);
    }
  },
  120_000,
);
