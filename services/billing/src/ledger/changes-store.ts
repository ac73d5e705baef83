import type { EntryAuthor } from '@gateway/contracts/messages';
import type { AuditEntryView } from '@gateway/contracts/operator';
import { onPool, type Pool, type Tx } from '@gateway/postgres';

/**
 * An entry of the audit log. Before and after are views without secrets; null: the object did not
 * exist, or was deleted.
 */
export interface Change {
  readonly author: EntryAuthor;
  readonly action:
    | 'add_wallet_entry'
    | 'put_limits'
    | 'put_plan'
    | 'delete_plan'
    | 'put_subscription'
    | 'delete_subscription'
    | 'renew_subscription'
    | 'close_account'
    | 'put_webhook'
    | 'delete_webhook'
    | 'rotate_webhook_secret';
  readonly account: string | null;
  readonly objectId: string;
  readonly before: object | null;
  readonly after: object | null;
  /** The command ID of a request that must happen once; see {@link hasMadeChange}. */
  readonly command?: string | null;
}

export interface WrittenChange extends Omit<Change, 'action' | 'author' | 'command'> {
  readonly number: bigint;
  readonly at: Date;
  readonly actor: string;
  readonly origin: AuditEntryView['origin'];
  readonly action: string;
}

export interface ChangesQuery {
  readonly account: string | null;
  readonly objectId: string | null;
  /** Only numbers below this one. */
  readonly before: bigint | null;
  readonly limit: number;
}

/** Writes an audit log entry, in the transaction of the change. */
export async function insertChange(
  tx: Tx,
  { author: { actor, origin }, action, account, objectId, before, after, command = null }: Change,
): Promise<void> {
  await tx.execute(
    `INSERT INTO changes (actor, action, account, object_id, before, after, command, client, agent, request_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      ...[actor, action, account, objectId, jsonOrNull(before), jsonOrNull(after), command],
      ...[origin?.client ?? null, origin?.agent ?? null, origin?.requestId ?? null],
    ],
    { name: 'insert_change' },
  );
}

/** Returns true if the command has made its change. The caller holds the lock of the change. */
export async function hasMadeChange(
  tx: Tx,
  { action, objectId, command }: Pick<Change, 'action' | 'objectId'> & { readonly command: string },
): Promise<boolean> {
  const text = 'SELECT id FROM changes WHERE object_id = $1 AND action = $2 AND command = $3';
  return (await tx.one(text, [objectId, action, command])) !== null;
}

function jsonOrNull(view: object | null): string | null {
  return view === null ? null : JSON.stringify(view);
}

interface ChangeRow {
  id: bigint;
  at: Date;
  actor: string;
  action: string;
  account: string | null;
  object_id: string;
  before: object | null;
  after: object | null;
  client: string | null;
  agent: string | null;
  request_id: string | null;
}

export type ChangesStore = ReturnType<typeof createChangesStore>;

export function createChangesStore(pool: Pool) {
  const queries = onPool(pool);
  return {
    /**
     * Erases networks and user agents from the entries of these people and keeps the request IDs.
     * Returns the number of entries that contained one.
     */
    async eraseOrigins(people: readonly string[]): Promise<number> {
      const row = await queries.one<{ entries: bigint }>('SELECT erase_origins($1) AS entries', [people]);
      return Number(row?.entries ?? 0);
    },
    /** Newest first. */
    async changes({ account, objectId, before, limit }: ChangesQuery): Promise<WrittenChange[]> {
      const rows = await queries.query<ChangeRow>(
        `SELECT id, at, actor, action, account, object_id, before, after, client, agent, request_id FROM changes
          WHERE ($1::text IS NULL OR account = $1) AND ($2::text IS NULL OR object_id = $2)
            AND ($3::bigint IS NULL OR id < $3)
          ORDER BY id DESC LIMIT $4`,
        [account, objectId, before, limit],
      );
      return rows.map(({ id: number, object_id: objectId, client, agent, request_id: requestId, ...row }) => ({
        ...row,
        number,
        objectId,
        origin: requestId === null ? null : { client, agent, requestId },
      }));
    },
  };
}
