/** The readable parts of a head that Node's parser rejected. */
export interface BrokenHead {
  /** The client's `x-request-id`; undefined if it is missing or cannot be sent back unchanged. */
  readonly requestId: string | undefined;
  /** The path of the request line without its query; empty if there is none. */
  readonly path: string;
  /** Whether the parser rejected the method or the path (docs/behaviour.md#paths). */
  readonly isNoEndpoint: boolean;
}

/** Most bytes of a head that are scanned. */
const LOOKED_BYTES_MAX = 16 * 1024;
const BLANK_LINE = '\r\n\r\n';
const LINE_END = '\r\n';
const ID_HEADER = 'x-request-id:';
/** The characters that Node accepts in a header value. None of them ends a line or a head. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]+$/;
/** Garbage and TLS handshakes do not match this. */
const METHOD_AND_PATH = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ +([^ ?\r\n]+)/;
/** Node's error for RTSP methods, whose names it knows and rejects. */
const RTSP_METHOD = 'Invalid method for HTTP/x.x request';

/**
 * Reads the request head in the packet where Node's parser stopped, or the part of it that is in
 * this packet.
 * @param error Node's parser error, with `rawPacket` and `bytesParsed` unless nothing was parsed
 */
export function readBrokenHead(error: Error): BrokenHead {
  const { code, reason, rawPacket, bytesParsed } = error as ParserError;
  if (!Buffer.isBuffer(rawPacket)) return { requestId: undefined, path: '', isNoEndpoint: false };
  const text = headText(rawPacket, bytesParsed ?? 0);
  const path = METHOD_AND_PATH.exec(text)?.[1];
  const isMethod = code === 'HPE_INVALID_METHOD' || reason === RTSP_METHOD;
  return {
    requestId: findRequestId(text),
    path: path ?? '',
    isNoEndpoint: code === 'HPE_INVALID_URL' || (isMethod && path !== undefined),
  };
}

interface ParserError extends Error {
  readonly code?: string;
  readonly reason?: string;
  readonly rawPacket?: unknown;
  /** Offset in the packet where the parser stopped. */
  readonly bytesParsed?: number;
}

/**
 * Returns the head: from the end of the previous request in the packet to the end of the head, or
 * to the scan limit.
 */
function headText(packet: Buffer, bytesParsed: number): string {
  const served = bytesParsed < BLANK_LINE.length ? -1 : packet.lastIndexOf(BLANK_LINE, bytesParsed - BLANK_LINE.length);
  const start = served < 0 ? 0 : served + BLANK_LINE.length;
  const text = packet.toString('latin1', start, start + LOOKED_BYTES_MAX);
  const end = text.indexOf(BLANK_LINE);
  return end < 0 ? text : text.slice(0, end + LINE_END.length);
}

/** Returns the value of the first `x-request-id` line that is complete. */
function findRequestId(head: string): string | undefined {
  for (let start = 0, end = head.indexOf(LINE_END); end >= 0; start = end + 2, end = head.indexOf(LINE_END, start)) {
    if (head.slice(start, start + ID_HEADER.length).toLowerCase() !== ID_HEADER) continue;
    const value = withoutSpaceAround(head, start + ID_HEADER.length, end);
    return HEADER_VALUE.test(value) ? value : undefined;
  }
  return undefined;
}

/** Removes spaces and tabs, HTTP's only whitespace. `trim` removes more characters. */
function withoutSpaceAround(text: string, from: number, to: number): string {
  const isSpace = (at: number): boolean => text[at] === ' ' || text[at] === '\t';
  let [start, end] = [from, to];
  while (start < end && isSpace(start)) start += 1;
  while (start < end && isSpace(end - 1)) end -= 1;
  return text.slice(start, end);
}

/** Why the edge rejects a head that Node's parser accepted. */
export interface HeadProblem {
  readonly status: 400 | 431;
  readonly text: string;
}

const NAME_LENGTHS = { host: 4, transferEncoding: 17 } as const;

/**
 * Rejects heads that Node's strict parser accepts but that a proxy in front may read differently,
 * so that one request could become two. Transfer codings other than `chunked` are also rejected
 * because the edge would have to decode their bodies.
 * @param rawHeaders name, value, name, value; Node may have dropped some above `headersMax`
 */
export function findHeadProblem(
  httpVersion: string,
  rawHeaders: readonly string[],
  headersMax: number,
): HeadProblem | null {
  if (rawHeaders.length > 2 * headersMax) return { status: 431, text: 'The request has too many headers.' };
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return { status: 400, text: 'The request is not HTTP/1.1.' };
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === NAME_LENGTHS.host && name.toLowerCase() === 'host') hosts += 1;
    if (name.length !== NAME_LENGTHS.transferEncoding || name.toLowerCase() !== 'transfer-encoding') continue;
    const isChunked = httpVersion === '1.1' && rawHeaders[at + 1]?.toLowerCase() === 'chunked';
    if (!isChunked) return { status: 400, text: 'The Transfer-Encoding must be chunked, in HTTP/1.1.' };
  }
  if (hosts > 1) return { status: 400, text: 'The request has more than one Host header.' };
  if (hosts === 0 && httpVersion === '1.1') return { status: 400, text: 'The request has no Host header.' };
  return null;
}
