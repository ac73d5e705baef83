import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { Flow, type Passage } from './flow.js';

/** A way between two processes of this machine that can be disturbed. */
export interface TcpProxy {
  readonly port: number;
  /** Connections that are open through it. */
  readonly connections: number;
  /** Breaks every connection in both directions, as a machine between would that forgot them. */
  reset(): void;
  /**
   * Nothing passes until {@link TcpProxy.restore}; connections stay open and new ones are taken.
   */
  stall(): void;
  /** Every byte arrives so much later, in its order, until {@link TcpProxy.restore}. */
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
 * Listens on a free port of the loopback address and passes every connection on to another port
 * there.
 */
export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const passage: Passage = { delayMs: 0, isStalled: false };
  const pairs = new Set<Pair>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (outer) => {
    const inner = connect({ host: '127.0.0.1', port: targetPort, allowHalfOpen: true, noDelay: true });
    const pair: Pair = { outer, inner, flows: [new Flow(outer, inner, passage), new Flow(inner, outer, passage)] };
    pairs.add(pair);
    // What breaks on one side breaks on the other: a polite end would make a cut answer look whole.
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
 * A reset where that is possible: one that has been told to end, or is not open yet, would never be
 * closed.
 */
function breakOff(socket: Socket): void {
  if (socket.connecting || socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
