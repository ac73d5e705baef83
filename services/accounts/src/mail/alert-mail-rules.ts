import type { RaisedAlert } from '@gateway/contracts/messages';
import { formatUsd } from '@gateway/metering';

export interface AlertNames {
  readonly accountName: string;
  /** Name of the key with the cap. Null: the cap is not a key's, or the key does not exist. */
  readonly keyName: string | null;
  /** Address of the member with the cap. Null: not a member's cap, or a deleted member. */
  readonly cappedMember: string | null;
}

export interface MailText {
  readonly subject: string;
  readonly text: string;
}

const WINDOWS = { session_5h: 'session window (5 hours)', weekly: 'weekly window', monthly: 'monthly window' } as const;
const FULL = 100;

/** Composes an alert email. */
export function composeAlertMail(alert: RaisedAlert, names: AlertNames): MailText {
  const limit = limitName(alert, names);
  const share = `${alert.threshold} percent`;
  const until = timeText(alert.periodEnd);
  const lines = [
    `${share} of the ${limit} of the account "${names.accountName}" are used.`,
    '',
    `Used:   ${amountText(alert, alert.used)}`,
    `Limit:  ${amountText(alert, alert.limit)}`,
    `Period: ${timeText(alert.periodStart)} to ${until}`,
    '',
    alert.threshold === FULL
      ? `Calls that count against this limit are refused until ${until}, or until the limit is raised.`
      : `At 100 percent, calls that count against this limit are refused until ${until}.`,
  ];
  return { subject: `${alert.threshold} % of the ${limit} used: ${names.accountName}`, text: `${lines.join('\n')}\n` };
}

function limitName({ subject }: RaisedAlert, { keyName, cappedMember }: AlertNames): string {
  switch (subject.kind) {
    case 'window':
      return WINDOWS[subject.type];
    case 'key_cap':
      return `monthly cap of the key ${keyName ?? subject.keyId}`;
    case 'member_cap':
      return `monthly cap of the member ${cappedMember ?? subject.memberId}`;
  }
}

function amountText({ subject }: RaisedAlert, amount: number): string {
  const inCalls = subject.kind === 'window' && subject.unit === 'requests';
  return inCalls ? `${amount} calls` : `${formatUsd(BigInt(amount))} USD`;
}

function timeText(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
