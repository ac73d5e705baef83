import { parseUsd } from '@gateway/metering';

/** A monthly cap as a request states it, in nano-USD; null or absent is none. The request's schema holds its form and bounds. */
export function readCap(text: string | null | undefined): bigint | null {
  return text === null || text === undefined ? null : parseUsd(text);
}
