import { afterEach, expect, test } from '@jest/globals';
import { until } from '@gateway/testkit';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { startTunnelProxy } from '../../test/tunnel-proxy.js';
import { onRequest, startRawProvider, type RawProvider } from '../../test/raw-provider.js';
import type { SourceFailure, SourceReader, SourceRequest } from '../ports.js';
import { SourceConnections } from './source-connections.js';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n';

async function provider(serve: Parameters<typeof startRawProvider>[0]): Promise<RawProvider & { port: string }> {
  const started = await startRawProvider(serve);
  stops.push(() => started.stop());
  return { ...started, port: new URL(started.url).port };
}

function connectionsWith(options: ConstructorParameters<typeof SourceConnections>[0]): SourceConnections {
  const connections = new SourceConnections(options);
  stops.push(() => connections.close());
  return connections;
}

/** Resolves a name to the next scripted addresses, in both result forms that Node requests. */
function scripted(...answers: readonly string[][]): LookupFunction & { asked: string[] } {
  const asked: string[] = [];
  const lookup: LookupFunction = (hostname, options, callback) => {
    const addresses = answers[Math.min(asked.length, answers.length - 1)] as string[];
    asked.push(hostname);
    const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    if (options.all === true) return callback(null, found);
    callback(null, found[0]?.address ?? '', found[0]?.family);
  };
  return Object.assign(lookup, { asked });
}

interface Heard {
  readonly told: string[];
  failure: SourceFailure | null;
}

const deaf: SourceReader = {
  sent: () => undefined,
  bodyTaken: () => undefined,
  head: () => undefined,
  data: () => undefined,
  end: () => undefined,
  failed: () => undefined,
};

/** Returns a small request to an origin. */
const requestTo = (origin: string): SourceRequest => ({
  origin,
  path: '/',
  headers: [],
  body: [Buffer.from('{}')],
  streamed: false,
  freshConnection: false,
});

/** Sends one request. Resolves when the exchange has ended or failed. */
function exchange(
  connections: SourceConnections,
  origin: string,
  body: readonly Buffer[] = [Buffer.from('{}')],
  streamed = false,
  heard: Heard = { told: [], failure: null },
): Promise<Heard> {
  return new Promise((resolve) => {
    const reader: SourceReader = {
      ...deaf,
      sent: () => void heard.told.push('sent'),
      bodyTaken: (reused) => void heard.told.push(`taken ${reused}`),
      head: (status) => void heard.told.push(`${status}`),
      end: (openEnded) => {
        if (openEnded) heard.told.push('open end');
        resolve(heard);
      },
      failed: (failure) => {
        heard.failure = failure;
        resolve(heard);
      },
    };
    connections.send({ ...requestTo(origin), body, streamed }, reader);
  });
}

test.each([
  'http://127.0.0.1',
  'http://2130706433',
  'http://0x7f.1',
  'http://[::1]',
  'http://[::ffff:127.0.0.1]',
  'http://[::]',
  'http://0.0.0.0',
  'http://localhost',
  'http://10.1.2.3',
  'http://169.254.169.254',
  'http://[fd00:ec2::254]',
  'http://metadata.google.internal',
])('send() fails for the private address %s without a connection or a name lookup', async (base) => {
  const server = await provider((socket) => onRequest(socket, () => socket.write(OK)));
  const lookup = scripted(['127.0.0.1']);
  const heard = await exchange(
    connectionsWith({ privateAllowed: false, lookup }),
    new URL(`${base}:${server.port}`).origin,
  );
  expect(heard).toEqual({
    told: [],
    failure: { kind: 'private', reused: false, reason: `private address ${new URL(base).hostname}` },
  });
  expect([lookup.asked, server.connections()]).toEqual([[], 0]);
});

test.each([
  ['its only address', ['127.0.0.1'], '127.0.0.1'],
  ['its first address', ['10.0.0.1', '93.184.215.14'], '10.0.0.1'],
  ['one of its addresses', ['2606:2800:21f:cb07:6820:80da:af6b:8b2c', '93.184.215.14', '::1'], '::1'],
  ['an address inside another form', ['64:ff9b::a9fe:a9fe'], '64:ff9b::a9fe:a9fe'],
])('send() fails for a name that has a private address as %s', async (_name, addresses, refused) => {
  const server = await provider((socket) => onRequest(socket, () => socket.write(OK)));
  const connections = connectionsWith({ privateAllowed: false, lookup: scripted(addresses) });
  const heard = await exchange(connections, `http://provider.example:${server.port}`);
  expect(heard.failure).toEqual({ kind: 'private', reused: false, reason: `private address ${refused}` });
  expect([heard.told, server.connections()]).toEqual([[], 0]);
});

test('send() checks the resolved address for TLS origins too', async () => {
  const server = await provider((socket) => socket.resume());
  const connections = connectionsWith({ privateAllowed: false, lookup: scripted(['127.0.0.1']) });
  const heard = await exchange(connections, `https://provider.example:${server.port}`);
  expect([heard.failure?.kind, server.connections()]).toEqual(['private', 0]);
});

test('each new connection resolves the name again and checks the result', async () => {
  const rebound = scripted(['127.0.0.1']);
  let isKnown = false;
  const lookup: LookupFunction = (hostname, options, callback) => {
    if (isKnown) return rebound(hostname, options, callback);
    isKnown = true;
    callback(Object.assign(new Error('try again'), { code: 'EAI_AGAIN' }), []);
  };
  const connections = connectionsWith({ privateAllowed: false, lookup });
  const server = await provider((socket) => onRequest(socket, () => socket.write(OK)));
  const origin = `http://provider.example:${server.port}`;
  expect((await exchange(connections, origin)).failure).toMatchObject({ kind: 'unreachable', reason: 'EAI_AGAIN' });
  expect((await exchange(connections, origin)).failure?.kind).toBe('private');
  expect([rebound.asked.length, server.connections()]).toEqual([1, 0]);
});

test.each(['127.0.0.1', 'provider.example', 'localhost'])(
  'send() connects to %s when private addresses are allowed',
  async (host) => {
    const server = await provider((socket) => onRequest(socket, () => socket.write(OK)));
    const connections = connectionsWith({ privateAllowed: true, lookup: scripted(['127.0.0.1']) });
    const heard = await exchange(connections, `http://${host}:${server.port}`);
    expect(heard).toEqual({ told: ['sent', '200'], failure: null });
  },
);

test('a large or streamed body arrives unchanged and reports when it is handed over', async () => {
  const got: Buffer[] = [];
  const lengths: (string | undefined)[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    lengths.push(request.headers['content-length']);
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      got.push(Buffer.concat(chunks));
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await until('the provider listens', () => server.listening);
  stops.push(() => new Promise((resolve) => server.close(resolve)));
  const connections = connectionsWith({ privateAllowed: true });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pieces = [
    Buffer.alloc(3, 'a'),
    Buffer.alloc(0),
    Buffer.from('é'),
    Buffer.alloc(5_000_000, 'b'),
    Buffer.from('c'),
  ];
  const whole = Buffer.concat(pieces);
  expect((await exchange(connections, origin, pieces)).told).toEqual(['sent', 'taken false', '200']);
  expect((await exchange(connections, origin, pieces)).told).toEqual(['sent', 'taken true', '200']);
  const small = [Buffer.from('x'), Buffer.from('y')];
  expect((await exchange(connections, origin, small)).told).toEqual(['sent', '200']);
  expect((await exchange(connections, origin, small, true)).told).toEqual(['sent', 'taken true', '200']);
  expect(lengths).toEqual([String(whole.length), String(whole.length), '2', '2']);
  expect(got.map((body, at) => body.equals(at < 2 ? whole : Buffer.from('xy')))).toEqual([true, true, true, true]);
});

test('a response before a large body is read arrives, and the connection is not reused', async () => {
  const server = await provider((socket) => {
    socket.once('data', () => {
      socket.pause();
      socket.write('HTTP/1.1 413 No\r\ncontent-length: 0\r\n\r\n');
    });
    socket.resume();
  });
  const connections = connectionsWith({ privateAllowed: true });
  const body = [Buffer.alloc(20_000_000, 'x')];
  expect((await exchange(connections, server.url, body)).told).toEqual(['sent', '413']);
  expect((await exchange(connections, server.url, body)).told).toEqual(['sent', '413']);
  expect(server.connections()).toBe(2);
});

test.each<[string, string, boolean, string[], SourceFailure['kind'] | null]>([
  ['nothing', '', true, ['sent'], 'unanswered'],
  ['an informational response', 'HTTP/1.1 100 Continue\r\n\r\n', true, ['sent'], 'unanswered'],
  ['early hints', 'HTTP/1.1 103 Early Hints\r\n\r\n', false, ['sent'], 'unanswered'],
  ['part of a head', 'HTTP/1.1 200 OK\r\ncont', true, ['sent'], 'unanswered'],
  ['bytes that are not HTTP', 'SSH-2.0-x\r\n', false, ['sent'], 'unanswered'],
  ['part of a body', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc', true, ['sent', '200'], 'broken'],
  [
    'part of a chunk',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nabc',
    false,
    ['sent', '200'],
    'broken',
  ],
  ['a body without a length, and a reset', 'HTTP/1.1 200 OK\r\n\r\nabc', true, ['sent', '200'], 'broken'],
  ['a body without a length, and its end', 'HTTP/1.1 200 OK\r\n\r\nabc', false, ['sent', '200', 'open end'], null],
])('send() reports the failure of a connection that ends after %s', async (_name, bytes, isReset, told, kind) => {
  const heard: Heard = { told: [], failure: null };
  const server = await provider((socket) =>
    onRequest(socket, () => {
      const end = (): unknown => (isReset ? socket.resetAndDestroy() : socket.end());
      // A reset discards bytes that are not read yet, so wait until the client has read them.
      socket.write(bytes, () => {
        if (told.includes('200')) void until('its head is reported', () => heard.told.includes('200')).then(end);
        else setTimeout(end, 50);
      });
    }),
  );
  await exchange(connectionsWith({ privateAllowed: true }), server.url, undefined, undefined, heard);
  expect([heard.told, heard.failure?.kind ?? null]).toEqual([told, kind]);
});

test('a reset during a large upload is reported as unanswered', async () => {
  const server = await provider((socket) => {
    socket.once('data', () => socket.resetAndDestroy());
    socket.resume();
  });
  const heard = await exchange(connectionsWith({ privateAllowed: true }), server.url, [Buffer.alloc(20_000_000, 'x')]);
  expect(heard.told).toEqual(['sent']);
  expect(heard.failure?.kind).toBe('unanswered');
});

test('abort() during an upload closes the connection and ends all callbacks', async () => {
  let isClosed = false;
  const server = await provider((socket) => {
    socket.once('data', () => socket.pause());
    socket.on('close', () => (isClosed = true));
    socket.resume();
  });
  const told: string[] = [];
  const tell = (what: string) => () => void told.push(what);
  const reader = { sent: tell('sent'), bodyTaken: tell('taken'), head: tell('head'), data: tell('data') };
  const body = [Buffer.alloc(20_000_000, 'x'), Buffer.from('y')];
  const request = { ...requestTo(server.url), body };
  const started = connectionsWith({ privateAllowed: true }).send(request, {
    ...reader,
    end: tell('end'),
    failed: tell('failed'),
  });
  await until('the request is being sent', () => server.connections() === 1 && told.length === 1);
  started.abort();
  await server.stop();
  await until('the connection is closed', () => isClosed);
  expect(told).toEqual(['sent']);
});

test('a connection through a proxy is a tunnel, and the proxy resolves the name', async () => {
  const server = await provider((socket) =>
    socket.on('data', (chunk) => chunk.includes('POST ') && socket.write(OK)).resume(),
  );
  const proxy = await startTunnelProxy(Number(server.port));
  stops.push(() => proxy.stop());
  const lookup = scripted(['127.0.0.1']);
  const url = new URL(proxy.url.replace('//', '//some%20one:pass@'));
  const connections = connectionsWith({
    privateAllowed: false,
    lookup,
    proxy: { url, exceptions: ['.inside.example'] },
  });
  for (const connection of ['first', 'used again']) {
    const heard = await exchange(connections, 'http://provider.example');
    expect([connection, heard.told.includes('200'), heard.failure]).toEqual([connection, true, null]);
  }
  const authorization = `Basic ${Buffer.from('some one:pass').toString('base64')}`;
  expect(proxy.asked).toEqual([{ target: 'provider.example:80', authorization }]);
  expect(lookup.asked).toEqual([]);
  expect((await exchange(connections, `http://api.inside.example:${server.port}`)).failure?.kind).toBe('private');
  expect(lookup.asked).toEqual(['api.inside.example']);
  expect((await exchange(connections, 'http://169.254.169.254')).failure?.kind).toBe('private');
});

test('a source that the proxy cannot reach is unreachable', async () => {
  const proxy = await startTunnelProxy(1, 403);
  stops.push(() => proxy.stop());
  const connections = connectionsWith({ privateAllowed: false, proxy: { url: new URL(proxy.url), exceptions: [] } });
  expect(await exchange(connections, 'https://provider.example')).toMatchObject({
    told: [],
    failure: { kind: 'unreachable', reused: false },
  });
  await proxy.stop();
  stops.pop();
  expect((await exchange(connections, 'https://provider.example')).failure?.kind).toBe('unreachable');
});

test('a proxy that closes the connection is tried once, and the source is unreachable', async () => {
  const proxy = await provider((socket) => socket.once('data', () => socket.end()).resume());
  const connections = connectionsWith({ privateAllowed: false, proxy: { url: new URL(proxy.url), exceptions: [] } });
  expect((await exchange(connections, 'https://provider.example')).failure?.kind).toBe('unreachable');
  expect(proxy.connections()).toBe(1);
});

const CHUNKED = 'transfer-encoding: chunked\r\n';
const CLOSE = 'connection: close\r\n';
const LENGTH = 100_000;

/** Sends a request and pauses after each chunk, like a client that reads slowly. */
async function heldBack(origin: string): Promise<{ readonly ending: string; readonly bytes: number }> {
  const connections = connectionsWith({ privateAllowed: true });
  let [bytes, ending] = [0, ''];
  const sent = connections.send(requestTo(origin), {
    ...deaf,
    data: (chunk) => {
      bytes += chunk.length;
      sent.pause();
      // By then the socket has received the following bytes and the end of the connection.
      setTimeout(() => sent.resume(), 20);
    },
    end: () => (ending = 'complete'),
    failed: ({ kind }) => (ending = kind),
  });
  await until('the response has ended', () => ending !== '');
  return { ending, bytes };
}

test.each([
  ['a length', `content-length: ${LENGTH}\r\n`],
  ['a length, and says that it closes', `content-length: ${LENGTH}\r\n${CLOSE}`],
  ['chunks', CHUNKED],
  ['chunks, and says that it closes', `${CHUNKED}${CLOSE}`],
  ['no length', CLOSE],
])('a paused response with %s is complete when its provider closes the connection', async (_name, headers) => {
  const answer = 'x'.repeat(LENGTH);
  const isChunked = headers.includes('chunked');
  const body = isChunked ? `${LENGTH.toString(16)}\r\n${answer}\r\n0\r\n\r\n` : answer;
  const server = await provider((socket) =>
    onRequest(socket, () => socket.end(`HTTP/1.1 200 OK\r\n${headers}\r\n${body}`)),
  );
  expect(await heldBack(server.url)).toEqual({ ending: 'complete', bytes: LENGTH });
});

test.each([
  ['a length', `content-length: ${LENGTH}\r\n`],
  ['a length, and says that it closes', `content-length: ${LENGTH}\r\n${CLOSE}`],
  ['no length', CLOSE],
])('a paused response with %s is broken when its provider resets the connection', async (_name, headers) => {
  const server = await provider((socket) =>
    onRequest(socket, () => {
      socket.write(`HTTP/1.1 200 OK\r\n${headers}\r\n${'x'.repeat(LENGTH / 2)}`);
      setTimeout(() => socket.resetAndDestroy(), 10);
    }),
  );
  expect((await heldBack(server.url)).ending).toBe('broken');
});

test('the end of a kept connection does not disable pause() for the next response', async () => {
  const server = await provider((socket, connection) =>
    onRequest(socket, () => {
      if (connection === 1) return void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello');
      const piece = Buffer.alloc(LENGTH);
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${1_000 * LENGTH}\r\n\r\n`);
      const more = (): void => {
        while (!socket.destroyed && socket.write(piece));
      };
      socket.on('drain', more);
      more();
    }),
  );
  const connections = connectionsWith({ privateAllowed: true });
  const request = requestTo(server.url);
  let bytes = 0;
  const second = (): void => {
    const sent = connections.send(request, {
      ...deaf,
      data: (chunk) => {
        bytes += chunk.length;
        sent.pause();
      },
    });
  };
  connections.send(request, { ...deaf, end: () => setImmediate(second) });
  await until('the second response has begun', () => bytes > 0);
  for (let turn = 0; turn < 1_000; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect([server.connections(), bytes < 10 * LENGTH]).toEqual([2, true]);
});

test('a delayed event loop does not make the addresses of a host count as unreachable', async () => {
  const server = await provider((socket) => onRequest(socket, () => socket.write(OK)));
  const lookup: LookupFunction = (_hostname, _options, callback) => {
    setImmediate(() => {
      callback(null, [
        { address: '127.0.0.1', family: 4 },
        { address: '::1', family: 6 },
      ]);
      process.nextTick(() => {
        const heldUpTo = performance.now() + 400;
        while (performance.now() < heldUpTo);
      });
    });
  };
  const heard = await exchange(
    connectionsWith({ privateAllowed: true, lookup }),
    `http://provider.example:${server.port}`,
  );
  expect([heard.told.includes('200'), heard.failure]).toEqual([true, null]);
});
