/** What can still be read of a head that node's parser refused. */
export interface BrokenHead {
  /** The client's own; undefined when there is none that can be sent back as it is. */
  readonly requestId: string | undefined;
  /** Of the request line, without its query; empty when there is none. */
  readonly path: string;
  /**
   * The parser refused the method or the path: no endpoint has such ones (docs/behaviour.md#paths).
   */
  readonly isNoEndpoint: boolean;
}

/** How much of a head is looked at. */
const LOOKED_BYTES_MAX = 16 * 1024;
const BLANK_LINE = '\r\n\r\n';
const LINE_END = '\r\n';
const ID_HEADER = 'x-request-id:';
/** What node takes as the value of a header: nothing in it ends a line or a head. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]+$/;
/** Garbage and TLS do not begin like this. */
const METHOD_AND_PATH = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+ +([^ ?\r\n]+)/;
/** Methods of RTSP: node knows their names, and refuses them where it reads the version. */
const RTSP_METHOD = 'Invalid method for HTTP/x.x request';

/**
 * Reads the head in the packet at which the parser stopped; of one that began in an earlier packet
 * only what this one holds.
 * @param error node's: with `rawPacket` and `bytesParsed`, unless nothing was parsed
 */
export function readBrokenHead(error: Error): BrokenHead {
  const { code, reason, rawPacket, bytesParsed } = error as ParserError;
  if (!Buffer.isBuffer(rawPacket)) return { requestId: undefined, path: '', isNoEndpoint: false };
  const text = headText(rawPacket, bytesParsed ?? 0);
  const path = METHOD_AND_PATH.exec(text)?.[1];
  const isMethod = code === 'HPE_INVALID_METHOD' || reason === RTSP_METHOD;
  return {
    requestId: idIn(text),
    path: path ?? '',
    isNoEndpoint: code === 'HPE_INVALID_URL' || (isMethod && path !== undefined),
  };
}

interface ParserError extends Error {
  readonly code?: string;
  readonly reason?: string;
  readonly rawPacket?: unknown;
  /** Where in the packet the parser stopped. */
  readonly bytesParsed?: number;
}

/**
 * From the end of what was served before it in its packet up to its own end, or as far as is
 * looked.
 */
function headText(packet: Buffer, bytesParsed: number): string {
  const served = bytesParsed < BLANK_LINE.length ? -1 : packet.lastIndexOf(BLANK_LINE, bytesParsed - BLANK_LINE.length);
  const start = served < 0 ? 0 : served + BLANK_LINE.length;
  const text = packet.toString('latin1', start, start + LOOKED_BYTES_MAX);
  const end = text.indexOf(BLANK_LINE);
  return end < 0 ? text : text.slice(0, end + LINE_END.length);
}

/** The first one whose line is complete. */
function idIn(head: string): string | undefined {
  for (let start = 0, end = head.indexOf(LINE_END); end >= 0; start = end + 2, end = head.indexOf(LINE_END, start)) {
    if (head.slice(start, start + ID_HEADER.length).toLowerCase() !== ID_HEADER) continue;
    const value = withoutSpaceAround(head, start + ID_HEADER.length, end);
    return HEADER_VALUE.test(value) ? value : undefined;
  }
  return undefined;
}

/** Spaces and tabs, as HTTP says: `trim` takes more. */
function withoutSpaceAround(text: string, from: number, to: number): string {
  const isSpace = (at: number): boolean => text[at] === ' ' || text[at] === '\t';
  let [start, end] = [from, to];
  while (start < end && isSpace(start)) start += 1;
  while (start < end && isSpace(end - 1)) end -= 1;
  return text.slice(start, end);
}

/** Why a head that node's parser accepted is none that the edge serves. */
export interface HeadProblem {
  readonly status: 400 | 431;
  readonly text: string;
}

const NAME_LENGTHS = { host: 4, transferEncoding: 17 } as const;

/**
 * What node's strict parser lets pass, and what a proxy in front may read in another way: each
 * could make two requests of one. Transfer codings other than `chunked` are also refused because
 * their bodies would have to be decoded.
 * @param rawHeaders name, value, name, value; more than `headersMax` of them may have been left out
 */
export function headProblem(
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
