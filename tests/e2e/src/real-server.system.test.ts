// Tests a real open-source server with a real model on this machine's CPU.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { freePort } from '@gateway/servers';
import { until } from '@gateway/testkit';
import { applyObjects } from '../test/apply-objects.js';
import { PRICES } from '../test/prices.js';
import { compareWithRecord, SDK_CALLS, sdkClients } from '../test/sdk-calls.js';
import type { SdkClients } from '../test/sdk-calls.js';
import { sharedSystem } from '../test/system.js';

/** Installation folder of `real-server/install.sh`. */
const FOLDER = fileURLToPath(new URL('../../../.cache/llama/', import.meta.url));
const SERVER = `${FOLDER}llama-server`;
const MODEL_FILE = `${FOLDER}model.gguf`;
const isThere = existsSync(SERVER) && existsSync(MODEL_FILE);
const MODEL = 'real/smollm2';
/** 24 tokens take a second, and several seconds on a busy machine. */
const CALL_MS_MAX = 60_000;

if (!isThere) console.warn('The real model server is skipped. tests/e2e/real-server/install.sh installs it.');

(isThere ? describe : describe.skip)('a llama.cpp server with a real model', () => {
  let server: ChildProcess;
  let clients: SdkClients;

  beforeAll(async () => {
    const port = await freePort();
    const options = ['--ctx-size', '2048', '--threads', '1', '--parallel', '1'];
    const address = ['--host', '127.0.0.1', '--port', String(port)];
    server = spawn(SERVER, ['--model', MODEL_FILE, ...address, ...options], { stdio: 'ignore' });
    const url = `http://127.0.0.1:${port}`;
    const isWell = (): Promise<boolean> =>
      fetch(`${url}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    await until('the model is loaded', isWell, CALL_MS_MAX);
    const { operator, edgeUrls } = sharedSystem();
    const { secret } = await operator.account('100.00');
    clients = sdkClients(edgeUrls[0] ?? '', secret);
    const source = { modelId: MODEL, providerId: 'real', profile: 'llamacpp', baseUrl: url, upstreamModel: 'smollm2' };
    await applyObjects(operator, [
      { kind: 'provider', id: 'real', spec: { name: 'a real server', format: 'openai' } },
      { kind: 'model', id: MODEL, spec: { displayName: MODEL, kind: 'chat', prices: PRICES } },
      { kind: 'source', id: 'real', spec: { ...source, credential: 'it-asks-for-none' } },
    ]);
  }, 2 * CALL_MS_MAX);

  afterAll(() => void server.kill());

  // Covers i3
  test.each(Object.entries(SDK_CALLS))(
    '%s: the client receives a response and pays the reported usage',
    async (_name, call) => {
      const { text, usage } = await compareWithRecord(sharedSystem().operator, call(clients, MODEL));
      expect(text.length).toBeGreaterThan(0);
      expect([usage.input > 5, usage.output > 0, usage.output <= 24]).toEqual([true, true, true]);
    },
    CALL_MS_MAX,
  );

  test('a request that the server refuses returns its error and is not charged', async () => {
    const { operator } = sharedSystem();
    const messages = [{ role: 'user' as const, content: 'word '.repeat(4_000) }];
    const asked = clients.openai.chat.completions.create({ model: MODEL, messages, max_tokens: 1 });
    const error = (await asked.catch((refused: unknown) => refused)) as { status: number; headers: Headers };
    expect(error).toMatchObject({
      status: 400,
      code: 'invalid_request',
      message: expect.stringMatching(/context size/),
    });
    const record = await operator.usageRecord(error.headers.get('x-gateway-request-id') ?? '');
    expect(record).toMatchObject({ outcome: 'voided', chargedUsd: '0.00' });
  });
});
