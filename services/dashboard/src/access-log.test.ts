import { ACCESS_ENTRIES_MAX, accountsRecordAccess } from '@gateway/contracts/messages';
import { recordingLog } from '@gateway/testkit';
import { expect, test } from '@jest/globals';
import type { Services } from './operator-api/route.js';
import { KNOWN_MAX, createAccessLog, OTHER_NETWORKS, UNAUTHENTICATED, STRANGERS_MAX, UNKNOWN } from './access-log.js';

interface Written {
  readonly action: string;
  readonly actor: string;
  readonly objectId: string;
  readonly attempts: number;
  readonly since: number;
  readonly origin: { readonly client: string; readonly agent: string | null; readonly requestId: string };
}

function startLog() {
  const messages: Written[][] = [];
  const state = { away: false, now: 1_000 };
  const request = (_message: unknown, body: { entries: Written[] }) => {
    if (state.away) return Promise.reject(new Error('accounts is away'));
    accountsRecordAccess.body.parse(body);
    messages.push(body.entries);
    return Promise.resolve({ recorded: true });
  };
  const access = createAccessLog({ request } as unknown as Services, { nowMs: () => state.now }, recordingLog());
  return { access, messages, state };
}
const from = (client: string, requestId = 'r1') => ({ client, agent: 'curl/8', requestId });
const stranger = { action: 'operator_token_refused', actor: UNAUTHENTICATED, objectId: UNKNOWN } as const;
const wrongPassword = (person: string) =>
  ({ action: 'sign_in_refused', actor: UNAUTHENTICATED, objectId: person }) as const;

test('refused attempts become one entry per network, with a count and the first origin', async () => {
  const { access, messages, state } = startLog();
  for (let n = 1; n <= 1_000; n += 1) access.refused({ ...stranger, origin: from('192.0.2.1', `r${n}`) });
  state.now = 2_000;
  access.refused({ ...stranger, origin: from('192.0.2.2', 'x') });
  expect(messages).toEqual([]);
  await access.flush();
  expect(messages).toEqual([
    [
      { ...stranger, kind: 'refused', account: null, attempts: 1_000, since: 1_000, origin: from('192.0.2.1', 'r1') },
      { ...stranger, kind: 'refused', account: null, attempts: 1, since: 2_000, origin: from('192.0.2.2', 'x') },
    ],
  ]);
  await access.flush();
  expect(messages).toHaveLength(1);
});

test('refusals from any number of networks become a bounded number of entries', async () => {
  const { access, messages } = startLog();
  for (let n = 0; n < 5_000; n += 1) access.refused({ ...stranger, origin: from(`network ${n}`) });
  for (let n = 0; n < 5_000; n += 1) access.refused({ ...wrongPassword(`usr_${n}`), origin: from(`network ${n}`) });
  await access.flush();
  const [entries = []] = messages;
  expect(messages).toHaveLength(1);
  expect(entries.length).toBeLessThanOrEqual(ACCESS_ENTRIES_MAX);
  const of = (action: string) => entries.filter((entry) => entry.action === action);
  expect(of('operator_token_refused')).toHaveLength(STRANGERS_MAX + 1);
  expect(of('sign_in_refused')).toHaveLength(KNOWN_MAX + 1);
  for (const action of ['operator_token_refused', 'sign_in_refused']) {
    expect(of(action).reduce((sum, { attempts }) => sum + attempts, 0)).toBe(5_000);
    const rest = { actor: UNAUTHENTICATED, objectId: UNKNOWN, origin: { client: OTHER_NETWORKS, agent: null } };
    expect(of(action).at(-1)).toMatchObject(rest);
  }
});

test('counts that cannot be written are written by the next flush', async () => {
  const { access, messages, state } = startLog();
  state.away = true;
  access.refused({ ...wrongPassword('usr_1'), origin: from('192.0.2.1') });
  await access.flush();
  state.away = false;
  access.refused({ ...wrongPassword('usr_1'), origin: from('192.0.2.1', 'r2') });
  await access.flush();
  expect(messages).toMatchObject([[{ objectId: 'usr_1', attempts: 2, since: 1_000, origin: { requestId: 'r1' } }]]);
});

test('noted() rejects if its entry cannot be written', async () => {
  const { access, messages, state } = startLog();
  const entry = {
    action: 'export',
    actor: 'operator:ann',
    objectId: 'exportUsageRecords',
    origin: from('192.0.2.1'),
  } as const;
  await access.noted(entry);
  expect(messages).toEqual([[{ ...entry, kind: 'access', account: null }]]);
  state.away = true;
  await expect(access.noted(entry)).rejects.toThrow('away');
});
