import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

interface MailboxOptions {
  /** Created if it does not exist. */
  readonly directory: string;
  /** Address on which it listens. Default: 127.0.0.1. */
  readonly host?: string;
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** Maximum number of stored emails. Default: MAILS_MAX. */
  readonly mailsMax?: number;
}

/** A mail server that stores emails as files. */
export interface Mailbox {
  /** In the form of GATEWAY_SMTP_URL. */
  readonly url: string;
  readonly directory: string;
  /** Returns the stored emails, oldest first, each as received with its headers. */
  mails(): Promise<string[]>;
  stop(): Promise<void>;
}

const LOOPBACK = '127.0.0.1';
const MAILS_MAX = 500;
const MAIL_BYTES_MAX = 1024 * 1024;
const CLIENTS_MAX = 32;
const SILENCE_MAX_MS = 60_000;
/** Time for open connections to end at a stop. */
const CLOSE_MS = 1_000;

/** Starts a mailbox. Resolves when it listens. */
export async function startMailbox(options: MailboxOptions): Promise<Mailbox> {
  const { directory, host = LOOPBACK, port = 0, mailsMax = MAILS_MAX } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  let stored = 0;
  const store = async (mail: Buffer): Promise<void> => {
    stored += 1;
    const name = `${new Date().toISOString().replaceAll(':', '-')}-${String(stored).padStart(6, '0')}.eml`;
    await writeFile(`${directory}/${name}.new`, mail, { mode: 0o600 });
    await rename(`${directory}/${name}.new`, `${directory}/${name}`);
    // Two concurrent emails may remove the same file.
    await Promise.all((await listMails(directory)).slice(0, -mailsMax).map((old) => rm(old, { force: true })));
  };

  const server = new SMTPServer({
    name: 'localhost',
    banner: 'local mailbox',
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    size: MAIL_BYTES_MAX,
    maxClients: CLIENTS_MAX,
    socketTimeout: SILENCE_MAX_MS,
    closeTimeout: CLOSE_MS,
    onData(stream, _session, done) {
      const refuse = (responseCode: number, text: string): void =>
        done(Object.assign(new Error(text), { responseCode }));
      const chunks: Buffer[] = [];
      // The remaining bytes of an email that is too large are read and dropped.
      stream.on('data', (chunk: Buffer) => !stream.sizeExceeded && chunks.push(chunk));
      stream.once('end', () => {
        if (stream.sizeExceeded) return refuse(552, 'the email is larger than 1 MiB');
        store(Buffer.concat(chunks)).then(
          () => done(),
          () => refuse(451, 'the email could not be stored'),
        );
      });
    },
  });
  // A client that disconnects during an email is not an error of this process.
  server.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    url: `smtp://${host}:${(server.server.address() as AddressInfo).port}`,
    directory,
    mails: () => readMails(directory),
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Reads the stored emails of a mailbox, oldest first, each as received with its headers. */
export async function readMails(directory: string): Promise<string[]> {
  return Promise.all((await listMails(directory)).map((file) => readFile(file, 'utf8')));
}

async function listMails(directory: string): Promise<string[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.eml')).sort();
  return names.map((name) => `${directory}/${name}`);
}
