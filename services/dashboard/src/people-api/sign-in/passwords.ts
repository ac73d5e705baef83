import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/**
 * The cost of new hashes: OWASP's N = 2^17, r = 8, p = 1, which takes 128 MiB and some tenths of a
 * second.
 */
export const SCRYPT_LOG_N = 17;
const BLOCK_SIZE = 8;
const PARALLEL = 1;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** What scrypt needs beside 128 * N * r bytes. */
const MEMORY_ROOM_BYTES = 1024 * 1024;
/** Hashes at once: each has a thread and 128 MiB. */
const AT_ONCE_MAX = 2;
/** Requests that wait: about ten seconds' worth. */
const WAITING_MAX = 32;
/** Of these so many of one client, so that one alone leaves room for others; offices share one. */
const WAITING_OF_CLIENT_MAX = 8;

const PHC = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

interface Cost {
  readonly logN: number;
  readonly r: number;
  readonly p: number;
}

export type Passwords = ReturnType<typeof createPasswords>;

/**
 * Hashes of passwords by Node's own scrypt, on its threads and few at a time. `busy`: too many
 * wait, or too many of this client. `logN` is for tests alone.
 */
export function createPasswords(logN = SCRYPT_LOG_N) {
  const cost: Cost = { logN, r: BLOCK_SIZE, p: PARALLEL };
  const queued = createQueue();
  // Compared with where nobody has the address, so that this takes as long.
  const nobodys = write(cost, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES));
  return {
    hash: (password: string, client: string): Promise<string | 'busy'> =>
      queued(client, async () => {
        const salt = randomBytes(SALT_BYTES);
        return write(cost, salt, await derive(password, salt, cost, HASH_BYTES));
      }),
    /** `hash` null: nobody's password, compared all the same. */
    isRight: (password: string, hash: string | null, client: string): Promise<boolean | 'busy'> =>
      queued(client, async () => {
        const { salt, expected, ...stored } = read(hash ?? nobodys);
        const derived = await derive(password, salt, stored, expected.length);
        return timingSafeEqual(derived, expected) && hash !== null;
      }),
    /** Whether it was made at another cost than new ones. */
    isOutdated(hash: string): boolean {
      const stored = read(hash);
      return stored.logN !== cost.logN || stored.r !== cost.r || stored.p !== cost.p;
    },
  };
}

/** Runs a few works at once, in the order in which they came. */
function createQueue() {
  const waiting: { readonly client: string; readonly begin: () => void }[] = [];
  let running = 0;
  return async <T>(client: string, work: () => Promise<T>): Promise<T | 'busy'> => {
    if (running >= AT_ONCE_MAX) {
      const ofClient = waiting.filter((one) => one.client === client).length;
      if (waiting.length >= WAITING_MAX || ofClient >= WAITING_OF_CLIENT_MAX) return 'busy';
      // The one that ends hands its place over, so `running` stays.
      await new Promise<void>((begin) => waiting.push({ client, begin }));
    } else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next.begin();
    }
  };
}

function derive(password: string, salt: Buffer, { logN, r, p }: Cost, bytes: number): Promise<Buffer> {
  const options = { N: 2 ** logN, r, p, maxmem: 128 * 2 ** logN * r + MEMORY_ROOM_BYTES };
  // One form for what keyboards compose differently.
  const text = password.normalize('NFKC');
  return new Promise((resolve, reject) => {
    scrypt(text, salt, bytes, options, (error, derived) => (error ? reject(error) : resolve(derived)));
  });
}

function write({ logN, r, p }: Cost, salt: Buffer, hash: Buffer): string {
  return `$scrypt$ln=${logN},r=${r},p=${p}$${base64(salt)}$${base64(hash)}`;
}

function read(phc: string): Cost & { readonly salt: Buffer; readonly expected: Buffer } {
  const [, logN, r, p, salt = '', hash = ''] = PHC.exec(phc) ?? [];
  if (logN === undefined || Number(logN) > SCRYPT_LOG_N + 3) throw new Error('a stored password hash cannot be read');
  const cost = { logN: Number(logN), r: Number(r), p: Number(p) };
  return { ...cost, salt: Buffer.from(salt, 'base64'), expected: Buffer.from(hash, 'base64') };
}

/** As PHC strings have it: without padding. */
function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
