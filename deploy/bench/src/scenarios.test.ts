import { expect, test } from '@jest/globals';
import { GATEWAY_MODELS } from './gateway/prepare-catalog.js';
import { PROVIDER_MODELS } from './peers/peer.js';
import { requestBody } from './scenarios.js';

test('every peer gets a body of exactly 1 KiB, or 1 MB, for its own model name', () => {
  for (const models of [PROVIDER_MODELS, GATEWAY_MODELS]) {
    for (const kind of ['plain', 'streamed', 'large', 'open'] as const) {
      const body = requestBody(models[kind], kind);
      expect(Buffer.byteLength(body)).toBe(kind === 'large' ? 1_000_000 : 1_024);
      expect(JSON.parse(body)).toMatchObject({ model: models[kind], messages: [{ role: 'user' }] });
      expect((JSON.parse(body) as { stream?: boolean }).stream === true).toBe(kind === 'streamed' || kind === 'open');
    }
  }
});
