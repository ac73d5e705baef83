import type { Host } from '../time/host.js';
import type { VirtualTime } from '../time/virtual-time.js';
import { BusError, onWire, type Network } from './network.js';

export interface RequestParts {
  readonly time: VirtualTime;
  readonly network: Network;
}

/**
 * Sends a request with one response. `serve` runs in the host that receives it. Its response or
 * error is sent back.
 * @param to null: the request has no receiver
 */
export function request<A>(
  { time, network }: RequestParts,
  from: Host,
  to: Host | null,
  timeoutMs: number,
  serve: () => Promise<A>,
): Promise<A> {
  return new Promise((resolve, reject) => {
    const late = time.in(from, timeoutMs, () => reject(new BusError('timeout')));
    const settle = (done: () => void): void => {
      late.isCancelled = true;
      done();
    };
    if (network.isCut(from)) return settle(() => reject(new BusError('disconnected')));
    if (to === null) return settle(() => reject(new BusError('no_responders')));
    network.post(from, to, () => {
      serve().then(
        (answer) => {
          const arrived = onWire({ answer });
          network.post(to, from, () => settle(() => resolve(arrived.answer)));
        },
        () => network.post(to, from, () => settle(() => reject(new BusError('fault')))),
      );
    });
  });
}
