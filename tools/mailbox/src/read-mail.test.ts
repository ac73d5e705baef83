import { expect, test } from '@jest/globals';
import { readMail } from './read-mail.js';

const mailOf = (...lines: string[]): string => lines.join('\r\n');

test('headers are decoded, also a character split over two encoded words', async () => {
  const mail = mailOf(
    'From: =?utf-8?q?J=C3=BCrgen?= <from@example.com>',
    'To: <b>to</b>@example.com',
    'Date: Thu, 01 Jan 2026 10:00:00 +0000',
    'Subject: =?UTF-8?B?R3LD?=',
    ' =?UTF-8?B?vMOfZQ==?= an',
    ' alle',
    '',
    'Hello.',
    '',
  );
  expect(await readMail(mail)).toEqual({
    from: 'Jürgen <from@example.com>',
    to: '<b>to</b>@example.com',
    date: 'Thu, 01 Jan 2026 10:00:00 +0000',
    subject: 'Grüße an alle',
    text: 'Hello.\n',
  });
});

test.each([
  ['quoted-printable', 'Gr=C3=BC=C3=9Fe: http://127.0.0.1:8081/verify#token=3Dabc=\r\ndef\r\n'],
  ['base64', Buffer.from('Grüße: http://127.0.0.1:8081/verify#token=abcdef\n').toString('base64')],
  ['8bit', 'Grüße: http://127.0.0.1:8081/verify#token=abcdef\r\n'],
])('a body in %s is decoded and its address is complete', async (encoding, body) => {
  const { text } = await readMail(
    mailOf('Content-Type: text/plain; charset=utf-8', `Content-Transfer-Encoding: ${encoding}`, '', body),
  );
  expect(text).toBe('Grüße: http://127.0.0.1:8081/verify#token=abcdef\n');
});

test('an unreadable email is shown unchanged', async () => {
  const deep = Array.from({ length: 300 }, (_, depth) =>
    mailOf(`Content-Type: multipart/mixed; boundary=${depth}`, '', `--${depth}`, ''),
  ).join('');
  expect(await readMail(deep)).toEqual({ from: '', to: '', date: '', subject: '', text: deep });
  expect((await readMail('')).text).toBe('');
});
