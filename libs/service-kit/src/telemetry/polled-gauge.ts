import { runEvery } from '../background.js';
import { gauge, type GaugeOptions, type GaugeReading } from './metrics.js';

export interface PolledGaugeOptions extends GaugeOptions {
  /** Milliseconds between two polls. */
  readonly everyMs: number;
}

/**
 * Registers a gauge that is polled from an async source. It shows the last reading, and no value
 * after a failed poll.
 */
export function polledGauge(
  name: string,
  help: string,
  poll: () => Promise<GaugeReading>,
  { everyMs, ...options }: PolledGaugeOptions,
): { stop(): Promise<void> } {
  let reading: GaugeReading = [];
  gauge(name, help, () => reading, options);
  const read = async (): Promise<void> => {
    try {
      reading = await poll();
    } catch {
      reading = [];
    }
  };
  return runEvery(everyMs, read, { atOnce: true });
}
