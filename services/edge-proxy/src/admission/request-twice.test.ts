import { expect, test } from '@jest/globals';
import { requestWithRetry } from './edge-clock.js';
import { KnownReplicas } from './known-replicas.js';

const fail = (code: string): Promise<never> => Promise.reject(Object.assign(new Error(code), { code }));

function known(): KnownReplicas {
  const replicas = new KnownReplicas();
  for (const replica of ['there', 'left']) replicas.record(replica, 0);
  replicas.record('left', 1);
  return replicas;
}

test('a replica that has left is dropped, and any other one is tried', async () => {
  const replicas = known();
  const asked: (string | undefined)[] = [];
  const answer = await requestWithRetry(
    ({ replica }) => {
      asked.push(replica);
      if (asked.length === 1) return fail('timeout');
      return replica === undefined ? Promise.resolve('answer') : fail('no_responders');
    },
    replicas,
    () => 2,
  );
  expect([answer, asked]).toEqual(['answer', [undefined, 'left', undefined]]);
  expect(replicas.other([], 2)).toBeUndefined();
});

test('a silent replica is not tried a third time', async () => {
  let asked = 0;
  const ask = (): Promise<never> => {
    asked += 1;
    return fail('timeout');
  };
  await expect(requestWithRetry(ask, known(), () => 2)).rejects.toMatchObject({ code: 'timeout' });
  expect(asked).toBe(2);
});
