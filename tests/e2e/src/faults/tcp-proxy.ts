import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { Flow, type Passage } from './flow.js';

/** A proxy between two processes of this machine, to disturb their connections. */
export interface TcpProxy {
  readonly port: number;
  /** Number of open connections. */
  readonly connections: number;
  /** Breaks every connection in both directions, like a router that lost its state. */
  reset(): void;
  /**
   * Stops all traffic until {@link TcpProxy.restore}. Connections stay open and new ones are
   * accepted.
   */
  stall(): void;
  /** Delays every byte by this time until {@link TcpProxy.restore}. The order stays. */
  delay(milliseconds: number): void;
  restore(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly outer: Socket;
  readonly inner: Socket;
  readonly flows: readonly Flow[];
}

/**
 * Listens on a free port of the loopback address and relays every connection to another port there.
 */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const passage: Passage = { delayMs: 0, isStalled: false };
  const pairs = new Set<Pair>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (outer) => {
    const inner = connect({ host: '127.0.0.1', port: targetPort, allowHalfOpen: true, noDelay: true });
    const pair: Pair = { outer, inner, flows: [new Flow(outer, inner, passage), new Flow(inner, outer, passage)] };
    pairs.add(pair);
    // An error on one side resets the other: an orderly end would make a cut response look
    // complete.
    outer.on('error', () => breakOff(inner));
    inner.on('error', () => breakOff(outer));
    outer.on('close', () => pairs.delete(pair));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return pairs.size;
    },
    reset() {
      for (const { outer, inner } of pairs) {
        breakOff(outer);
        breakOff(inner);
      }
    },
    stall() {
      passage.isStalled = true;
    },
    delay(milliseconds) {
      passage.delayMs = milliseconds;
    },
    restore() {
      passage.isStalled = false;
      passage.delayMs = 0;
      for (const { flows } of pairs) for (const flow of flows) flow.go();
    },
    close() {
      for (const { outer, inner } of pairs) {
        outer.destroy();
        inner.destroy();
      }
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/**
 * Resets a socket. A socket that is not connected yet, or that has ended its side, is destroyed: a
 * reset would never close it.
 */
function breakOff(socket: Socket): void {
  if (socket.connecting || socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
