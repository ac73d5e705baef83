import { expect, test } from '@jest/globals';
import { tellChange } from './tell-change.js';

const STATE = { database: 'promoted', ledgerEpoch: 'second' };
const CHANGE = { change: 'entry-1', standing: { account: 'account-0', rows: [], closed: [] } };

async function tell(compared: string, state: typeof STATE | null = STATE) {
  const told: object[] = [];
  const telling = {
    stateWith: async () => state,
    isLedger: (database: string) => database === compared,
    apply: async (body: object) => void told.push(body),
  };
  const failed = await tellChange(telling, CHANGE).then(
    () => null,
    (error: Error) => error.message,
  );
  return { told, failed };
}

test('a change is told under the epoch of the ledger that has it', async () => {
  const told = [{ standing: { incarnation: 'second', accounts: [CHANGE.standing] } }];
  expect(await tell('promoted')).toEqual({ told, failed: null });
});

// Covers r17
test('a change of a ledger that was not compared yet is not told, and is to be told again', async () => {
  expect(await tell('former')).toEqual({ told: [], failed: 'this ledger was not compared with the stream yet' });
});

test('a change that the ledger has lost since is not told', async () => {
  expect(await tell('promoted', null)).toEqual({ told: [], failed: 'the ledger does not have this change any more' });
});
