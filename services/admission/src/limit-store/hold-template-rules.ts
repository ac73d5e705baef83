import { shortHash } from '@gateway/contracts/ids';
import type { Endpoint, HoldFields } from '@gateway/contracts/messages';
import { allotmentRow, keyMonthRow, memberMonthRow, monthlyWindowRow, weeklyWindowRow } from '@gateway/metering';
import type { WindowUnit } from '@gateway/metering';

/**
 * What many holds of an account have in common. It is stored once beside them, so that a hold stays
 * small.
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
  /** Names the content: equal shapes meet, others do not. */
  readonly id: string;
  /**
   * Names of the amounts, of the counts, of the sums in USD, JSON: one line each, as the scripts
   * read it.
   */
  readonly text: string;
}

export function storeTemplate(template: HoldTemplate): StoredTemplate {
  const amounts = [keyMonthRow(template.key, template.month), memberMonthRow(template.member, template.month)];
  const lines = [amounts, rowsIn('requests', template), rowsIn('usd', template)].map((names) => names.join(' '));
  const text = [...lines, JSON.stringify(orderedTemplate(template))].join('\n');
  return { id: shortHash(text), text };
}

const LINES_BEFORE_JSON = 3;

/** @throws SyntaxError for a text that {@link storeShape} did not write */
export function readTemplate(text: string): HoldTemplate {
  return JSON.parse(text.split('\n')[LINES_BEFORE_JSON] ?? '') as HoldTemplate;
}

/** The shape of a hold that travelled with its call. A release does not say the endpoint. */
export function templateOfHold(hold: HoldFields, endpoint: Endpoint | null): HoldTemplate {
  const { month, weekly, subscription } = hold.periods;
  const { key, member, model, priceVersion, windows, allotment } = hold;
  return { key, member, model, priceVersion, month, weekly, subscription, windows, allotment, endpoint };
}

/** The session among the rows of a shape: its row is named by the script that opens it. */
const SESSION = 'session';

/**
 * Windows and allotments of a unit in which a hold counts: in requests as one call, in USD with
 * what the plan pays for it once it has ended.
 */
function rowsIn(limited: WindowUnit, template: HoldTemplate): string[] {
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

/** The same content gives the same text, whatever the order in which a sender wrote its fields. */
function orderedTemplate(template: HoldTemplate): HoldTemplate {
  const { key, member, model, priceVersion, month, weekly, allotment, endpoint } = template;
  const subscription = template.subscription && {
    id: template.subscription.id,
    start: template.subscription.start,
    end: template.subscription.end,
  };
  const windows = template.windows.map(({ type, unit }) => ({ type, unit }));
  return { key, member, model, priceVersion, month, weekly, subscription, windows, allotment, endpoint };
}
