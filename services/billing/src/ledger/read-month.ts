import { type ManagementRefusal, refuse } from '@gateway/contracts/operator';
import { monthEnd, monthStart } from '@gateway/metering';

/** The bounds of a calendar month (UTC) in epoch milliseconds, [from, to). */
export interface MonthBounds {
  readonly from: number;
  readonly to: number;
}

/** A month before 1970 is refused. */
export function readMonth(month: string): MonthBounds | ManagementRefusal {
  try {
    return { from: monthStart(month), to: monthEnd(month) };
  } catch (error) {
    if (error instanceof RangeError) return refuse('invalid_request', 'the ledger does not reach so far', 'month');
    throw error;
  }
}
