import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { SMTPServer } from 'smtp-server';

export interface MailboxOptions {
  /** Created if it does not exist. */
  readonly directory: string;
  /** 0 or absent: any free port. */
  readonly port?: number;
  /** Maximum number of stored emails. Default: MAILS_MAX. */
  readonly mailsMax?: number;
}

/** A mail server on the loopback address that stores emails as files. */
export interface Mailbox {
  /** In the form of GATEWAY_SMTP_URL. */
  readonly url: string;
  readonly directory: string;
  /** Returns the stored emails, oldest first, each as received with its headers. */
  mails(): Promise<string[]>;
  stop(): Promise<void>;
}

const MAILS_MAX = 500;
const MAIL_BYTES_MAX = 1024 * 1024;
const CLIENTS_MAX = 32;
const SILENCE_MAX_MS = 60_000;
/** Time for open connections to end at a stop. */
const CLOSE_MS = 1_000;
const SUFFIX = '.eml';

/** Starts a mailbox. Resolves when it listens. */
export async function startMailbox({ directory, port = 0, mailsMax = MAILS_MAX }: MailboxOptions): Promise<Mailbox> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  let taken = 0;

  const keep = async (mail: Buffer): Promise<void> => {
    taken += 1;
    const name = `${new Date().toISOString().replaceAll(':', '-')}-${String(taken).padStart(6, '0')}${SUFFIX}`;
    const file = `${directory}/${name}`;
    await writeFile(`${file}.new`, mail, { mode: 0o600 });
    await rename(`${file}.new`, file);
    const names = await namesIn(directory);
    await Promise.all(names.slice(0, Math.max(0, names.length - mailsMax)).map((old) => remove(directory, old)));
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
      read(stream)
        .then(async (mail) => {
          if (stream.sizeExceeded || mail === null) return done(refusal(552, 'the email is larger than 1 MiB'));
          await keep(mail);
          done();
        })
        .catch(() => done(refusal(451, 'the email could not be stored')));
    },
  });
  // A client that disconnects during an email is not an error of this process.
  server.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    directory,
    async mails() {
      const names = await namesIn(directory);
      return Promise.all(names.map((name) => readFile(`${directory}/${name}`, 'utf8')));
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Returns null for an email that is too large; the remaining bytes are read and dropped. */
async function read(stream: Readable): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAIL_BYTES_MAX) chunks.push(chunk);
  }
  return bytes > MAIL_BYTES_MAX ? null : Buffer.concat(chunks);
}

async function namesIn(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((name) => name.endsWith(SUFFIX)).sort();
}

/** Two concurrent emails may remove the same file. */
function remove(directory: string, name: string): Promise<void> {
  return rm(`${directory}/${name}`, { force: true });
}

function refusal(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}
