import { expect, test } from '@jest/globals';
import { tellChange } from './tell-change.js';

const STATE = { database: 'promoted', ledgerEpoch: 'second' };
const CHANGE = { account: 'account-0', rows: [], closed: [] };

async function tell(compared: string): Promise<{ told: object[]; failed: string | null }> {
  const told: object[] = [];
  const telling = {
    state: async () => STATE,
    mayUse: (database: string) => database === compared,
    apply: async (body: object) => void told.push(body),
  };
  const failed = await tellChange(telling, CHANGE).then(
    () => null,
    (error: Error) => error.message,
  );
  return { told, failed };
}

test('a change is told under the epoch of the ledger that has it', async () => {
  const told = [{ standing: { incarnation: 'second', accounts: [CHANGE] } }];
  expect(await tell('promoted')).toEqual({ told, failed: null });
});

test('a change of a ledger that was not compared yet is not told, and is to be told again', async () => {
  expect(await tell('former')).toEqual({ told: [], failed: 'this ledger was not compared with the stream yet' });
});
