import { counter, gauge } from '@gateway/service-kit';
import type { LedgerGuard, StopReason } from './ledger-guard.js';

const REASONS: readonly StopReason[] = ['unchecked', 'lost', 'gap', 'behind', 'superseded'];

/** @returns the function to call after lost commits were settled again */
export function createGuardMetrics(guard: () => LedgerGuard): (mended: { readonly lost: number }) => void {
  gauge(
    'gateway_billing_ledger_stopped',
    'Reason why loads and settlements wait: the ledger has or may have lost commits',
    () => REASONS.map((reason) => [reason, guard().stopped === reason ? 1 : 0] as const),
    { label: 'reason' },
  );
  gauge(
    'gateway_billing_stream_messages_gone',
    'Unsettled usage messages that have left the stream',
    () => guard().gone,
  );
  const mends = counter(
    'gateway_billing_ledger_epochs_total',
    'Ledger epochs begun because commits were or may have been lost',
  );
  const lostMessages = counter(
    'gateway_billing_lost_messages_total',
    'Lost usage messages that were settled again from the stream',
  );
  return ({ lost }) => {
    mends.add(1);
    lostMessages.add(lost);
  };
}
