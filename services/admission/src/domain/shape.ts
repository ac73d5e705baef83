import { shortHash } from '@gateway/contracts/ids';
import type { Endpoint, HoldFields } from '@gateway/contracts/messages';
import { allotmentRow, keyMonthRow, memberMonthRow, monthlyWindowRow, weeklyWindowRow } from '@gateway/metering';
import type { WindowUnit } from '@gateway/metering';

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
  /** Names of the amounts, of the counts, of the sums in USD, JSON: one line each, as the scripts read it. */
  readonly text: string;
}

export function storeShape(shape: HoldShape): StoredShape {
  const amounts = [keyMonthRow(shape.key, shape.month), memberMonthRow(shape.member, shape.month)];
  const lines = [amounts, rowsIn('requests', shape), rowsIn('usd', shape)].map((names) => names.join(' '));
  const text = [...lines, JSON.stringify(orderedShape(shape))].join('\n');
  return { id: shortHash(text), text };
}

const LINES_BEFORE_JSON = 3;

/** @throws SyntaxError for a text that {@link storeShape} did not write */
export function readShape(text: string): HoldShape {
  return JSON.parse(text.split('\n')[LINES_BEFORE_JSON] ?? '') as HoldShape;
}

/** The shape of a hold that travelled with its call. A release does not say the endpoint. */
export function shapeOfHold(hold: HoldFields, endpoint: Endpoint | null): HoldShape {
  const { month, weekly, subscription } = hold.periods;
  const { key, member, model, priceVersion, windows, allotment } = hold;
  return { key, member, model, priceVersion, month, weekly, subscription, windows, allotment, endpoint };
}

/** The session among the rows of a shape: its row is named by the script that opens it. */
const SESSION = 'session';

/**
 * Windows and allotments of a unit in which a hold counts: in requests as one call, in USD with what the plan pays for it once
 * it has ended.
 */
function rowsIn(limited: WindowUnit, shape: HoldShape): string[] {
  const rows = new Set<string>();
  for (const { type, unit } of shape.windows) {
    if (unit !== limited) continue;
    if (type === 'session_5h') rows.add(SESSION);
    if (type === 'weekly' && shape.weekly !== null) rows.add(weeklyWindowRow(unit, shape.weekly));
    if (type === 'monthly' && shape.subscription !== null) rows.add(monthlyWindowRow(unit, shape.subscription.id));
  }
  if (shape.allotment === limited && shape.subscription !== null) {
    rows.add(allotmentRow(limited, shape.model, shape.subscription.id));
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
