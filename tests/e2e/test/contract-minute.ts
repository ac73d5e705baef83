import { until } from '@gateway/testkit';

const MINUTE_SECONDS = 60;

/**
 * Waits until the clock minute has this many seconds left, so that all following requests count in
 * one minute.
 */
export async function waitForSecondsLeft(seconds: number): Promise<void> {
  const hasThem = (): boolean => (Date.now() / 1_000) % MINUTE_SECONDS < MINUTE_SECONDS - seconds;
  await until(`the minute has ${seconds} s left`, hasThem, (seconds + 1) * 1_000);
}
