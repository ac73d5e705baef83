import { type Server, createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { CHUNK_END, FRAMED_BYTES_MAX, HttpResponse, LAST_CHUNK, formatChunkSize, frameChunk } from './client-answer.js';

const GET = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
const LAST_GET = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
const HEAD_END = '\r\n\r\n';
const LARGE = 'y'.repeat(FRAMED_BYTES_MAX + 1);
const LARGE_CHUNK = `${LARGE.length.toString(16)}\r\n${LARGE}\r\n`;

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.closeAllConnections();
});

/**
 * Returns all bytes that a client receives for this request text until the connection ends, and
 * each write of the server to the connection.
 */
async function exchange(
  text: string,
  serve: (answer: HttpResponse, nth: number) => void,
): Promise<{ wire: string; pieces: string[] }> {
  const pieces: string[] = [];
  let requests = 0;
  const server = createServer((request, response) => {
    const answering = { isDraining: false, stalledMs: 60_000 };
    const options = { ids: ['x-id', '1'], style: 'chat', answering, hasBody: false, awaitsContinue: false } as const;
    serve(new HttpResponse(request, response, options), (requests += 1));
  });
  servers.push(server);
  server.on('connection', (socket) => {
    const write = socket.write.bind(socket) as (data: Buffer | string, ...rest: never[]) => boolean;
    socket.write = ((data: Buffer | string, ...rest: never[]) => {
      if (data.length > 0) pieces.push(data.toString());
      return write(data, ...rest);
    }) as typeof socket.write;
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1', () => client.write(text));
  let wire = '';
  client.on('data', (bytes) => (wire += bytes.toString()));
  client.on('error', () => undefined);
  await new Promise((resolve) => client.once('close', resolve));
  server.close();
  return { wire, pieces };
}

const bodyOf = (wire: string): string => wire.slice(wire.indexOf(HEAD_END) + HEAD_END.length);
const begin = (answer: HttpResponse): void => answer.begin(200, ['content-type', 'text/event-stream']);

test('each write() sends one chunk in one socket write, and end() ends the body', async () => {
  const { wire, pieces } = await exchange(LAST_GET, (answer) => {
    begin(answer);
    answer.write(Buffer.from('data: 1\n\n'));
    answer.write(Buffer.alloc(0));
    setImmediate(() => {
      answer.write(Buffer.from('data: two\n\n'));
      setImmediate(() => answer.end(Buffer.from('data: [DONE]\n\n')));
    });
  });
  expect(wire).toMatch(/^HTTP\/1\.1 200 OK\r\nx-id: 1\r\n/);
  expect(wire).toMatch(/\r\nTransfer-Encoding: chunked\r\n/i);
  const chunks = ['9\r\ndata: 1\n\n\r\n', 'b\r\ndata: two\n\n\r\n', 'e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n'];
  expect(bodyOf(wire)).toBe(chunks.join(''));
  expect(pieces.slice(1)).toEqual(chunks);
});

test('a large chunk is sent correctly inside a body and at its end', async () => {
  const { wire } = await exchange(LAST_GET, (answer) => {
    begin(answer);
    answer.write(Buffer.from(LARGE));
    answer.end(Buffer.from(LARGE));
  });
  expect(bodyOf(wire)).toBe(`${LARGE_CHUNK}${LARGE_CHUNK}0\r\n\r\n`);
});

test('end(null) ends the body', async () => {
  const { wire } = await exchange(LAST_GET, (answer) => {
    begin(answer);
    answer.write(Buffer.from('a'));
    answer.end(null);
  });
  expect(bodyOf(wire)).toBe('1\r\na\r\n0\r\n\r\n');
});

test('bytes are sent unframed with a content length and to HTTP/1.0 clients', async () => {
  const counted = await exchange(LAST_GET, (answer) => {
    answer.begin(200, ['content-length', '3']);
    answer.write(Buffer.from('ab'));
    answer.end(Buffer.from('c'));
  });
  expect(bodyOf(counted.wire)).toBe('abc');
  const old = await exchange('GET / HTTP/1.0\r\n\r\n', (answer) => {
    begin(answer);
    answer.write(Buffer.from('ab'));
    answer.end(Buffer.from('c'));
  });
  expect(old.wire).not.toMatch(/transfer-encoding/i);
  expect(bodyOf(old.wire)).toBe('abc');
});

test('the response to HEAD has no body', async () => {
  const { wire } = await exchange(LAST_GET.replace('GET', 'HEAD'), (answer) => {
    begin(answer);
    answer.write(Buffer.from('ab'));
    answer.end(Buffer.from('c'));
  });
  expect(bodyOf(wire)).toBe('');
});

test('responses to pipelined requests keep their order and framing', async () => {
  const waiting: (() => void)[] = [];
  const { wire } = await exchange(`${GET}${GET}${LAST_GET}`, (answer, nth) => {
    begin(answer);
    answer.write(Buffer.from(`first of ${nth}`));
    waiting.unshift(() => answer.end(Buffer.from(LARGE)));
    if (nth === 3) for (const end of waiting) end();
  });
  const body = (nth: number): string => `a\r\nfirst of ${nth}\r\n${LARGE_CHUNK}0\r\n\r\n`;
  const [, ...answers] = wire.split('HTTP/1.1 200 OK\r\n');
  expect(answers.map(bodyOf)).toEqual([1, 2, 3].map(body));
});

test.each([
  ['nothing', null, ''],
  ['no bytes', Buffer.alloc(0), ''],
  ['an event', Buffer.from('error'), '5\r\nerror\r\n'],
  ['a large event', Buffer.from(LARGE), LARGE_CHUNK],
])('a response cut with %s has no last chunk', async (_name, ending, chunk) => {
  const { wire } = await exchange(GET, (answer) => {
    begin(answer);
    answer.write(Buffer.from('ab'));
    answer.cut(ending);
  });
  expect(bodyOf(wire)).toBe(`2\r\nab\r\n${chunk}`);
});

test.each([60_000, 1_000])(
  'write() returns false after %d unread bytes and onDrain() reports free room',
  async (size) => {
    const piece = Buffer.alloc(size, 'x');
    const pieces = 3_000_000 / size;
    let drained = 0;
    const { wire } = await exchange(LAST_GET, (answer) => {
      begin(answer);
      let left = pieces;
      const more = (): void => {
        while (left > 0) {
          left -= 1;
          if (!answer.write(piece)) return;
        }
        answer.end(null);
      };
      answer.onDrain(() => {
        drained += 1;
        more();
      });
      more();
    });
    expect(drained).toBeGreaterThan(0);
    expect(bodyOf(wire).length).toBe(pieces * (piece.length + size.toString(16).length + 4) + '0\r\n\r\n'.length);
  },
);

test('an ended response that its client does not read is dropped after the time limit', async () => {
  const server = createServer((request, response) => {
    const answering = { isDraining: false, stalledMs: 20 };
    const options = { ids: [], style: 'chat', answering, hasBody: false, awaitsContinue: false } as const;
    const answer = new HttpResponse(request, response, options);
    answer.begin(200, ['content-length', '50000000']);
    answer.end(Buffer.alloc(50_000_000));
  });
  servers.push(server);
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const closed = new Promise((resolve) => server.on('connection', (socket) => socket.once('close', resolve)));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1', () => client.write(GET));
  await closed;
  client.destroy();
  server.close();
});

test.each([1, 9, 15, 16, 17, 255, 256, 4_095, 4_096, 65_535, 65_536, 1_048_577])(
  'chunkOf() frames %d bytes with their size before and CRLF after them',
  (length) => {
    // Different values, so that a misplaced byte is detected.
    const bytes = Buffer.from(Array.from({ length }, (_unused, at) => at % 251));
    const wanted = Buffer.concat([Buffer.from(`${length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
    expect(frameChunk(bytes).equals(wanted)).toBe(true);
    expect(frameChunk(bytes, LAST_CHUNK).equals(Buffer.concat([wanted, Buffer.from('0\r\n\r\n')]))).toBe(true);
    expect(Buffer.concat([formatChunkSize(bytes), bytes, CHUNK_END]).equals(wanted)).toBe(true);
  },
);
