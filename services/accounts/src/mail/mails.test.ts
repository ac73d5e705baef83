import { randomUUID } from 'node:crypto';
import { createServer, type AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { accountsPutMember, alertRaised, type RaisedAlert } from '@gateway/contracts/messages';
import { startMailbox, type Mailbox } from '@gateway/mailbox';
import { freePort } from '@gateway/servers';
import type { RunningService } from '@gateway/service-kit';
import { temporaryDirectory, until, type TemporaryDirectory } from '@gateway/testkit';
import { duringTests } from '@gateway/testkit/during-tests';
import { startAccountsWorld } from '../../test/accounts-world.js';
import { accepted, AUTHOR, randomEmail } from '../../test/operator-client.js';
import { expectVersions } from '../../test/versions.js';
import type { MailSender } from './sender.js';
import { sendMail, RETRY_MAX_MS } from './send-mail.js';

const world = duringTests(startAccountsWorld);
let mailbox: Mailbox;
let directory: TemporaryDirectory;
const replicas: RunningService[] = [];
beforeEach(async () => {
  directory = temporaryDirectory('mailbox');
  // Uses a port that no other test's client gets while the mailbox is stopped.
  mailbox = await startMailbox({ directory: `${directory.path}/mails`, port: await freePort() });
});
afterEach(async () => {
  await Promise.all(replicas.splice(0).map((replica) => replica.stop()));
  await mailbox.stop();
  directory.remove();
});

const start = async (env: Record<string, string> = { GATEWAY_SMTP_URL: mailbox.url }) =>
  replicas.push(await world.start({ env: { GATEWAY_MAIL_FROM: 'Gateway <gateway@example.net>', ...env } }));
const alertOf = (account: string, changes: Partial<RaisedAlert> = {}): RaisedAlert => ({
  id: randomUUID(),
  account,
  threshold: 90,
  limit: 20,
  used: 18,
  subject: { kind: 'window', type: 'weekly', unit: 'requests' },
  periodStart: Date.UTC(2026, 10, 16),
  periodEnd: Date.UTC(2026, 10, 23),
  raisedAt: Date.now(),
  ...changes,
});
const tell = (alert: RaisedAlert) => world.billing.request(alertRaised, alert);
const header = (mail: string, name: string) =>
  new RegExp(`^${name}:((?:.|\r\n[ \t])*)`, 'mi')
    .exec(mail)?.[1]
    ?.replace(/\r\n[ \t]/g, ' ')
    .trim();
const readers = async () => (await mailbox.mails()).map((mail) => header(mail, 'To'));
const mailsSent = async (count: number) => {
  await until(`${count} mails are there`, async () => (await mailbox.mails()).length >= count);
  return (await readers()).sort();
};
/** Waits until no email is queued. */
const quiet = () =>
  until('no email waits', async () => (await world.sql.query('SELECT FROM mail_outbox')).length === 0);

test('alert emails go to the owner and the verified admins of the account', async () => {
  await start();
  const account = await world.client.makeAccount({ type: 'team' });
  const admin = await world.client.makeMember(account.id, { role: 'admin' });
  await world.client.makeMember(account.id, { role: 'member' });
  await world.client.makeMember(account.id, { role: 'admin', emailVerified: false });
  const alert = alertOf(account.id);
  await tell(alert);
  expect(await mailsSent(2)).toEqual([account.email, admin.email].sort());
  await quiet();
  const mails = await mailbox.mails();
  expect(mails).toHaveLength(2);
  const [mail = ''] = mails.filter((one) => header(one, 'To') === account.email);
  expect(header(mail, 'Subject')).toBe('90 % of the weekly window used: An account');
  expect(header(mail, 'From')).toBe('Gateway <gateway@example.net>');
  expect(header(mail, 'Message-ID')).toContain(alert.id);
  expect(mail).toContain('Used:   18 calls\r\nLimit:  20 calls\r\n');
});

test("alert emails of a cap also go to its member or to the key's owner", async () => {
  await start();
  const account = await world.client.makeAccount({ type: 'team' });
  const member = await world.client.makeMember(account.id, { monthlySpendCapUsd: '5' });
  const key = await world.client.makeKey(account.id, { name: 'Über "CI"', memberId: member.id });
  await tell(alertOf(account.id, { subject: { kind: 'member_cap', memberId: member.id } }));
  expect(await mailsSent(2)).toEqual([account.email, member.email].sort());
  await tell(alertOf(account.id, { subject: { kind: 'key_cap', keyId: key.id } }));
  expect(await mailsSent(4)).toEqual([account.email, account.email, member.email, member.email].sort());
});

test('a repeated alert, at any replica, is emailed once', async () => {
  await Promise.all([start(), start()]);
  const account = await world.client.makeAccount();
  const alerts = Array.from({ length: 5 }, () => alertOf(account.id));
  await Promise.all([...alerts, ...alerts, ...alerts].map(tell));
  await mailsSent(alerts.length);
  await quiet();
  const ids = (await mailbox.mails()).map((mail) => header(mail, 'Message-ID'));
  expect([ids.length, new Set(ids).size]).toEqual([5, 5]);
});

test('emails are sent after the mail server is available again', async () => {
  const { port } = new URL(mailbox.url);
  await mailbox.stop();
  await start();
  const account = await world.client.makeAccount();
  await tell(alertOf(account.id));
  await until('an attempt has failed', () => world.log.lines.some(({ text }) => text === 'outbox delivery failed'));
  mailbox = await startMailbox({ directory: mailbox.directory, port: Number(port) });
  expect(await mailsSent(1)).toEqual([account.email]);
  expect(JSON.stringify(world.log.lines)).not.toContain(account.email);
});

test('a permanently rejected email is dropped and does not block others', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => undefined).write('220 here\r\n');
    socket.on('data', (data) => socket.write(data.toString().startsWith('RCPT') ? '550 nobody\r\n' : '250 ok\r\n'));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  await start({ GATEWAY_SMTP_URL: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}` });
  const account = await world.client.makeAccount();
  const alert = alertOf(account.id);
  await tell(alert);
  await until('it is refused', () =>
    world.log.lines.some(
      ({ text, facts }) => text === 'the mail server rejected an email' && JSON.stringify(facts).includes(alert.id),
    ),
  );
  await quiet();
  server.close();
});

test('without a mail server, emails are written to the log', async () => {
  await start({});
  const account = await world.client.makeAccount();
  await tell(alertOf(account.id));
  const line = await until('it is written', () =>
    world.log.lines.find(({ facts }) => JSON.stringify(facts).includes(account.email)),
  );
  expect(line).toMatchObject({ level: 'info', facts: { mail: { to: account.email, subject: expect.any(String) } } });
});

test('an alert of an unknown account is accepted without emails', async () => {
  await start();
  expect(await tell(alertOf('acc_00000000000000000000000000000000'))).toEqual({ accepted: true });
});

test('billing receives the caps of keys and members and their changes', async () => {
  await start();
  const account = await world.client.makeAccount({ type: 'team' });
  const key = await world.client.makeKey(account.id, { monthlySpendCapUsd: '12.5' });
  await world.client.makeKey(account.id, {});
  const member = await world.client.makeMember(account.id, { monthlySpendCapUsd: '5' });
  const put = async (monthlySpendCapUsd: string | null) =>
    accepted(
      await world.dashboard.request(accountsPutMember, {
        account: account.id,
        member: member.id,
        spec: { email: member.email, role: 'admin', monthlySpendCapUsd },
        author: AUTHOR,
      }),
    );
  await put('5');
  const askedMs = [Date.now()];
  await put('6.000000001');
  askedMs.push(Date.now());
  await put(null);
  const told = () => world.caps.filter((one) => one.account === account.id).flatMap(({ caps }) => caps);
  await until('all caps are received', () => told().length === 4);
  const versions = world.admission.versions(member.id);
  expectVersions(versions, askedMs);
  expect(told()).toEqual([
    { kind: 'key', id: key.id, capNanoUsd: 12_500_000_000, version: 1 },
    { kind: 'member', id: member.id, capNanoUsd: 5_000_000_000, version: 1 },
    { kind: 'member', id: member.id, capNanoUsd: 6_000_000_001, version: versions[0] },
    { kind: 'member', id: member.id, capNanoUsd: null, version: versions[1] },
  ]);
});

test('an email is retried for one day, and not sent to a deleted member', async () => {
  expect(RETRY_MAX_MS).toBe(86_400_000);
  const alert = alertOf('acc_1');
  const row = { body: { member: 'mem_1', alert } };
  const failing: MailSender = { send: () => Promise.reject(new Error('away')) };
  const reader = { email: randomEmail(), accountName: 'A', keyName: null, cappedMember: null };
  const deps = (now: number, sender = failing, found: typeof reader | null = reader) => ({
    store: { alertReader: () => Promise.resolve(found) },
    sender,
    nowMs: () => now,
    log: world.log,
  });
  await expect(sendMail(deps(alert.raisedAt + RETRY_MAX_MS - 1), row)).rejects.toThrow('away');
  await sendMail(deps(alert.raisedAt + RETRY_MAX_MS), row);
  await sendMail(deps(alert.raisedAt, failing, null), row);
});
