import { counter, gauge } from '@gateway/service-kit';
import type { LedgerGuard, Stopped } from './ledger-guard.js';

const REASONS: readonly Stopped[] = ['unchecked', 'lost', 'gap', 'behind', 'superseded'];

/** @returns the function to call after lost commits were settled again */
export function measureGuard(guard: () => LedgerGuard): (mended: { readonly lost: number }) => void {
  gauge(
    'gateway_billing_ledger_stopped',
    'Whether loads and settlements wait, and why: the ledger has lost commits, or may have',
    () => REASONS.map((reason) => [reason, guard().stopped === reason ? 1 : 0] as const),
    { label: 'reason' },
  );
  gauge(
    'gateway_billing_stream_messages_gone',
    'Messages of usage that are not settled and have left the stream',
    () => guard().gone,
  );
  const mends = counter(
    'gateway_billing_ledger_epochs_total',
    'Ledger epochs begun because commits were lost, or may be',
  );
  const lostMessages = counter(
    'gateway_billing_lost_messages_total',
    'Messages of usage that the ledger had settled and lost, and settled again from the stream',
  );
  return ({ lost }) => {
    mends.add(1);
    lostMessages.add(lost);
  };
}
