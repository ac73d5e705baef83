import { statSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { temporaryDirectory, type TemporaryDirectory } from '@gateway/testkit';
import { startMailbox, type Mailbox } from './mailbox.js';

let directory: TemporaryDirectory;
let mailbox: Mailbox;
beforeEach(async () => {
  directory = temporaryDirectory('mailbox');
  mailbox = await startMailbox({ directory: `${directory.path}/mails`, mailsMax: 3 });
});
afterEach(async () => {
  await mailbox.stop();
  directory.remove();
});

/** Sends SMTP lines one by one. Returns the server's greeting and its reply to each line. */
async function say(...lines: string[]): Promise<string[]> {
  const socket = createConnection(Number(new URL(mailbox.url).port), '127.0.0.1').setEncoding('utf8');
  const replies: string[] = [];
  let rest = [...lines];
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject).on('close', resolve);
    socket.on('data', (text: string) => {
      replies.push(text.trim());
      const [next, ...others] = rest;
      rest = others;
      if (next === undefined) socket.end();
      else socket.write(`${next}\r\n`);
    });
  });
  return replies;
}
const send = (text: string) =>
  say('HELO test', 'MAIL FROM:<a@example.com>', 'RCPT TO:<b@example.com>', 'DATA', `${text}\r\n.`, 'QUIT');

test('an email is stored as received, readable by its owner only', async () => {
  const replies = await send('Subject: one\r\n\r\nHello.\r\n..dot');
  expect(replies[5]).toMatch(/^250/);
  expect(await mailbox.mails()).toEqual(['Subject: one\r\n\r\nHello.\r\n.dot\r\n']);
  const [name = ''] = await readdir(mailbox.directory);
  expect(name).toMatch(/^\d{4}-\d\d-\d\dT[\d.-]+Z-000001\.eml$/);
  expect(statSync(`${mailbox.directory}/${name}`).mode & 0o777).toBe(0o600);
});

test('the newest emails are kept in the order of their arrival', async () => {
  for (const subject of ['1', '2', '3', '4', '5']) await send(`Subject: ${subject}\r\n\r\n`);
  expect((await mailbox.mails()).map((mail) => mail.split('\r\n')[0])).toEqual([
    'Subject: 3',
    'Subject: 4',
    'Subject: 5',
  ]);
});

test('an email that is too large is refused and not stored', async () => {
  const replies = await send(`Subject: big\r\n\r\n${'x'.repeat(900)}\r\n`.repeat(1_300));
  expect(replies[5]).toMatch(/^552/);
  expect(await mailbox.mails()).toEqual([]);
});

test('a client that disconnects during an email leaves nothing behind', async () => {
  const socket = createConnection(Number(new URL(mailbox.url).port), '127.0.0.1');
  socket.write('HELO test\r\nMAIL FROM:<a@example.com>\r\nRCPT TO:<b@example.com>\r\nDATA\r\nSubject: half\r\n');
  await new Promise((resolve) => socket.once('data', resolve));
  socket.destroy();
  await send('Subject: whole\r\n\r\n');
  expect(await mailbox.mails()).toHaveLength(1);
});
