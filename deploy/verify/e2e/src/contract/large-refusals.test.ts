// A call that is refused before its body is read: the official client gets the refusal, not a
// broken connection.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { DEFAULT_KEY_PREFIX, makeSecret } from '@gateway/contracts/ids';
import OpenAI from 'openai';
import { startContractWorld } from '../../test/contract-world.js';
import type { ContractWorld } from '../../test/contract-world.js';

const MIB = 1024 * 1024;
const TRIES = 6;

let world: ContractWorld;
beforeAll(async () => {
  world = await startContractWorld();
});
afterAll(async () => {
  await world?.stop();
});

test.each([
  [5, 'invalid_api_key'],
  [9, 'invalid_api_key'],
  [11, 'request_entity_too_large'],
])('a body of %i MiB is refused with %s, seen by the official client', async (mebibytes, code) => {
  const apiKey = code === 'invalid_api_key' ? makeSecret(DEFAULT_KEY_PREFIX) : world.rich.secret;
  const client = new OpenAI({ apiKey, baseURL: `${world.url}/v1`, maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'x'.repeat(mebibytes * MIB) }];
  for (let n = 0; n < TRIES; n += 1) {
    await expect(client.chat.completions.create({ model: world.model.id, messages })).rejects.toMatchObject({ code });
  }
});
