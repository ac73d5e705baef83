import type { Bus } from '@gateway/bus';
import { type AnswerBodyOf, billingAlerts, billingApplyCaps, type ReceivedOf } from '@gateway/contracts/messages';
import { isRefusal } from '@gateway/contracts/operator';
import { buildPage, readNumberCursor } from '../ledger/page.js';
import { toAlertView } from './rules.js';
import type { AlertStore } from './store.js';

/** Stores the caps of keys and members; ignores a cap with an older version. */
export async function applyCaps(
  store: Pick<AlertStore, 'applyCaps'>,
  { account, caps }: ReceivedOf<typeof billingApplyCaps>,
): Promise<AnswerBodyOf<typeof billingApplyCaps>> {
  await store.applyCaps(
    account,
    caps.map((cap) => ({ ...cap, capNanoUsd: cap.capNanoUsd === null ? null : BigInt(cap.capNanoUsd) })),
  );
  return { applied: true };
}

/** Returns the alerts of an account, newest first. */
export async function showAlerts(
  store: Pick<AlertStore, 'alerts'>,
  { account, cursor, limit }: ReceivedOf<typeof billingAlerts>,
): Promise<AnswerBodyOf<typeof billingAlerts>> {
  const place = readNumberCursor(cursor);
  if (isRefusal(place)) return place;
  const alerts = await store.alerts({ account, before: place.after, limit: limit + 1 });
  const { items, nextCursor } = buildPage(alerts, limit, {
    nameOf: ({ number }) => String(number),
    viewOf: ({ alert }) => toAlertView(alert),
  });
  return { alerts: items, nextCursor };
}

/** Serves the requests about alerts and the caps that they monitor. */
export function serveAlerts(bus: Pick<Bus, 'serve'>, store: AlertStore): void {
  bus.serve(billingApplyCaps, (body) => applyCaps(store, body));
  bus.serve(billingAlerts, (body) => showAlerts(store, body));
}
