import type { RaisedAlert } from '@gateway/contracts/messages';
import { expect, test } from '@jest/globals';
import { composeAlertMail, type AlertNames } from './alert-mail-rules.js';

const ALERT: RaisedAlert = {
  id: 'alert-1',
  account: 'acc_1',
  subject: { kind: 'key_cap', keyId: 'key_1' },
  threshold: 75,
  limit: 10_000_000_000,
  used: 7_500_000_001,
  periodStart: Date.UTC(2026, 10, 1),
  periodEnd: Date.UTC(2026, 11, 1),
  raisedAt: Date.UTC(2026, 10, 20),
};
const NAMES: AlertNames = { accountName: 'Ada', keyName: 'CI', cappedMember: null };

test('an alert email names the limit, its use and the end of its period', () => {
  expect(composeAlertMail(ALERT, NAMES)).toEqual({
    subject: '75 % of the monthly cap of the key CI used: Ada',
    text: [
      '75 percent of the monthly cap of the key CI of the account "Ada" are used.',
      '',
      'Used:   7.500000001 USD',
      'Limit:  10.00 USD',
      'Period: 2026-11-01 00:00 UTC to 2026-12-01 00:00 UTC',
      '',
      'At 100 percent, calls that count against this limit are refused until 2026-12-01 00:00 UTC.',
      '',
    ].join('\n'),
  });
});

test.each([
  [{ kind: 'window', type: 'weekly', unit: 'requests' }, 'weekly window', '7500000001 calls'],
  [{ kind: 'window', type: 'session_5h', unit: 'usd' }, 'session window (5 hours)', '7.500000001 USD'],
  [{ kind: 'window', type: 'monthly', unit: 'usd' }, 'monthly window', '7.500000001 USD'],
  [{ kind: 'member_cap', memberId: 'mem_1' }, 'monthly cap of the member bob@example.com', '7.500000001 USD'],
] as const)('an alert email of %o names the limit', (subject, limit, used) => {
  const mail = composeAlertMail(
    { ...ALERT, subject, threshold: 100 },
    { ...NAMES, keyName: null, cappedMember: 'bob@example.com' },
  );
  expect(mail.subject).toBe(`100 % of the ${limit} used: Ada`);
  expect(mail.text).toContain(`Used:   ${used}\n`);
  expect(mail.text).toContain('are refused until 2026-12-01 00:00 UTC, or until the limit is raised.');
});

test('an alert email shows the ID of a deleted key or member', () => {
  const names = { ...NAMES, keyName: null };
  expect(composeAlertMail(ALERT, names).subject).toContain('the key key_1');
  const subject = { kind: 'member_cap', memberId: 'mem_1' } as const;
  expect(composeAlertMail({ ...ALERT, subject }, names).subject).toContain('the member mem_1');
});
