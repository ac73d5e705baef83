import { expect, test } from '@jest/globals';
import { testEpoch } from '@gateway/testkit/random';
import { publishChange } from './tell-change.js';

const STATE = { database: 'promoted', ledgerEpoch: testEpoch(2) };
const CHANGE = { change: 'entry-1', snapshot: { account: 'account-0', rows: [], closed: [] } };

async function tell(compared: string, state: typeof STATE | null = STATE) {
  const told: object[] = [];
  const telling = {
    stateWith: async () => state,
    isLedger: (database: string) => database === compared,
    apply: async (body: object) => void told.push(body),
  };
  const failed = await publishChange(telling, CHANGE).then(
    () => null,
    (error: Error) => error.message,
  );
  return { told, failed };
}

test('tellChange() publishes a change under the epoch of its ledger', async () => {
  const told = [{ snapshots: { ledgerEpoch: STATE.ledgerEpoch, accounts: [CHANGE.snapshot] } }];
  expect(await tell('promoted')).toEqual({ told, failed: null });
});

// Covers r17
test('tellChange() throws for an unverified ledger, so that it is retried', async () => {
  expect(await tell('former')).toEqual({ told: [], failed: 'the ledger is not yet compared with the stream' });
});

test('tellChange() does not publish a change that the ledger has lost', async () => {
  expect(await tell('promoted', null)).toEqual({ told: [], failed: 'the ledger has lost this change' });
});
