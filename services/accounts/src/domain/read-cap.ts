import { MoneyFormatError, parseUsd } from '@gateway/metering';
import { refuse, type ManagementRefusal } from '@gateway/contracts/operator';

/** A monthly cap as a request states it, in nano-USD; null or absent is none. */
export function readCap(text: string | null | undefined): bigint | null | ManagementRefusal {
  if (text === null || text === undefined) return null;
  try {
    return parseUsd(text);
  } catch (error) {
    if (error instanceof MoneyFormatError) return refuse('invalid_request', error.message, 'monthlySpendCapUsd');
    throw error;
  }
}
