import { shortHash } from '@gateway/contracts/ids';
import type { Endpoint, HoldFields } from '@gateway/contracts/messages';
import { allotmentRow, keyMonthRow, memberMonthRow, monthlyWindowRow, weeklyWindowRow } from '@gateway/metering';

/** What many holds of an account have in common. It is stored once beside them, so that a hold stays small. */
export interface HoldShape {
  readonly key: string;
  readonly member: string;
  readonly model: string;
  readonly priceVersion: string;
  readonly month: string;
  readonly weekly: number | null;
  readonly subscription: HoldFields['periods']['subscription'];
  readonly windows: HoldFields['windows'];
  readonly allotment: HoldFields['allotment'];
  readonly endpoint: Endpoint | null;
}

export interface StoredShape {
  /** Names the content: equal shapes meet, others do not. */
  readonly id: string;
  /** Names of the amounts, names of the counts, JSON: one line each, as the scripts read it. */
  readonly text: string;
}

export function storeShape(shape: HoldShape): StoredShape {
  const amounts = [keyMonthRow(shape.key, shape.month), memberMonthRow(shape.member, shape.month)];
  const text = `${amounts.join(' ')}\n${countedRows(shape).join(' ')}\n${JSON.stringify(orderedShape(shape))}`;
  return { id: shortHash(text), text };
}

/** @throws SyntaxError for a text that {@link storeShape} did not write */
export function readShape(text: string): HoldShape {
  return JSON.parse(text.slice(text.indexOf('\n', text.indexOf('\n') + 1) + 1)) as HoldShape;
}

/** The shape of a hold that travelled with its call. A release does not say the endpoint. */
export function shapeOfHold(hold: HoldFields, endpoint: Endpoint | null): HoldShape {
  const { month, weekly, subscription } = hold.periods;
  const { key, member, model, priceVersion, windows, allotment } = hold;
  return { key, member, model, priceVersion, month, weekly, subscription, windows, allotment, endpoint };
}

/**
 * Rows in which a hold counts as one running call: windows and allotments in requests. The session is not among them: its
 * row is named by the script that opens it.
 */
function countedRows(shape: HoldShape): string[] {
  const rows = new Set<string>();
  for (const { type, unit } of shape.windows) {
    if (unit !== 'requests') continue;
    if (type === 'weekly' && shape.weekly !== null) rows.add(weeklyWindowRow(unit, shape.weekly));
    if (type === 'monthly' && shape.subscription !== null) rows.add(monthlyWindowRow(unit, shape.subscription.id));
  }
  if (shape.allotment === 'requests' && shape.subscription !== null) {
    rows.add(allotmentRow('requests', shape.model, shape.subscription.id));
  }
  return [...rows];
}

/** The same content gives the same text, whatever the order in which a sender wrote its fields. */
function orderedShape(shape: HoldShape): HoldShape {
  const { key, member, model, priceVersion, month, weekly, allotment, endpoint } = shape;
  const subscription = shape.subscription && {
    id: shape.subscription.id,
    start: shape.subscription.start,
    end: shape.subscription.end,
  };
  const windows = shape.windows.map(({ type, unit }) => ({ type, unit }));
  return { key, member, model, priceVersion, month, weekly, subscription, windows, allotment, endpoint };
}
