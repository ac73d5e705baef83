import { SignatureV4 } from '@smithy/signature-v4';
import type { AwsKeys } from './credential-text.js';
import { Sha256 } from './sha256.js';

/** What a signature covers. */
export interface RequestToSign {
  readonly method: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** With its query, as it is sent. */
  readonly path: string;
  /** Lower-case names; `host` is added. */
  readonly headers: Readonly<Record<string, string>>;
  /** Absent: the headers have the hash of the body. */
  readonly body?: string;
}

/** For what it is signed. */
export interface SigningScope {
  readonly service: string;
  readonly region: string;
}

/** Those that a signature adds, in the order in which they are sent. */
const SIGNATURE_HEADERS = ['x-amz-date', 'x-amz-security-token', 'x-amz-content-sha256', 'authorization'];

/**
 * The headers that sign a request with AWS Signature Version 4: name, value, name, value. The path
 * is encoded once more for the signature, as every service but S3 has it.
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
      query: mark < 0 ? {} : queryOf(path.slice(mark + 1)),
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

/** Names and values as they are meant: the signature encodes them anew. */
function queryOf(text: string): Record<string, string | string[]> {
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
