import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';

/** PEM texts of a test CA and of a server certificate that it has signed. */
export interface Certificates {
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

/**
 * Creates a CA and a certificate for 127.0.0.1 and localhost, both valid from an hour before
 * `nowMs` for a day.
 */
export function makeCertificates(nowMs: number): Certificates {
  const root = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const server = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const validity = { from: new Date(nowMs - 3_600_000), to: new Date(nowMs + 86_400_000) };
  const issued = (serial: number, subject: string, of: KeyObject, extensions: Buffer[]) =>
    certificate({ serial, issuer: 'gateway test authority', subject, of, extensions, validity, by: root.privateKey });
  return {
    authority: issued(1, 'gateway test authority', root.publicKey, [basicConstraints()]),
    certificate: issued(2, 'gateway test server', server.publicKey, [subjectAlternativeNames()]),
    key: server.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

interface Contents {
  readonly serial: number;
  readonly issuer: string;
  readonly subject: string;
  readonly of: KeyObject;
  readonly extensions: readonly Buffer[];
  readonly validity: { readonly from: Date; readonly to: Date };
  readonly by: KeyObject;
}

const ECDSA_WITH_SHA256 = [1, 2, 840, 10045, 4, 3, 2];
const COMMON_NAME = [2, 5, 4, 3];
const SUBJECT_ALTERNATIVE_NAME = [2, 5, 29, 17];
const BASIC_CONSTRAINTS = [2, 5, 29, 19];

/** Encodes an X.509 version 3 certificate (RFC 5280, section 4.1). */
function certificate({ serial, issuer, subject, of, extensions, validity, by }: Contents): string {
  const algorithm = sequence(objectId(ECDSA_WITH_SHA256));
  const toSign = sequence(
    tagged(0xa0, integer(2)),
    integer(serial),
    algorithm,
    name(issuer),
    sequence(time(validity.from), time(validity.to)),
    name(subject),
    of.export({ type: 'spki', format: 'der' }) as Buffer,
    tagged(0xa3, sequence(...extensions)),
  );
  const signed = sequence(toSign, algorithm, bitString(sign('sha256', toSign, by)));
  const lines = signed.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function basicConstraints(): Buffer {
  const isAuthority = element(0x01, Buffer.from([0xff]));
  return sequence(objectId(BASIC_CONSTRAINTS), isAuthority, element(0x04, sequence(isAuthority)));
}

function subjectAlternativeNames(): Buffer {
  const names = sequence(element(0x82, Buffer.from('localhost')), element(0x87, Buffer.from([127, 0, 0, 1])));
  return sequence(objectId(SUBJECT_ALTERNATIVE_NAME), element(0x04, names));
}

function name(text: string): Buffer {
  return sequence(element(0x31, sequence(objectId(COMMON_NAME), element(0x0c, Buffer.from(text)))));
}

function time(date: Date): Buffer {
  const text = date
    .toISOString()
    .replace(/[-:T]/g, '')
    .replace(/\.\d+Z$/, 'Z');
  return element(0x17, Buffer.from(text.slice(2)));
}

function objectId([first = 0, second = 0, ...rest]: readonly number[]): Buffer {
  const bytes = [first * 40 + second, ...rest.flatMap(base128)];
  return element(0x06, Buffer.from(bytes));
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let left = value >> 7; left > 0; left >>= 7) bytes.unshift((left & 0x7f) | 0x80);
  return bytes;
}

const integer = (value: number) => element(0x02, Buffer.from([value]));
const bitString = (bytes: Buffer) => element(0x03, Buffer.concat([Buffer.from([0]), bytes]));
const sequence = (...items: Buffer[]) => element(0x30, Buffer.concat(items));
const tagged = (tag: number, item: Buffer) => element(tag, item);

/** Encodes tag, length and content (DER). */
function element(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const head =
    length < 0x80 ? [tag, length] : length < 0x100 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), content]);
}
