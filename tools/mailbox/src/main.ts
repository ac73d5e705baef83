// The mailbox as a program, for docker-compose.yml: an SMTP server and the page with its emails.
// Anybody who reaches the SMTP port can store emails, and the page accepts loopback host names
// only, so a deployment publishes the page on a loopback address and the SMTP port nowhere.
import { startMailbox, startMailboxPage } from './index.js';

const PORT_MAX = 65_535;

const { GATEWAY_MAILBOX_HOST: host = '127.0.0.1', GATEWAY_MAILBOX_DIRECTORY: directory } = process.env;
if (directory === undefined) throw new Error('GATEWAY_MAILBOX_DIRECTORY is not set');

const mailbox = await startMailbox({ directory, host, port: readPort('GATEWAY_MAILBOX_SMTP_PORT') });
const page = await startMailboxPage(mailbox, readPort('GATEWAY_MAILBOX_PORT'), host);
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => void Promise.all([page.stop(), mailbox.stop()]));
}
const line = { level: 'info', time: new Date().toISOString(), msg: 'mailbox listening' };
console.log(JSON.stringify({ ...line, smtp: mailbox.url, page: page.url }));

/** Returns the port in a variable; 0, any free port, if it is not set. */
function readPort(name: string): number {
  const text = process.env[name] ?? '0';
  if (/^\d{1,5}$/.test(text) && Number(text) <= PORT_MAX) return Number(text);
  throw new Error(`${name}: "${text}" is not a port`);
}
