import { inTransaction, onPool, type Pool } from '@gateway/postgres';

/**
 * Copies the ledger like a standby that lags. The returned function makes the copy the ledger:
 * every later commit is lost without notice.
 * @param admin a superuser's pool, which disables the triggers
 */
export async function copyLedger(admin: Pool): Promise<() => Promise<void>> {
  const tables = await onPool(admin).query<{ name: string; columns: string }>(
    `SELECT relname AS name, string_agg(quote_ident(attname), ', ' ORDER BY attnum) AS columns
       FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
      WHERE relnamespace = 'billing'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      GROUP BY relname`,
  );
  await inTransaction(admin, async (tx) => {
    await tx.execute('DROP SCHEMA IF EXISTS copied CASCADE');
    await tx.execute('CREATE SCHEMA copied');
    for (const { name } of tables) await tx.execute(`CREATE TABLE copied.${name} AS TABLE billing.${name}`);
  });
  return () =>
    inTransaction(admin, async (tx) => {
      await tx.execute('SET LOCAL session_replication_role = replica');
      for (const { name, columns } of tables) {
        await tx.execute(`DELETE FROM billing.${name}`);
        await tx.execute(
          `INSERT INTO billing.${name} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM copied.${name}`,
        );
      }
    });
}
