import { shortHash } from '@gateway/contracts/ids';
import type { Endpoint, HoldFields } from '@gateway/contracts/messages';
import { allotmentRow, keyMonthRow, memberMonthRow, monthlyWindowRow, weeklyWindowRow } from '@gateway/metering';
import type { WindowUnit } from '@gateway/metering';

/**
 * Values that many holds of an account share. They are stored once, so that each hold stays small.
 */
export interface HoldTemplate {
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

export interface StoredTemplate {
  /** Identifies the content: equal templates have equal IDs. */
  readonly id: string;
  /**
   * One line each for the names of the amounts, the names of the counts, the names of the sums in
   * USD, and the JSON, as the scripts read them.
   */
  readonly text: string;
}

export function storeTemplate(template: HoldTemplate): StoredTemplate {
  const amounts = [keyMonthRow(template.key, template.month), memberMonthRow(template.member, template.month)];
  const lines = [amounts, listBalances('requests', template), listBalances('usd', template)].map((names) =>
    names.join(' '),
  );
  const text = [...lines, JSON.stringify(orderFields(template))].join('\n');
  return { id: shortHash(text), text };
}

const LINES_BEFORE_JSON = 3;

/** @throws SyntaxError for a text that {@link storeTemplate} did not write */
export function readTemplate(text: string): HoldTemplate {
  return JSON.parse(text.split('\n')[LINES_BEFORE_JSON] ?? '') as HoldTemplate;
}

/** Builds the template of a hold that was sent with its call. A release contains no endpoint. */
export function toTemplate(hold: HoldFields, endpoint: Endpoint | null): HoldTemplate {
  const { month, weekly, subscription } = hold.periods;
  const { key, member, model, priceVersion, windows, allotment } = hold;
  return { key, member, model, priceVersion, month, weekly, subscription, windows, allotment, endpoint };
}

/** The window of a session in a template. The script that opens the session adds its start. */
const SESSION = 'session';

/**
 * Returns the windows and allotments of a unit that count a hold: one call in requests, or in USD
 * the plan's part of the amount after the call has ended.
 */
function listBalances(limited: WindowUnit, template: HoldTemplate): string[] {
  const rows = new Set<string>();
  for (const { type, unit } of template.windows) {
    if (unit !== limited) continue;
    if (type === 'session_5h') rows.add(SESSION);
    if (type === 'weekly' && template.weekly !== null) rows.add(weeklyWindowRow(unit, template.weekly));
    if (type === 'monthly' && template.subscription !== null)
      rows.add(monthlyWindowRow(unit, template.subscription.id));
  }
  if (template.allotment === limited && template.subscription !== null) {
    rows.add(allotmentRow(limited, template.model, template.subscription.id));
  }
  return [...rows];
}

/** Sorts the fields of a template, so that equal templates have equal texts. */
function orderFields(template: HoldTemplate): HoldTemplate {
  const { key, member, model, priceVersion, month, weekly, allotment, endpoint } = template;
  const subscription = template.subscription && {
    id: template.subscription.id,
    start: template.subscription.start,
    end: template.subscription.end,
  };
  const windows = template.windows.map(({ type, unit }) => ({ type, unit }));
  return { key, member, model, priceVersion, month, weekly, subscription, windows, allotment, endpoint };
}
