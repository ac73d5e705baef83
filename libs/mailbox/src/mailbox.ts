import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { SMTPServer } from 'smtp-server';

export interface MailboxOptions {
  /** Made when it is not there. */
  readonly directory: string;
  /** 0 or absent: any. */
  readonly port?: number;
  /** Mails that are kept; MAILS_MAX when absent. */
  readonly mailsMax?: number;
}

/** A mail server on the loopback address that keeps mails as files. */
export interface Mailbox {
  /** As GATEWAY_SMTP_URL carries it. */
  readonly url: string;
  readonly directory: string;
  /** What is kept, oldest first: each mail as it came, headers included. */
  mails(): Promise<string[]>;
  stop(): Promise<void>;
}

const MAILS_MAX = 500;
const MAIL_BYTES_MAX = 1024 * 1024;
const CLIENTS_MAX = 32;
const SILENCE_MAX_MS = 60_000;
/** How long open connections may end at a stop. */
const CLOSE_MS = 1_000;
const SUFFIX = '.eml';

/** Starts a mailbox; resolves when it listens. */
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
          if (stream.sizeExceeded || mail === null) return done(refusal(552, 'the mail is larger than 1 MiB'));
          await keep(mail);
          done();
        })
        .catch(() => done(refusal(451, 'the mail could not be kept')));
    },
  });
  // A client that leaves in the middle of a mail is no fault of this process.
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

/** Null: more than a mail may have; the rest is read and thrown away. */
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

/** Two mails at once may remove the same one. */
function remove(directory: string, name: string): Promise<void> {
  return rm(`${directory}/${name}`, { force: true });
}

function refusal(responseCode: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode });
}
