import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsKeys } from './credential-text.js';
import { Sha256 } from './sha256.js';

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
