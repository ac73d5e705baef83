import type { MailText } from './alert-mail-rules.js';

const HOUR_MS = 3_600_000;

/** Validity of an email link, from the time of sending. */
export const TOKEN_LIFE_MS = { verify: 24 * HOUR_MS, reset: HOUR_MS, invitation: 7 * 24 * HOUR_MS } as const;

/** Kinds of sign-in emails. Those with a link have a token kind of the same name. */
export const NOTICES = ['verify', 'reset', 'invitation', 'known_address', 'password_changed'] as const;
export type Notice = (typeof NOTICES)[number];

export interface NoticeInput {
  readonly dashboardUrl: string;
  /** Null: the email has no link, or its user does not need one. */
  readonly token: string | null;
  /** Set for an invitation. */
  readonly accountName: string | null;
}

const NOT_YOU = 'If this was not you, ignore this email. Nothing happens without the link.';

/**
 * Composes a sign-in email. The token follows `#`, which browsers do not send, so that no server
 * log contains it.
 */
export function composeNotice(notice: Notice, input: NoticeInput): MailText {
  const link = (path: string) =>
    input.token === null ? page(input, path) : `${page(input, path)}#token=${input.token}`;
  switch (notice) {
    case 'verify':
      return mail('Verify your email address', [
        'Open this link within 24 hours to verify your email address and to choose your password:',
        link('/verify'),
        NOT_YOU,
      ]);
    case 'reset':
      return mail('Set a new password', [
        'Open this link within one hour to set a new password. All sessions end when you do.',
        link('/reset'),
        NOT_YOU,
      ]);
    case 'invitation':
      return invitation(input, link);
    case 'known_address':
      return mail('You already have an account', [
        'Someone tried to sign up with this email address. It already has an account. Sign in with your password:',
        page(input, '/sign-in'),
        'If you have forgotten it, open this link within one hour to set a new one:',
        link('/reset'),
        'If this was not you, ignore this email. Nothing was changed.',
      ]);
    case 'password_changed':
      return mail('Your password was changed', [
        'The password of your account was changed, and other sessions were ended.',
        'If this was not you, set a new password now:',
        page(input, '/forgot'),
      ]);
  }
}

function invitation(input: NoticeInput, link: (path: string) => string): MailText {
  const account = input.accountName ?? 'a team';
  const subject = `You are invited to ${account}`;
  const begin = `You are now a member of "${account}".`;
  if (input.token === null) return mail(subject, [`${begin} Sign in to use it:`, page(input, '/sign-in')]);
  return mail(subject, [
    `${begin} Open this link within seven days to set your password:`,
    link('/invitation'),
    'If you do not know who invited you, ignore this email.',
  ]);
}

function page({ dashboardUrl }: NoticeInput, path: string): string {
  return `${dashboardUrl.replace(/(?<!\/)\/+$/, '')}${path}`;
}

function mail(subject: string, paragraphs: readonly string[]): MailText {
  return { subject, text: `${paragraphs.join('\n\n')}\n` };
}
