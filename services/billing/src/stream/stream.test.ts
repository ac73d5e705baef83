import { expect, test } from '@jest/globals';
import type { Bus, StreamSettings } from '@gateway/bus';
import { createUsageStream } from './stream.js';

const DAY_MS = 86_400_000;

// Covers r15
test('the usage stream rejects messages when it is full, and keeps them for 14 days', async () => {
  const ensured: StreamSettings[] = [];
  const bus: Pick<Bus, 'ensureStream'> = { ensureStream: async (settings) => void ensured.push(settings) };
  await createUsageStream(bus as Bus, 1_000, 3, 'epoch').ensure();
  expect(ensured).toMatchObject([
    { stream: 'USAGE', discard: 'new', bytesMax: 1_000, ageMaxMs: 14 * DAY_MS, replicas: 3 },
  ]);
});
