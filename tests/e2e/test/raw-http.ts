import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Names are in lower case. If a name occurs twice, the last value wins. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The complete unchanged response. */
  readonly text: string;
}

/** Longest time without a byte before the exchange fails. */
const SILENCE_MS_MAX = 10_000;

/**
 * Sends bytes on a separate connection and reads one response, up to its content length or until
 * the connection closes. Used for requests that HTTP clients cannot send. A request whose response
 * has no length must send `connection: close`.
 */
export async function requestRaw(url: string, bytes: string | Buffer): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise<RawAnswer>((resolve, reject) => {
    let read = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.setTimeout(SILENCE_MS_MAX, () => socket.destroy(new Error(`no end after: ${read.slice(0, 1_000)}`)));
    socket.setEncoding('latin1');
    socket.on('data', (chunk) => {
      read += String(chunk);
      if (!hasAnnouncedLength(read)) return;
      socket.destroy();
      resolve(parseAnswer(read));
    });
    // If a request is refused while it is still being sent, writing may fail after the response has
    // arrived.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' || read === '') reject(error);
    });
    socket.on('close', () => resolve(parseAnswer(read)));
  });
}

/** Returns a request's head and body as text, with the length of its body. */
export function rawRequest(line: string, headers: Readonly<Record<string, string>>, body = ''): string {
  const length: Record<string, string> = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const all = Object.entries({ host: 'gateway.example', connection: 'close', ...length, ...headers });
  return `${line} HTTP/1.1\r\n${all.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

function hasAnnouncedLength(read: string): boolean {
  const end = read.indexOf('\r\n\r\n');
  if (end < 0 || read.startsWith('HTTP/1.1 100')) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(read.slice(0, end))?.[1];
  return length !== undefined && read.length >= end + 4 + Number(length);
}

function parseAnswer(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return { status: Number(first.split(' ')[1]), headers: Object.fromEntries(headers), body: text.slice(end + 4), text };
}
