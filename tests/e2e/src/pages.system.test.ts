// Tests the API of the dashboard on the real services: the specification's key rules, the states of
// a key, and the rules of signing in.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { AccountView, KeyView, MemberView } from '@gateway/contracts/operator';
import type { CreatedPageKey, PageKeys, PageSession, FoundUsageRecord } from '@gateway/contracts/pages';
import { startProviderSimulator } from '@gateway/provider-simulator';
import { until } from '@gateway/testkit';
import { chat, HELLO } from '../test/call.js';
import { readEmails, PageUser, type PageAnswer } from '../test/person.js';
import { sharedSystem, type SharedSystem } from '../test/system.js';

let system: SharedSystem;
let model: string;
/** One user for most tests, because hashing a password is slow. */
let person: PageUser;
let account: string;
beforeAll(async () => {
  system = sharedSystem();
  const simulator = await startProviderSimulator();
  closing.push(() => simulator.close());
  ({ id: model } = await system.operator.model({ inputPerMillion: '1.00', outputPerMillion: '2.00' }, simulator.urls));
  person = new PageUser(system.dashboardUrl);
  await person.signUp();
  account = await person.verify();
}, 60_000);
const closing: (() => Promise<unknown>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

const codeOf = (answer: PageAnswer): string => (answer.body as { error: { code: string } }).error.code;
const statusAndCode = (answer: PageAnswer) => [answer.status, codeOf(answer)];
const call = (secret: string | null) =>
  chat(`${system.chatBaseUrl}/chat/completions`, secret, { model, messages: HELLO, max_tokens: 50 });
const refusalOf = async (secret: string | null) => {
  const { status, text } = await call(secret);
  return [status, (JSON.parse(text) as { error: { code: string } }).error.code];
};

test('a new user creates keys under the key rules and sees the exact cost of a request', async () => {
  const keys = `/accounts/${account}/keys`;
  const create = (body: object = {}) => person.request('POST', keys, { name: 'mine', ...body });
  const creation = async () => (await person.must<PageKeys>('GET', keys)).creation;

  expect(statusAndCode(await create())).toEqual([402, 'no_funding']);
  expect(await creation()).toMatchObject({ allowed: false, code: 'no_funding' });
  await system.operator.credit(account, '5.00');
  expect(await creation()).toMatchObject({ allowed: true, code: null, maxActiveKeys: 3 });

  const created = await create({ monthlySpendCapUsd: '2', allowedModels: [model] });
  const key = created.body as CreatedPageKey;
  expect(key).toMatchObject({ monthlySpendCapUsd: '2.00', allowedModels: [model], state: 'active' });
  const answer = await call(key.secret);
  expect(answer.status).toBe(200);
  const found = await until('the request has a usage record', async () => {
    const one = await person.request('GET', `/accounts/${account}/usage-records/${answer.requestId}`);
    return one.status === 200 ? (one.body as FoundUsageRecord) : false;
  });
  const { tokens } = found;
  const nano = BigInt(tokens?.input ?? 0) * 1_000n + BigInt(tokens?.output ?? 0) * 2_000n;
  expect([found.keyName, Number(found.chargedUsd)]).toEqual(['mine', Number(nano) / 1e9]);
  expect((await person.must<PageKeys>('GET', keys)).data[0]?.monthSpendUsd).toBe(found.chargedUsd);

  // At most three keys are active. Revoking a key frees its place.
  const second = (await create()).body as CreatedPageKey;
  expect((await create()).status).toBe(201);
  expect(statusAndCode(await create())).toEqual([409, 'key_limit_reached']);
  expect(await creation()).toMatchObject({ allowed: false, code: 'key_limit_reached', activeKeys: 3 });
  await person.must('POST', `${keys}/${second.id}/revoke`);
  expect((await create()).status).toBe(201);
}, 60_000);

test('a key is rotated, suspended by an operator, reinstated and revoked', async () => {
  await system.operator.limits(account, 60, 20);
  const keys = `/accounts/${account}/keys`;
  const made = await person.must<CreatedPageKey>('POST', keys, { name: 'mine', monthlySpendCapUsd: '1' });
  expect((await call(made.secret)).status).toBe(200);

  const rotated = await person.must<CreatedPageKey>('POST', `${keys}/${made.id}/rotate`);
  const { id, name, monthlySpendCapUsd, state } = rotated;
  expect({ id, name, monthlySpendCapUsd, state }).toEqual({
    id: made.id,
    name: 'mine',
    monthlySpendCapUsd: '1.00',
    state: 'active',
  });
  expect(await refusalOf(made.secret)).toEqual([401, 'invalid_api_key']);
  expect((await call(rotated.secret)).status).toBe(200);

  await system.operator.must<KeyView>('POST', `/keys/${made.id}/suspend`);
  expect(await refusalOf(rotated.secret)).toEqual([403, 'key_inactive']);
  expect(statusAndCode(await person.request('POST', `${keys}/${made.id}/rotate`))).toEqual([409, 'key_not_active']);
  await system.operator.must<KeyView>('POST', `/keys/${made.id}/reinstate`);
  expect((await call(rotated.secret)).status).toBe(200);

  for (let again = 0; again < 2; again += 1)
    expect(await person.must('POST', `${keys}/${made.id}/revoke`)).toMatchObject({ state: 'revoked' });
  expect(await refusalOf(rotated.secret)).toEqual([403, 'key_inactive']);
  expect(statusAndCode(await person.request('POST', `${keys}/${made.id}/rotate`))).toEqual([409, 'key_not_active']);
  const shown = (await person.must<PageKeys>('GET', keys)).data.find(({ id: one }) => one === made.id);
  expect(shown).toMatchObject({ state: 'revoked' });
}, 60_000);

test('an invited member sets a password, has own keys, and loses access when removed', async () => {
  const team = await system.operator.must<AccountView>('POST', '/accounts', {
    name: 'A team',
    email: `owner-${Date.now()}@example.com`,
    emailVerified: true,
    type: 'team',
  });
  await system.operator.credit(team.id, '5.00');
  // An operator created the owner without a password. The owner sets one with the link in an email.
  const owner = new PageUser(system.dashboardUrl, team.email);
  await owner.must('POST', '/forgot-password', { email: owner.email });
  const set = { token: await owner.tokenInMail('new password'), password: owner.password };
  expect(await owner.must('POST', '/reset-password', set)).toEqual({ email: owner.email });
  expect(statusAndCode(await owner.request('POST', '/reset-password', set))).toEqual([400, 'token_invalid']);
  await owner.signIn();
  const member = new PageUser(system.dashboardUrl);
  const invited = await owner.must<MemberView>('POST', `/accounts/${team.id}/members`, { email: member.email });
  const token = await member.tokenInMail('invited');
  await member.must('POST', '/accept-invitation', { token, password: member.password });
  expect(await member.signIn()).toBe(team.id);

  const path = `/accounts/${team.id}`;
  const own = await member.must<CreatedPageKey>('POST', `${path}/keys`, { name: 'of the member' });
  const theirs = await owner.must<CreatedPageKey>('POST', `${path}/keys`, { name: 'of the owner' });
  expect((await member.must<PageKeys>('GET', `${path}/keys`)).data.map(({ id }) => id)).toEqual([own.id]);
  expect(statusAndCode(await member.request('POST', `${path}/keys/${theirs.id}/revoke`))).toEqual([403, 'forbidden']);
  expect(statusAndCode(await member.request('GET', `${path}/ledger`))).toEqual([403, 'forbidden']);
  expect(statusAndCode(await owner.request('DELETE', `${path}/members/${invited.id}`))).toEqual([409, 'in_use']);
  await owner.must('POST', `${path}/keys/${own.id}/revoke`);
  expect((await owner.request('DELETE', `${path}/members/${invited.id}`)).status).toBe(204);
  expect(statusAndCode(await member.request('GET', `${path}/keys`))).toEqual([404, 'not_found']);
  expect((await member.must<PageSession>('GET', '/session')).accounts).toEqual([]);
}, 60_000);

test('the playground has its own key and its own limit of ten requests per minute', async () => {
  const turn = () =>
    person.request('POST', `/accounts/${account}/playground`, { model, messages: HELLO, max_tokens: 20 });
  const first = await turn();
  expect([first.status, first.headers.get('content-type')]).toEqual([
    200,
    expect.stringContaining('text/event-stream'),
  ]);
  expect(first.text.trimEnd().endsWith('data: [DONE]')).toBe(true);
  const id = first.headers.get('x-gateway-request-id');
  const record = await until('the playground request has a usage record', async () => {
    const one = await person.request('GET', `/accounts/${account}/usage-records/${id}`);
    return one.status === 200 ? (one.body as FoundUsageRecord) : false;
  });
  expect([record.keyName, record.streamed]).toEqual(['Playground', true]);
  const listed = (await person.must<PageKeys>('GET', `/accounts/${account}/keys`)).data;
  expect(listed.map(({ name }) => name)).not.toContain('Playground');
  // More than the requests of the earlier tests in this minute, and fewer than the following
  // playground requests.
  await system.operator.limits(account, 12, 20);
  const { secret } = await person.must<CreatedPageKey>('POST', `/accounts/${account}/keys`, { name: 'mine' });
  // Two clock minutes allow at most twenty requests, so some are refused even if a new minute
  // begins.
  const turns = await Promise.all(Array.from({ length: 21 }, turn));
  const refused = turns.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(0);
  expect(codeOf(refused[0] as PageAnswer)).toBe('rate_limited');
  expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await call(secret)).status).toBe(200);
  // If many requests are refused in a minute, only the newest IDs are stored.
  const found = await until('a refused playground request is found by its ID', async () => {
    const ids = refused.map(({ headers }) => headers.get('x-gateway-request-id'));
    const path = `/accounts/${account}/usage-records`;
    const answers = await Promise.all(ids.map((id) => person.request('GET', `${path}/${id}`)));
    return answers.find(({ status }) => status === 200);
  });
  const at = expect.stringMatching(/:00\.000Z$/);
  expect(found.body).toMatchObject({ requestId: expect.any(String), refused: { code: 'rate_limited', at } });
}, 60_000);

test('signing in does not reveal known addresses, and sessions end when requested', async () => {
  const elsewhere = new PageUser(system.dashboardUrl, person.email);
  const stranger = new PageUser(system.dashboardUrl);
  const answers = [];
  for (const email of [person.email, stranger.email]) {
    const wrong = await stranger.request('POST', '/sign-in', { email, password: 'a wrong password' });
    const forgot = await stranger.request('POST', '/forgot-password', { email });
    const again = await stranger.request('POST', '/sign-up', { name: 'X', email });
    answers.push([...statusAndCode(wrong), forgot.status, forgot.text, again.status, again.text]);
  }
  expect(answers[0]).toEqual(answers[1]);
  // The stranger has signed up above, but has not verified the address.
  await stranger.tokenInMail('Verify');
  const early = await stranger.request('POST', '/sign-in', { email: stranger.email, password: stranger.password });
  expect(statusAndCode(early)).toEqual([401, 'invalid_credentials']);
  expect(answers[0]).toEqual([401, 'invalid_credentials', 202, '{}', 202, '{}']);
  await until('the owner of the address gets an email', async () =>
    (await readEmails(person.email)).some(({ subject }) => subject.includes('already')),
  );
  expect((await elsewhere.request('POST', '/sign-in', { email: person.email, password: person.password })).status).toBe(
    200,
  );
  const change = { oldPassword: person.password, newPassword: 'an entirely new one' };
  expect(
    statusAndCode(await person.request('POST', '/change-password', { ...change, oldPassword: 'a guess of it' })),
  ).toEqual([...[401, 'invalid_credentials']]);
  expect((await person.request('POST', '/change-password', change)).status).toBe(204);
  expect([
    (await person.request('GET', '/session')).status,
    (await elsewhere.request('GET', '/session')).status,
  ]).toEqual([...[200, 401]]);
  expect((await person.request('POST', '/sign-out-everywhere')).status).toBe(204);
  expect((await person.request('GET', '/session')).status).toBe(401);
}, 60_000);
