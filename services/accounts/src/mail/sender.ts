import { createTransport } from 'nodemailer';
import { isPrivateHost, type Logger, type Secret } from '@gateway/service-kit';
import type { MailText } from './alert-mail-rules.js';

export interface Mail extends MailText {
  /** The same for all attempts. */
  readonly id: string;
  readonly to: string;
}

export interface MailSender {
  /** Returns `refused` after a permanent rejection. Rejects if a later attempt may succeed. */
  send(mail: Mail): Promise<'sent' | 'refused'>;
}

/** Reply codes from this one on are permanent rejections (RFC 5321, 4.2.1). */
const PERMANENT_MIN = 500;
const CONNECT_MS = 5_000;
const SILENCE_MS = 8_000;

/**
 * Whether the connection must use STARTTLS because others could read the emails and the password: a
 * public server may not offer STARTTLS, or an attacker may hide its offer. `requireTLS` and
 * `ignoreTLS` in the URL take precedence.
 */
export function isOpenToOthers({ protocol, href, searchParams }: URL): boolean {
  if (protocol !== 'smtp:' || searchParams.has('requireTLS') || searchParams.has('ignoreTLS')) return false;
  // The parser normalizes host names and addresses only for known schemes.
  return !isPrivateHost(new URL(href.replace(/^smtp:/, 'http:')).hostname);
}

/** Creates a sender that uses one connection per email. */
export function createMailSender(url: Secret, from: string): MailSender {
  const transport = createTransport({
    url: url.reveal(),
    ...(isOpenToOthers(new URL(url.reveal())) ? { requireTLS: true } : {}),
    pool: false,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    dnsTimeout: CONNECT_MS,
    socketTimeout: SILENCE_MS,
    logger: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ id, to, subject, text }) {
      try {
        await transport.sendMail({
          from,
          subject,
          text,
          // An object is used unchanged. A text would be parsed and could contain several
          // recipients.
          to: { name: '', address: to },
          messageId: `<${id}@model-gateway>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        });
        return 'sent';
      } catch (error) {
        if (isPermanent(error)) return 'refused';
        throw withoutAddress(error);
      }
    },
  };
}

/** The token in a link, which gives access to the user's account. */
const LINK_TOKEN = /#token=[A-Za-z0-9_-]+/g;

/**
 * Creates a sender for deployments without a mail server. It writes emails to the log without the
 * tokens of their links.
 */
export function createMailLog(log: Pick<Logger, 'info'>): MailSender {
  return {
    send(mail) {
      const shown = { ...mail, text: mail.text.replace(LINK_TOKEN, '#token=…') };
      log.info({ mail: shown }, 'no mail server is set; email written to the log');
      return Promise.resolve('sent');
    },
  };
}

function isPermanent(error: unknown): boolean {
  const { responseCode, code } = error as { readonly responseCode?: unknown; readonly code?: unknown };
  // Failed authentication is not permanent, because the configuration can be fixed.
  return typeof responseCode === 'number' && responseCode >= PERMANENT_MIN && code !== 'EAUTH';
}

/**
 * Returns an error with only the codes, because the library's errors quote the server's reply,
 * which quotes the address.
 */
function withoutAddress(error: unknown): Error {
  const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown };
  return new Error(
    `the mail server did not accept an email: ${String(code ?? 'unknown')} ${String(responseCode ?? '')}`.trimEnd(),
  );
}
