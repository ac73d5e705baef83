import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { openListener } from './listener.js';

const BOUNDS = { connections: 10, requests: 10, worked: 10, files: 10, streams: 10 };
const BROKEN = 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

test('malformed input gets a 400, except while a response is being sent', async () => {
  const listener = await openListener({
    host: '127.0.0.1',
    port: 0,
    perClient: BOUNDS,
    proxies: 0,
    serve: (_request, response) => void response.write('a row\n'),
    refuse: (_why, _request, response) => void response.destroy(),
    brokenAnswer: () => BROKEN,
  });
  /** Sends `first`, sends `then` after the first response bytes, and returns all bytes received. */
  const answerTo = async (first: string, then = ''): Promise<string> => {
    const socket = connect(listener.port, '127.0.0.1').on('error', () => undefined);
    let text = '';
    socket.write(first);
    socket.on('data', (data) => {
      if (text === '' && then !== '') socket.write(then);
      text += String(data);
    });
    await once(socket, 'close');
    return text;
  };
  try {
    expect(await answerTo('rubbish\r\n\r\n')).toBe(BROKEN);
    const file = await answerTo('GET / HTTP/1.1\r\nhost: x\r\n\r\n', 'rubbish\r\n\r\n');
    expect(file).toContain('a row');
    expect(file).not.toContain('400');
  } finally {
    await listener.close(0);
  }
});

test.each([
  ['HTTP/1.1 without a Host', 'GET / HTTP/1.1\r\n\r\n', 'host'],
  ['HTTP/1.1 with two Hosts', 'GET / HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n', 'host'],
  ['HTTP/1.0 with two Hosts', 'GET / HTTP/1.0\r\nhost: a\r\nHost: b\r\n\r\n', 'host'],
  ['HTTP/1.0 without a Host', 'GET / HTTP/1.0\r\n\r\n', 'served'],
  ['HTTP/1.1 with one Host', 'GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 'served'],
])('%s is refused or served', async (_name, bytes, expected) => {
  const listener = await openListener({
    host: '127.0.0.1',
    port: 0,
    perClient: BOUNDS,
    proxies: 0,
    serve: (_request, response) => void response.end('served'),
    refuse: (why, _request, response) => void response.end(why),
    brokenAnswer: () => BROKEN,
  });
  try {
    const socket = connect(listener.port, '127.0.0.1');
    let text = '';
    socket.on('data', (data) => (text += String(data)));
    socket.write(bytes);
    await once(socket, 'close');
    expect(text.endsWith(expected)).toBe(true);
  } finally {
    await listener.close(0);
  }
});
