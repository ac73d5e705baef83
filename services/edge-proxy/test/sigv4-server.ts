import { createHash, createHmac } from 'node:crypto';
import type { TokenRequestRecord } from './token-endpoint.js';

/**
 * Returns whether a request is signed correctly, checked like AWS does from the received bytes
 * alone. For paths and queries that need no encoding.
 */
export function isSigned(request: TokenRequestRecord, secretOf: (accessKeyId: string) => string | undefined): boolean {
  const { method, path, headers, body } = request;
  const parts =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (parts === null) return false;
  const [, accessKeyId = '', date = '', region = '', service = '', names = '', signature] = parts;
  const secret = secretOf(accessKeyId);
  const hash = sha256(body);
  if (secret === undefined || headers['x-amz-content-sha256'] !== hash) return false;
  const required = [
    'host',
    'x-amz-date',
    ...(headers['x-amz-security-token'] === undefined ? [] : ['x-amz-security-token']),
  ];
  if (!required.every((name) => names.split(';').includes(name))) return false;
  const [plainPath = '', query = ''] = path.split('?');
  const signedHeaders = names.split(';').map((name) => `${name}:${String(headers[name])}\n`);
  const encodedPath = plainPath.split('/').map(encodeURIComponent).join('/');
  const canonical = [method, encodedPath, query, signedHeaders.join(''), names, hash].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', String(headers['x-amz-date']), scope, sha256(canonical)].join('\n');
  const key = [date, region, service, 'aws4_request'].reduce(hmac, Buffer.from(`AWS4${secret}`));
  return hmac(key, text).toString('hex') === signature;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
