import { gauge, type GaugeOptions, type GaugeReading } from './metrics.js';

export interface AskedGaugeOptions extends GaugeOptions {
  /** Milliseconds between two questions. */
  readonly everyMs: number;
}

/**
 * A gauge whose value somebody else knows: asked for again and again, never twice at once; the metrics show the last answer,
 * and no value where none came. A question that fails is no fault of this process: it has no value until the next.
 */
export function askedGauge(
  name: string,
  help: string,
  ask: () => Promise<GaugeReading>,
  { everyMs, ...options }: AskedGaugeOptions,
): { stop(): Promise<void> } {
  let answer: GaugeReading = [];
  let asking: Promise<void> | null = null;
  const look = (): void => {
    asking ??= ask()
      .then(
        (reading) => void (answer = reading),
        () => void (answer = []),
      )
      .finally(() => (asking = null));
  };
  gauge(name, help, () => answer, options);
  const timer = setInterval(look, everyMs).unref();
  look();
  return {
    async stop() {
      clearInterval(timer);
      await asking;
    },
  };
}
