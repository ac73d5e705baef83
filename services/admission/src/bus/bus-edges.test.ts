import { expect, test } from '@jest/globals';
import type { Bus, StreamSettings } from '@gateway/bus';
import { ensureHeartbeatStream } from './bus-edges.js';

const DAY_MS = 86_400_000;

// Covers r15
test('the stream of heartbeats keeps the last message of each subject, for 7 days', async () => {
  const ensured: StreamSettings[] = [];
  const bus: Pick<Bus, 'ensureStream'> = { ensureStream: async (settings) => void ensured.push(settings) };
  await ensureHeartbeatStream(bus as Bus, 3);
  expect(ensured).toMatchObject([
    { stream: 'HEARTBEATS', discard: 'old', messagesPerSubjectMax: 1, ageMaxMs: 7 * DAY_MS, replicas: 3 },
  ]);
});
