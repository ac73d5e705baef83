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
