import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

const RECEIVED_MAX_CHARACTERS = 1024 * 1024;

export interface Address {
  host: string;
  port: number;
  tls: boolean;
}

/**
 * Exchanges text over one TCP connection. `read` receives everything received so far (first ''
 * after the connect) and returns the result, or undefined to read more. Its exception ends the
 * exchange. Limits: `timeoutMs` and 1 MiB of responses.
 */
export function converse<Result>(
  address: Address,
  timeoutMs: number,
  read: (received: string, send: (text: string) => void) => Result | undefined,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    let received = '';
    const socket = open(address);
    const finish = (act: () => void): void => {
      clearTimeout(timer);
      socket.destroy();
      act();
    };
    const listen = (): void => {
      try {
        const result = read(received, (text) => void socket.write(text));
        if (result !== undefined) finish(() => resolve(result));
        else if (received.length > RECEIVED_MAX_CHARACTERS) throw new Error('the response is too long');
      } catch (error) {
        finish(() => reject(error));
      }
    };
    const timer = setTimeout(() => finish(() => reject(new Error(`no response within ${timeoutMs} ms`))), timeoutMs);
    socket.setEncoding('utf8');
    socket.once(address.tls ? 'secureConnect' : 'connect', listen);
    socket.on('data', (text) => {
      received += String(text);
      listen();
    });
    socket.once('error', (error) => finish(() => reject(error)));
    socket.once('close', () => finish(() => reject(new Error('the server closed the connection'))));
  });
}

function open({ host, port, tls }: Address): Socket {
  return tls ? connectTls({ host, port, servername: host }) : connect({ host, port });
}
