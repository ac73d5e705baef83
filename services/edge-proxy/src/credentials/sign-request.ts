import { type Hash, type Hmac, createHash, createHmac } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsKeys } from './credential-text.js';

/** The parts of a request that the signature covers. */
export interface RequestToSign {
  readonly method: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path and query as they are sent. */
  readonly path: string;
  /** Headers with lower-case names; `host` is added. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body. Absent if the headers contain its hash. */
  readonly body?: string;
}

/** The service and region of the signature. */
export interface SigningScope {
  readonly service: string;
  readonly region: string;
}

/** Headers that a signature adds, in sending order. */
const SIGNATURE_HEADERS = ['x-amz-date', 'x-amz-security-token', 'x-amz-content-sha256', 'authorization'];

/**
 * Returns the headers that sign a request with AWS Signature Version 4: name, value, name, value.
 * The signature encodes the path a second time, which every service except S3 requires.
 * @param nowMs epoch milliseconds
 */
export async function signRequest(
  { method, origin, path, headers, body }: RequestToSign,
  { service, region }: SigningScope,
  keys: AwsKeys,
  nowMs: number,
): Promise<string[]> {
  const { protocol, hostname, host } = new URL(origin);
  const { sessionToken, ...fixed } = keys;
  const signer = new SignatureV4({
    service,
    region,
    credentials: sessionToken === undefined ? fixed : { ...fixed, sessionToken },
    sha256: Sha256,
    applyChecksum: false,
  });
  const mark = path.indexOf('?');
  const signed = await signer.sign(
    {
      method,
      protocol,
      hostname,
      path: mark < 0 ? path : path.slice(0, mark),
      query: mark < 0 ? {} : parseQuery(path.slice(mark + 1)),
      headers: { host, ...headers },
      body,
    },
    { signingDate: new Date(nowMs) },
  );
  return SIGNATURE_HEADERS.flatMap((name) => {
    const value = signed.headers[name];
    return value === undefined ? [] : [name, value];
  });
}

/** Decodes the query, since the signature encodes it again. */
function parseQuery(text: string): Record<string, string | string[]> {
  const query: Record<string, string | string[]> = {};
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const [name = '', ...rest] = pair.split('=').map((each) => decoded(each));
    const value = rest.join('=');
    const before = query[name];
    query[name] = before === undefined ? value : [before, value].flat();
  }
  return query;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Most bytes hashed per event-loop tick. A larger body takes several ticks. */
const BYTES_AT_ONCE_MAX = 512 * 1024;

/** Returns the hash of a body as hex. Synchronous up to {@link BYTES_AT_ONCE_MAX}. */
export function computeSha256(pieces: readonly Buffer[]): string | Promise<string> {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const hash = createHash('sha256');
  if (bytes > BYTES_AT_ONCE_MAX) return inTurns(hash, pieces);
  for (const piece of pieces) hash.update(piece);
  return hash.digest('hex');
}

async function inTurns(hash: Hash, pieces: readonly Buffer[]): Promise<string> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += BYTES_AT_ONCE_MAX) {
      hash.update(piece.subarray(at, at + BYTES_AT_ONCE_MAX));
      await setImmediate();
    }
  }
  return hash.digest('hex');
}

type Bytes = string | ArrayBuffer | ArrayBufferView;

/** The hash, or the HMAC with a secret, with the interface of the signing library. */
export class Sha256 {
  readonly #secret: Bytes | undefined;
  #hash: Hash | Hmac;

  constructor(secret?: Bytes) {
    this.#secret = secret;
    this.#hash = this.#begin();
  }

  update(data: Bytes): void {
    this.#hash.update(bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(this.#hash.digest());
  }

  reset(): void {
    this.#hash = this.#begin();
  }

  #begin(): Hash | Hmac {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', bytesOf(this.#secret));
  }
}

function bytesOf(data: Bytes): Buffer {
  if (typeof data === 'string') return Buffer.from(data);
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data);
}
