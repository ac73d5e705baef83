import { NodeTransport } from 'nats/lib/src/node_transport.js';

/**
 * Mends two faults of the library's connection to a server that hangs (nats 2.29.3, its last
 * release; also https://github.com/nats-io/nats.js/issues/64):
 *
 * - A dial that timed out was left open. When the server went on, each was greeted, was closed as
 *   one that does not sign in, and took the healthy connection's place with that: again and again.
 * - Two unanswered pings waited for the send buffer before they ended the connection. While the
 *   server takes nothing that is never: nobody looked for another server, and what was sent was
 *   kept without bound.
 */
export function mendTransport(): void {
  Object.assign(NodeTransport.prototype, {
    discard(this: Pick<NodeTransport, 'done' | 'socket'>): void {
      // Of a transport that is done nothing is told any more.
      this.done = true;
      socketOf(this)
        ?.removeAllListeners()
        .on('error', () => undefined)
        .destroy();
    },
    disconnect(this: Pick<NodeTransport, 'socket'>): void {
      socketOf(this)?.destroy();
    },
  });
}

/** There is none before the first, and none after the end. */
function socketOf({ socket }: Pick<NodeTransport, 'socket'>): NodeTransport['socket'] | undefined {
  return socket;
}
