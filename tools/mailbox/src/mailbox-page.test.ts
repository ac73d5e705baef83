import { request } from 'node:http';
import { expect, test } from '@jest/globals';
import { startMailboxPage } from './mailbox-page.js';

const MAILS = [
  'To: one@example.com\r\nSubject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?= =?UTF-8?Q?_an_alle?=\r\nContent-Transfer-Encoding: base64\r\n\r\nw7xiZXI=\r\n',
  'To: <b>two</b>@example.com\r\nSubject: a\r\n folded one\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n' +
    'Open http://127.0.0.1:8081/verify#token=3Dabc=\r\ndef <script>alert(1)</script>\r\n',
];

const get = (url: string, host?: string): Promise<{ status: number; text: string }> =>
  new Promise((resolve, reject) => {
    const asked = request(url, host === undefined ? {} : { headers: { host } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    });
    asked.on('error', reject).end();
  });

test('emails are shown newest first, decoded, with links and without markup', async () => {
  const page = await startMailboxPage({ mails: () => Promise.resolve(MAILS) });
  try {
    const { status, text } = await get(page.url);
    expect(status).toBe(200);
    expect(text).toContain('<h2>Grüße an alle</h2>');
    expect(text).toContain('<a href="http://127.0.0.1:8081/verify#token=abcdef">');
    expect(text.indexOf('a folded one')).toBeLessThan(text.indexOf('an alle'));
    expect(text).not.toMatch(/<script|<b>/);
    // A page on another host name that resolves to this address gets nothing.
    expect((await get(page.url, 'evil.example')).status).toBe(404);
  } finally {
    await page.stop();
  }
});
