import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Mailbox } from './mailbox.js';
import { readMail, type ParsedEmail } from './read-mail.js';

export interface MailboxPage {
  readonly url: string;
  stop(): Promise<void>;
}

/** Maximum number of emails on the page; the newest are shown. */
const SHOWN_MAX = 50;
const REQUEST_MS_MAX = 10_000;
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

/**
 * Serves the emails of a mailbox as one page for a developer at this machine. It accepts only
 * loopback host names, so that no other page can make a browser read it. In a container it listens
 * on all addresses, and the port is published on the machine's loopback address.
 */
export async function startMailboxPage(
  mailbox: Pick<Mailbox, 'mails'>,
  port = 0,
  host = '127.0.0.1',
): Promise<MailboxPage> {
  const server = createServer({ requestTimeout: REQUEST_MS_MAX }, (request, response) => {
    const isOwnName = /^(127\.0\.0\.1|localhost)(:\d+)?$/.test(request.headers.host ?? '');
    const send = (status: number, text = ''): void => void response.writeHead(status, HEADERS).end(text);
    if (request.method !== 'GET' || !isOwnName) return send(404);
    mailbox
      .mails()
      .then((mails) => Promise.all(mails.slice(-SHOWN_MAX).reverse().map(readMail)))
      .then((mails) => send(200, pageOf(mails)))
      .catch(() => send(500));
  });
  await once(server.listen(port, host), 'listening');
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}`,
    async stop() {
      const closed = once(server.close(), 'close');
      server.closeAllConnections();
      await closed;
    },
  };
}

const STYLE = `body{font:15px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
article{border:1px solid #8886;border-radius:8px;padding:1rem 1.25rem;margin:1rem 0}
h2{font-size:1.05rem;margin:0}p{margin:.25rem 0 0;opacity:.75}pre{font:inherit;white-space:pre-wrap;overflow-wrap:anywhere}`;

function pageOf(mails: readonly ParsedEmail[]): string {
  const articles = mails.map(
    ({ to, date, subject, text }) =>
      `<article><h2>${escape(subject)}</h2><p>To ${escape(to)} · ${escape(date)}</p><pre>${withLinks(text)}</pre></article>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Mailbox</title><style>${STYLE}</style><h1>Mailbox of this machine</h1>
${articles.join('') || '<p>There are no emails yet. Reload the page to check again.</p>'}</html>`;
}

/** Converts addresses into links and escapes everything else. */
function withLinks(text: string): string {
  return text
    .split(/(https?:\/\/[^\s<>"']+)/)
    .map((part, index) => (index % 2 === 0 ? escape(part) : `<a href="${escape(part)}">${escape(part)}</a>`))
    .join('');
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
