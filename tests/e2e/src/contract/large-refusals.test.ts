// Checks that the official client receives the refusal, and not a broken connection, if a request
// is refused before its body is read.
import { afterAll, expect, test } from '@jest/globals';
import { DEFAULT_KEY_PREFIX, makeSecret } from '@gateway/contracts/ids';
import OpenAI from 'openai';
import { startContractWorld } from '../../test/contract-world.js';

const MIB = 1024 * 1024;
const TRIES = 6;

const world = await startContractWorld();
afterAll(() => world.stop());

test.each([
  [5, 'invalid_api_key'],
  [9, 'invalid_api_key'],
  [11, 'request_entity_too_large'],
])('the official client receives the refusal of a body of %i MiB: %s', async (mebibytes, code) => {
  const apiKey = code === 'invalid_api_key' ? makeSecret(DEFAULT_KEY_PREFIX) : world.rich.secret;
  const client = new OpenAI({ apiKey, baseURL: `${world.url}/v1`, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'x'.repeat(mebibytes * MIB) }];
  for (let n = 0; n < TRIES; n += 1) {
    await expect(client.chat.completions.create({ model: world.model.id, messages })).rejects.toMatchObject({ code });
  }
});
