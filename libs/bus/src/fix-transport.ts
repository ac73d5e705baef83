import { NodeTransport } from 'nats/lib/src/node_transport.js';

/**
 * Fixes two faults of the library's connection to a server that hangs (nats 2.29.3, its last
 * release; see also https://github.com/nats-io/nats.js/issues/64):
 * - A dial that timed out stayed open. When the server continued, it greeted each such dial and
 *    closed it as unauthenticated. The library took that for the end of the healthy connection,
 *   repeatedly.
 * - Two unanswered pings ended the connection only after the send buffer was written. A server
 *   that reads nothing never empties it: the client did not reconnect and buffered without bound.
 */
export function fixTransport(): void {
  Object.assign(NodeTransport.prototype, {
    discard(this: Pick<NodeTransport, 'done' | 'socket'>): void {
      // Suppresses all events of a discarded transport.
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

/** Returns undefined before the first connection and after the end. */
function socketOf({ socket }: Pick<NodeTransport, 'socket'>): NodeTransport['socket'] | undefined {
  return socket;
}
