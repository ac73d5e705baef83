import { createTransport } from 'nodemailer';
import { isPrivateHost, type Logger, type Secret } from '@gateway/service-kit';
import type { MailText } from './alert-mail-rules.js';

export interface Mail extends MailText {
  /** The same for every attempt to send it. */
  readonly id: string;
  readonly to: string;
}

export interface MailSender {
  /** `refused`: for good. Rejects when it may be taken later. */
  send(mail: Mail): Promise<'sent' | 'refused'>;
}

/** From these reply codes on the server refuses a mail for good (RFC 5321, 4.2.1). */
const PERMANENT_MIN = 500;
const CONNECT_MS = 5_000;
const SILENCE_MS = 8_000;

/**
 * Whether others could read what goes there, the password too, from a server that offers no
 * STARTTLS, or whose offer somebody on the way hides. `requireTLS` and `ignoreTLS` in the URL
 * go before.
 */
export function isOpenToOthers({ protocol, href, searchParams }: URL): boolean {
  if (protocol !== 'smtp:' || searchParams.has('requireTLS') || searchParams.has('ignoreTLS')) return false;
  // Names and addresses are written in one form only where the scheme is known to the parser.
  return !isPrivateHost(new URL(href.replace(/^smtp:/, 'http:')).hostname);
}

/** Sends mails over a server, one connection for each. */
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
          // An object is taken as it is; a text would be parsed, and could name several people.
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

/** What a link carries behind `#`; it opens a person's account. */
const LINK_TOKEN = /#token=[A-Za-z0-9_-]+/g;

/** Without a server mails are written to the log, without the tokens of their links. */
export function createMailLog(log: Pick<Logger, 'info'>): MailSender {
  return {
    send(mail) {
      const shown = { ...mail, text: mail.text.replace(LINK_TOKEN, '#token=…') };
      log.info({ mail: shown }, 'a mail; no mail server is set');
      return Promise.resolve('sent');
    },
  };
}

function isPermanent(error: unknown): boolean {
  const { responseCode, code } = error as { readonly responseCode?: unknown; readonly code?: unknown };
  // A server that refuses the sign-in may take it once the deployment is put right.
  return typeof responseCode === 'number' && responseCode >= PERMANENT_MIN && code !== 'EAUTH';
}

/**
 * Errors of the library quote the server, which quotes the address: only their kinds go any
 * further.
 */
function withoutAddress(error: unknown): Error {
  const { code, responseCode } = error as { readonly code?: unknown; readonly responseCode?: unknown };
  return new Error(
    `the mail server did not take a mail: ${String(code ?? 'unknown')} ${String(responseCode ?? '')}`.trimEnd(),
  );
}
