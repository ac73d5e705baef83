import * as access from './access.js';
import * as accounts from './accounts.js';
import * as admission from './admission.js';
import * as alerts from './alerts.js';
import * as billing from './billing.js';
import * as catalog from './catalog.js';
import * as edge from './edge.js';
import * as insights from './insights.js';
import type { AnyMessage } from './message.js';
import * as operatorSessions from './operator-sessions.js';
import * as people from './people.js';
import * as usage from './usage.js';

const MODULES = [
  access,
  accounts,
  admission,
  alerts,
  billing,
  catalog,
  edge,
  insights,
  operatorSessions,
  people,
  usage,
];

/** All bus messages. Permissions, schema files and the bus test are derived from them. */
export const MESSAGES: readonly AnyMessage[] = MODULES.flatMap((module) =>
  Object.values<unknown>({ ...module }).filter(isMessage),
);

function isMessage(value: unknown): value is AnyMessage {
  return typeof value === 'object' && value !== null && 'subject' in value && 'servedBy' in value;
}

export * from './access.js';
export * from './accounts.js';
export * from './admission.js';
export * from './alerts.js';
export * from './billing.js';
export * from './call.js';
export * from './catalog.js';
export * from './compile-check.js';
export * from './edge.js';
export * from './insights.js';
export * from './message.js';
export * from './operator-sessions.js';
export * from './people.js';
export * from './price-figures.js';
export * from './quotas.js';
export * from './records.js';
export * from './scalars.js';
export * from './balance-snapshot.js';
export * from './usage.js';
export * from './usage-record.js';
