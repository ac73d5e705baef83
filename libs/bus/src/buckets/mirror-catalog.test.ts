import { expect, test } from '@jest/globals';
import type { BucketSwap, Bus } from '../bus.js';
import { mirrorCatalog } from './mirror-catalog.js';

test('mirrorCatalog() reports each revision and marks its last message', async () => {
  const told: object[] = [];
  let swap: BucketSwap = () => undefined;
  let reconnected = (): void => undefined;
  const bus = {
    service: 'edge-proxy',
    replica: 'e0',
    mirrorBucket: (_bucket: string, onSwap: BucketSwap) => {
      swap = onSwap;
      return { stop: () => Promise.resolve() };
    },
    onReconnect: (listener: () => undefined) => {
      reconnected = listener;
      return () => undefined;
    },
    publish: (_message: unknown, _words: object, body: object) => told.push(body),
  };
  const mirror = mirrorCatalog(bus as unknown as Bus, () => undefined);
  reconnected();
  expect(told).toEqual([]);
  swap(new Map(), { revision: 7, count: 0, hash: '' }, []);
  await mirror.stop();
  const replica = expect.stringMatching(/^edge-proxy\.e0\.[0-9a-f]{8}$/);
  expect(told).toEqual([
    { replica, revision: 7, last: false },
    { replica, revision: 7, last: true },
  ]);
});
