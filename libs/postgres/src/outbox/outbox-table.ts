import { identifier, qualifiedIdentifier } from '../identifier.js';
import type { Tx } from '../tx.js';

export interface OutboxMessage {
  readonly topic: string;
  /** Messages of one key are delivered one at a time, in the order of their ids. */
  readonly key: string;
  /** Any JSON value. */
  readonly body: unknown;
}

/** Found in the service's own schema through the role's search path. */
export const OUTBOX_TABLE = 'outbox';

/**
 * Returns the statements that create an outbox table, to be copied into a migration file: a
 * migration must not change with this package. `${role}` is the placeholder of `migrate`.
 */
export function outboxTableSql(table = OUTBOX_TABLE): string {
  const name = identifier(table, 'the name of an outbox table');
  return `CREATE TABLE ${name} (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic text NOT NULL,
  key text NOT NULL,
  body jsonb NOT NULL,
  attempts integer NOT NULL DEFAULT 0,
  -- Earliest time of the next attempt. During a delivery: the end of the worker's lease.
  due_at timestamptz NOT NULL DEFAULT now(),
  claim uuid,
  created_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX ${name}_key_id ON ${name} (key, id);
CREATE INDEX ${name}_due_at ON ${name} (due_at);
GRANT SELECT, INSERT, UPDATE, DELETE ON ${name} TO \${role};
`;
}

/**
 * Inserts a message into the outbox within the caller's transaction, so that it is sent if and only
 * if the transaction commits. A row gets its ID when it is written, not at the commit. Transactions
 * that write messages of one key must first lock something in common (the account's row); otherwise
 * a later ID may be delivered before an earlier one.
 */
export async function enqueue(tx: Tx, { topic, key, body }: OutboxMessage, table = OUTBOX_TABLE): Promise<void> {
  const name = qualifiedIdentifier(table, 'the name of an outbox table');
  await tx.execute(`INSERT INTO ${name} (topic, key, body) VALUES ($1, $2, $3)`, [topic, key, JSON.stringify(body)]);
}
