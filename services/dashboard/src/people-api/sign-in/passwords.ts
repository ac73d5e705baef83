import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** Cost of new hashes: OWASP's N = 2^17, r = 8, p = 1 (128 MiB, some tenths of a second). */
export const SCRYPT_LOG_N = 17;
const BLOCK_SIZE = 8;
const PARALLEL = 1;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Memory that scrypt needs in addition to 128 * N * r bytes. */
const MEMORY_ROOM_BYTES = 1024 * 1024;
/** Most concurrent hashes. Each one takes a thread and 128 MiB. */
const AT_ONCE_MAX = 2;
/** Most waiting requests, about ten seconds of work. */
const WAITING_MAX = 32;
/**
 * Most waiting requests of one client, so that one client leaves room for others. An office may
 * share one network.
 */
const WAITING_OF_CLIENT_MAX = 8;

const PHC = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;

interface Cost {
  readonly logN: number;
  readonly r: number;
  readonly p: number;
}

export type Passwords = ReturnType<typeof createPasswords>;

/**
 * Hashes passwords with Node's scrypt, on its threads and few at a time. `busy`: too many requests
 * wait, in total or of this client. Only tests set `logN`.
 */
export function createPasswords(logN = SCRYPT_LOG_N) {
  const cost: Cost = { logN, r: BLOCK_SIZE, p: PARALLEL };
  const queued = createQueue();
  // Compared if the address is unknown, so that the response takes as long.
  const ofNobody = write(cost, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES));
  return {
    hash: (password: string, client: string): Promise<string | 'busy'> =>
      queued(client, async () => {
        const salt = randomBytes(SALT_BYTES);
        return write(cost, salt, await derive(password, salt, cost, HASH_BYTES));
      }),
    /** Returns whether the password is correct. A null `hash` takes as long and returns false. */
    isRight: (password: string, hash: string | null, client: string): Promise<boolean | 'busy'> =>
      queued(client, async () => {
        const { salt, expected, ...stored } = read(hash ?? ofNobody);
        const derived = await derive(password, salt, stored, expected.length);
        return timingSafeEqual(derived, expected) && hash !== null;
      }),
    /** Returns whether the hash has a different cost than new ones. */
    isOutdated(hash: string): boolean {
      const stored = read(hash);
      return stored.logN !== cost.logN || stored.r !== cost.r || stored.p !== cost.p;
    },
  };
}

/** Creates a queue that runs few tasks at a time, in order of arrival. */
function createQueue() {
  const waiting: { readonly client: string; readonly begin: () => void }[] = [];
  let running = 0;
  return async <T>(client: string, work: () => Promise<T>): Promise<T | 'busy'> => {
    if (running >= AT_ONCE_MAX) {
      const ofClient = waiting.filter((one) => one.client === client).length;
      if (waiting.length >= WAITING_MAX || ofClient >= WAITING_OF_CLIENT_MAX) return 'busy';
      // The task that ends passes its place on, so `running` stays unchanged.
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
  // Normalizes characters that keyboards compose differently.
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

/** Encodes base64 without padding, as PHC strings do. */
function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/(?<!=)=+$/, '');
}
