import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { openListener } from './listener.js';

const BOUNDS = { connections: 10, requests: 10, worked: 10, files: 10, streams: 10 };
const BROKEN = 'HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n';

test('what is no request is answered as that, but not inside an answer that is being sent', async () => {
  const listener = await openListener({
    host: '127.0.0.1',
    port: 0,
    perClient: BOUNDS,
    proxies: 0,
    serve: (_request, response) => void response.write('a row\n'),
    refuseBusy: (_request, response) => void response.destroy(),
    brokenAnswer: () => BROKEN,
  });
  /** All that comes; `then` is sent when the first of it is there. */
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
