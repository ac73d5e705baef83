// Tests the rules of the operator API over HTTP on the real services. test/operator.ts checks each
// response against the OpenAPI document. The tests of services/dashboard cover single paths,
// statuses and roles.
import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import type {
  AccountView,
  ApplyAnswer,
  ApplyKind,
  AuditEntryView,
  KeyCreated,
  KeyView,
  LedgerTransactionView,
  MemberView,
  ModelView,
  SlotView,
  SourceHealthView,
  StatementView,
  TrialBalanceView,
} from '@gateway/contracts/operator';
import { parseUsd } from '@gateway/metering';
import { startProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { chat, HELLO } from '../test/call.js';
import { TestOperator } from '../test/operator.js';
import type { OperatorAnswer } from '../test/operator.js';
import { sharedSystem } from '../test/system.js';

const CREATIONS = 50;
const KEYS_MAX = 3;

const system = sharedSystem();
const operator = system.operator;
const simulator = await startProviderSimulator();
afterAll(() => simulator.close());

const unique = (): string => randomBytes(6).toString('hex');
const newAccount = (more: object = {}): Promise<AccountView> => {
  const name = `api-${unique()}`;
  return operator.must('POST', '/accounts', { name, email: `${name}@example.com`, emailVerified: true, ...more });
};
const codeOf = ({ status, body }: OperatorAnswer): string =>
  `${status} ${(body as { error?: { code: string } } | null)?.error?.code ?? ''}`.trim();

// Covers api key: rule 1 creating a key requires
test('key rules 1 and 3: keys need a verified email, funds, and a free place', async () => {
  const unverified = await newAccount({ emailVerified: false });
  expect(codeOf(await operator.request('POST', `/accounts/${unverified.id}/keys`, { name: 'k' }))).toBe(
    '403 email_not_verified',
  );
  const account = await newAccount();
  const create = (): Promise<OperatorAnswer> => operator.request('POST', `/accounts/${account.id}/keys`, { name: 'k' });
  expect(codeOf(await create())).toBe('402 no_funding');
  await operator.credit(account.id, '1.00');
  const answers = await Promise.all(Array.from({ length: CREATIONS }, create));
  const counted = new Map<string, number>();
  for (const answer of answers) counted.set(codeOf(answer), (counted.get(codeOf(answer)) ?? 0) + 1);
  expect(Object.fromEntries(counted)).toEqual({ 201: KEYS_MAX, '409 key_limit_reached': CREATIONS - KEYS_MAX });
  const keys = await operator.all<KeyView>(`/accounts/${account.id}/keys`);
  expect(keys.map(({ state }) => state)).toEqual(['active', 'active', 'active']);

  const [first, second] = keys;
  await operator.setKey(first?.id ?? '', 'suspend');
  expect(codeOf(await create())).toBe('409 key_limit_reached');
  await operator.setKey(second?.id ?? '', 'revoke');
  expect(codeOf(await create())).toBe('201');
  expect(codeOf(await operator.request('POST', `/keys/${second?.id}/rotate`))).toBe('409 key_not_active');
  expect(codeOf(await operator.request('POST', `/keys/${second?.id}/reinstate`))).toBe('409 key_not_active');
  expect(codeOf(await operator.request('POST', `/keys/${first?.id}/rotate`))).toBe('409 key_not_active');
});

// Covers what the service does: sentence 11 keys are created rotated
// Covers api key: rule 4 rotation replaces the secret; states and transitions: active rotate
test('key rule 4: rotation replaces the secret and keeps ID, name, cap, list and usage', async () => {
  const model = await operator.model({ inputPerMillion: '1', outputPerMillion: '1' }, [simulator.urls[0]]);
  const { account } = await operator.account('5.00');
  const made = await operator.must<KeyCreated>('POST', `/accounts/${account}/keys`, {
    name: 'kept',
    monthlySpendCapUsd: '2.5',
    allowedModels: [model.id],
  });
  const call = (secret: string): ReturnType<typeof chat> =>
    chat(`${system.chatBaseUrl}/chat/completions`, secret, { model: model.id, messages: HELLO });
  expect((await call(made.secret ?? '')).status).toBe(200);
  const rotated = await operator.must<KeyCreated>('POST', `/keys/${made.id}/rotate`);
  expect(rotated.secret).not.toBe(made.secret);
  const { secret: _old, maskedSecret: oldMask, lastUsedAt: _before, ...kept } = made;
  expect(rotated).toMatchObject({ ...kept, monthlySpendCapUsd: '2.50' });
  expect(rotated.maskedSecret).not.toBe(oldMask);
  const refused = await call(made.secret ?? '');
  expect([refused.status, refused.text]).toEqual([401, expect.stringContaining('invalid_api_key')]);
  expect((await call(rotated.secret ?? '')).status).toBe(200);
});

test('an Idempotency-Key runs a request once, and a replay does not return the secret', async () => {
  const { account, key } = await operator.account('5.00');
  const headers = { 'idempotency-key': unique() };
  const create = (name: string): Promise<OperatorAnswer> =>
    operator.request('POST', `/accounts/${account}/keys`, { name }, headers);
  const [one, other] = await Promise.all([create('once'), create('once')]);
  const ids = [one, other].map(({ body }) => (body as KeyCreated).id);
  expect(new Set(ids).size).toBe(1);
  const replay = await create('once');
  expect([replay.status, (replay.body as KeyCreated).id, (replay.body as KeyCreated).secret]).toEqual([
    201,
    ids[0],
    null,
  ]);
  expect(codeOf(await create('twice'))).toBe('409 idempotency_conflict');
  expect(await operator.all(`/accounts/${account}/keys`)).toHaveLength(2);

  const rotation = { 'idempotency-key': unique() };
  const first = await operator.request('POST', `/keys/${key}/rotate`, undefined, rotation);
  const again = await operator.request('POST', `/keys/${key}/rotate`, undefined, rotation);
  expect((first.body as KeyCreated).secret).toEqual(expect.any(String));
  expect(again.body).toEqual({ ...(first.body as KeyCreated), secret: null });
});

test('wallet entries are exact, happen once per reference, and accept amounts as text', async () => {
  const account = await newAccount();
  const path = `/accounts/${account.id}/wallet/entries`;
  const entry = { amountUsd: '12.500000001', kind: 'credit', reason: 'test', reference: `ref-${unique()}` };
  const first = await operator.request('POST', path, entry);
  expect(first).toMatchObject({ status: 201, body: { balanceUsd: '12.500000001', repeated: false } });
  expect((await operator.request('POST', path, entry)).body).toMatchObject({ repeated: true });
  expect(codeOf(await operator.request('POST', path, { ...entry, amountUsd: '1.00' }))).toBe(
    '409 idempotency_conflict',
  );
  expect(codeOf(await operator.request('POST', path, { ...entry, amountUsd: 12.5 }))).toBe('400 invalid_request');
  expect(codeOf(await operator.request('POST', path, { ...entry, amountUsd: '0.0000000001' }))).toBe(
    '400 invalid_request',
  );
  const { transaction } = first.body as { transaction: LedgerTransactionView };
  const refund = { amountUsd: '-2.50', kind: 'refund', reason: 'test', reference: `ref-${unique()}` };
  expect(await operator.must('POST', path, { ...refund, relatesTo: transaction.id })).toMatchObject({
    balanceUsd: '10.000000001',
  });
  expect(await operator.must('GET', `/accounts/${account.id}/wallet`)).toEqual({
    balanceUsd: '10.000000001',
    heldUsd: '0.00',
  });
  const ledger = await operator.all<LedgerTransactionView>(`/accounts/${account.id}/ledger`);
  expect(ledger.map(({ kind }) => kind)).toEqual(['refund', 'credit']);
  for (const { id, entries } of ledger) {
    expect(entries.reduce((sum, { amountUsd }) => sum + parseUsd(amountUsd), 0n)).toBe(0n);
    expect(await operator.must('GET', `/ledger/transactions/${id}`)).toMatchObject({ id, entries });
  }
  const month = new Date().toISOString().slice(0, 7);
  const statement = await operator.must<StatementView>('GET', `/accounts/${account.id}/statement?month=${month}`);
  expect([statement.openingBalanceUsd, statement.closingBalanceUsd]).toEqual(['0.00', '10.000000001']);
  const trial = await operator.must<TrialBalanceView>('GET', '/ledger/trial-balance');
  expect(trial.totalUsd).toBe('0.00');
  expect(trial.accounts.reduce((sum, { amountUsd }) => sum + parseUsd(amountUsd), 0n)).toBe(0n);
});

test('a team has members with roles and keys, and a cap applies to the next call', async () => {
  const account = await newAccount({ type: 'team' });
  await operator.credit(account.id, '10.00');
  await operator.limits(account.id, 1_000, 10);
  const model = await operator.model({ inputPerMillion: '0', outputPerMillion: '0', perCall: '1' }, [
    simulator.urls[0],
  ]);
  const email = `member-${unique()}@example.com`;
  const path = `/accounts/${account.id}/members`;
  const member = await operator.must<MemberView>('POST', path, { email, emailVerified: true, role: 'member' });
  expect((await operator.all<MemberView>(path)).map(({ role }) => role).sort()).toEqual(['member', 'owner']);
  const key = await operator.must<KeyCreated>('POST', `/accounts/${account.id}/keys`, {
    name: 'of a member',
    memberId: member.id,
  });
  const call = async (): Promise<string> => {
    const { status, text } = await chat(`${system.chatBaseUrl}/chat/completions`, key.secret, {
      model: model.id,
      messages: HELLO,
    });
    return status === 200 ? '200' : `${status} ${(JSON.parse(text) as { error: { code: string } }).error.code}`;
  };
  expect(await call()).toBe('200');
  const put = { email, emailVerified: true, role: 'admin', monthlySpendCapUsd: '1.50' };
  expect(await operator.must('PUT', `${path}/${member.id}`, put)).toMatchObject({
    role: 'admin',
    monthlySpendCapUsd: '1.50',
  });
  expect(await call()).toBe('402 member_cap_reached');
  await operator.must('PUT', `${path}/${member.id}`, { ...put, monthlySpendCapUsd: null });
  expect(await call()).toBe('200');
  expect(codeOf(await operator.request('DELETE', `${path}/${member.id}`))).toBe('409 in_use');
  await operator.setKey(key.id, 'revoke');
  expect((await operator.request('DELETE', `${path}/${member.id}`)).status).toBe(204);
  const owner = (await operator.all<MemberView>(path))[0];
  expect(codeOf(await operator.request('DELETE', `${path}/${owner?.id}`))).toBe('409 state_conflict');
});

test('apply makes the changes of its dry run, and a second apply changes nothing', async () => {
  const name = unique();
  const source = `src-${name}`;
  const objects = [
    {
      kind: 'source',
      id: source,
      spec: {
        modelId: `apply/${name}`,
        providerId: `prov-${name}`,
        baseUrl: simulator.urls[0],
        upstreamModel: 'up',
        endpoints: ['/v1/chat/completions'],
        credential: `canary-credential-${name}`,
      },
    },
    {
      kind: 'model',
      id: `apply/${name}`,
      spec: {
        displayName: 'Applied',
        kind: 'chat',
        prices: { inputPerMillion: '1.5', outputPerMillion: '3', tiers: [] },
      },
    },
    { kind: 'provider', id: `prov-${name}`, spec: { name: 'Applied', format: 'openai' } },
    {
      kind: 'plan',
      id: `plan-${name}`,
      spec: {
        name: 'Pro',
        tier: 'pro',
        models: [`apply/${name}`],
        windows: [{ type: 'weekly', unit: 'usd', limit: '20.00' }],
      },
    },
  ];
  const apply = (query: string, body: unknown = { objects }): Promise<OperatorAnswer> =>
    operator.request('POST', `/apply${query}`, body);
  const dry = (await apply('?dryRun=true')).body as ApplyAnswer;
  expect(dry.changes.map(({ kind, change }) => `${kind} ${change}`).sort()).toEqual([
    'model created',
    'plan created',
    'provider created',
    'source created',
  ]);
  expect((await operator.request('GET', `/sources/${source}`)).status).toBe(404);
  const done = (await apply('')).body as ApplyAnswer;
  // The IDs of versions differ, because they are generated when a version is written.
  const shape = ({ kind, id, change }: ApplyAnswer['changes'][number]): string => `${kind} ${id} ${change}`;
  expect(done.changes.map(shape)).toEqual(dry.changes.map(shape));
  expect(done).toMatchObject({ dryRun: false, inForce: true, unchanged: 0 });
  expect((await apply('')).body).toMatchObject({ changes: [], unchanged: 4 });
  expect((await apply('?dryRun=true')).body).toMatchObject({ changes: [], unchanged: 4 });

  const shown = await operator.must<ModelView>('GET', `/models/apply/${name}`);
  expect(shown.prices).toMatchObject({ inputPerMillion: '1.50', outputPerMillion: '3.00' });
  const broken = objects.map((object) => (object.kind === 'model' ? { ...object, id: `apply/other-${name}` } : object));
  expect(
    codeOf(await apply('', { objects: [...broken, { kind: 'source', id: 's2', spec: { modelId: 'no/such' } }] })),
  ).toBe('400 invalid_request');
  expect((await operator.request('GET', `/models/apply/other-${name}`)).status).toBe(404);

  const text = JSON.stringify([dry, done, await operator.request('GET', `/sources/${source}`), await apply('')]);
  expect(text).not.toContain(`canary-credential-${name}`);
});

test('PUT with an unchanged view changes nothing, and with one field only that field', async () => {
  const prices = { inputPerMillion: '1.5', outputPerMillion: '2' };
  const later = new Date(Date.now() + 86_400_000).toISOString();
  const priced = await operator.model(prices, [simulator.urls[0]], { costs: prices });
  const unpriced = await operator.model(null, []);
  const [source = ''] = priced.sources;
  for (const { id } of [priced, unpriced]) {
    const spec = {
      displayName: 'Later more expensive',
      kind: 'chat',
      prices: { ...prices, perCall: '1', effectiveFrom: later },
    };
    await operator.must('PUT', `/models/${id}`, spec);
  }
  const plan = await operator.plan({ windows: [{ type: 'weekly', unit: 'usd', limit: '10.50' }] });
  // Other suites of this gateway write the provider "e2e" with each model.
  await operator.must('PUT', '/providers/views', { name: 'views', format: 'openai' });
  const objects: [ApplyKind, string, object][] = [
    ['provider', 'views', { name: 'Another name' }],
    ['model', priced.id, { available: false }],
    ['model', unpriced.id, { available: false }],
    ['source', source, { enabled: false }],
    ['plan', plan, { concurrency: 11 }],
  ];
  for (const [kind, id, change] of objects) {
    const path = `/${kind}s/${id}`;
    const view = await operator.must<object>('GET', path);
    const records = async (): Promise<number> => (await operator.all<AuditEntryView>(`/audit?objectId=${id}`)).length;
    const before = await records();
    const again = await operator.request('PUT', path, view);
    expect([kind, again.status, again.body]).toEqual([kind, 200, expect.objectContaining(view)]);
    const applied = await operator.must<ApplyAnswer>('POST', '/apply', { objects: [{ kind, id, spec: view }] });
    expect([kind, applied.changes, applied.unchanged, await records()]).toEqual([kind, [], 1, before]);
    await operator.must('PUT', path, { ...view, ...change });
    const { version: _newer, createdAt: _at, ...rest } = view as { version?: number; createdAt?: string };
    expect(await operator.must('GET', path)).toMatchObject({ ...rest, ...change });
    await operator.must('PUT', path, view);
  }
});

test('an operator frees one slot: its stream ends, and other streams continue', async () => {
  const model = await operator.model({ inputPerMillion: '1', outputPerMillion: '1' }, [simulator.urls[0]]);
  const scripted = `up-${model.id.slice('test/'.length)}`;
  const sseEvent = 'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n';
  const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';
  const steps = [{ chunk: sseEvent }, { waitFor: scripted }, { chunk: finish }, { end: 'normal' as const }];
  simulator.script({ model: scripted, times: 2, steps });
  const { account, secret } = await operator.account('5.00');
  const body = { model: model.id, messages: HELLO, stream: true };
  const begun = new Set<number>();
  const streams = [0, 1].map((n) =>
    chat(`${system.chatBaseUrl}/chat/completions`, secret, body, {}, () => void begun.add(n)),
  );
  const slotsOf = (): Promise<SlotView[]> => operator.all(`/slots?accountId=${account}`);
  const [victim] = await until('both streams run', async () => {
    const slots = await slotsOf();
    return slots.length === 2 && begun.size === 2 && slots;
  });
  expect((await operator.request('DELETE', `/slots/${victim?.requestId}`)).status).toBe(204);
  expect(await operator.all<AuditEntryView>(`/audit?kind=change&objectId=${victim?.requestId}`)).toMatchObject([
    { action: 'end_call', accountId: account, actor: 'operator:root', origin: { client: '127.0.0.1' } },
  ]);
  expect((await slotsOf()).filter(({ takesSlot }) => takesSlot)).toHaveLength(1);
  const ended = await Promise.race(streams);
  expect([ended.requestId, ended.cut]).toEqual([victim?.requestId, true]);
  simulator.release(scripted, 2);
  const answers = await Promise.all(streams);
  expect(answers.map(({ cut }) => cut).sort()).toEqual([false, true]);
  await until('no slot is left', async () => (await slotsOf()).length === 0);
  expect(codeOf(await operator.request('DELETE', `/slots/${victim?.requestId}`))).toBe('404 not_found');
});

test('the health of sources shows a cooldown that an edge has seen', async () => {
  const model = await operator.model({ inputPerMillion: '1', outputPerMillion: '1' }, simulator.urls);
  const scripted = `up-${model.id.slice('test/'.length)}`;
  simulator.script({
    model: scripted,
    listener: 'a',
    times: 1,
    steps: [{ status: 429, headers: { 'retry-after': '60' } }],
  });
  const { secret } = await operator.account('5.00');
  const answer = await chat(`${system.chatBaseUrl}/chat/completions`, secret, { model: model.id, messages: HELLO });
  expect(answer.status).toBe(200);
  await until('the first source is cooling', async () => {
    const all = await operator.all<SourceHealthView>('/sources/health');
    return all.some(({ sourceId, state }) => sourceId === model.sources[0] && state === 'cooling');
  });
});

test('named operators have roles, can be deleted, and are named in the audit', async () => {
  const name = `ops-${unique()}`;
  const made = await operator.must<{ id: string; token: string }>('POST', '/operators', { name, role: 'operator' });
  const own = new TestOperator({ operatorUrl: system.operatorUrl, operatorToken: made.token });
  const email = `${name}@example.com`;
  const verified = { name, email, emailVerified: true };
  expect(codeOf(await own.request('POST', '/accounts', verified))).toBe('403 operator_forbidden');
  const account = await own.must<AccountView>('POST', '/accounts', { name, email });
  const owner = `/accounts/${account.id}/members/${account.ownerMemberId}`;
  const ownerPut = { email, emailVerified: true, role: 'owner' };
  expect(codeOf(await own.request('PUT', owner, ownerPut))).toBe('403 operator_forbidden');
  await operator.must('PUT', owner, ownerPut);
  const entry = { amountUsd: '1.00', kind: 'credit', reason: 'test', reference: `ref-${unique()}` };
  expect(codeOf(await own.request('POST', `/accounts/${account.id}/wallet/entries`, entry))).toBe(
    '403 operator_forbidden',
  );
  await operator.must('POST', `/accounts/${account.id}/wallet/entries`, entry);
  const limits = await operator.must<object>('GET', `/accounts/${account.id}/limits`);
  expect(codeOf(await own.request('PUT', `/accounts/${account.id}/limits`, limits))).toBe('403 operator_forbidden');
  const asked = { name: 'audited' };
  expect(codeOf(await own.request('POST', `/accounts/${account.id}/keys`, asked))).toBe('403 operator_forbidden');
  const key = await operator.must<KeyCreated>('POST', `/accounts/${account.id}/keys`, asked);
  await operator.rotate(key.id);
  const entries = await operator.all<AuditEntryView>(`/audit?accountId=${account.id}`);
  expect(entries.map(({ actor, action }) => `${actor} ${action}`)).toEqual([
    'operator:root rotate_key',
    'operator:root create_key',
    expect.stringMatching(/^operator:root .*wallet_entry$/),
    'operator:root put_member',
    `operator:${name} create_account`,
  ]);
  for (const { origin } of entries) expect(origin).toMatchObject({ client: '127.0.0.1', agent: expect.any(String) });
  expect(new Set(entries.map(({ origin }) => origin?.requestId)).size).toBe(entries.length);
  expect(JSON.stringify(entries)).not.toContain(key.secret?.slice(-40));
  expect((await operator.request('DELETE', `/operators/${made.id}`)).status).toBe(204);
  expect(codeOf(await own.request('GET', '/accounts'))).toBe('401 invalid_operator_token');
});
