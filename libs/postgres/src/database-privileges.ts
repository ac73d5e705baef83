import pg from 'pg';

/** Databases that every server has. Others may use them too. */
const SHARED = new Set(['postgres', 'template1', 'defaultdb']);

/**
 * Grants CONNECT to the roles and revokes the privileges of PUBLIC, except on a database that every
 * server has. A user who does not own the database changes nothing if the roles can connect
 * already.
 */
export async function ensureDatabasePrivileges(client: pg.ClientBase, roles: readonly string[]): Promise<void> {
  const { rows } = await client.query<{ name: string; isOwner: boolean; isOpen: boolean; missing: string[] }>(
    `SELECT datname AS name, pg_has_role(current_user, datdba, 'USAGE') AS "isOwner",
            EXISTS (SELECT FROM aclexplode(coalesce(datacl, acldefault('d', datdba)))
                     WHERE grantee = 0 AND privilege_type IN ('CONNECT', 'TEMPORARY')) AS "isOpen",
            ARRAY(SELECT role FROM unnest($1::text[]) role
                   WHERE NOT EXISTS (SELECT FROM aclexplode(datacl) a JOIN pg_roles r ON r.oid = a.grantee
                                      WHERE r.rolname = role AND a.privilege_type = 'CONNECT')) AS missing
       FROM pg_database WHERE datname = current_database()`,
    [roles],
  );
  const [database] = rows;
  if (database === undefined) return;
  const name = pg.escapeIdentifier(database.name);
  // No grant is needed if PUBLIC may connect, and another owner may refuse to give one.
  const isNeeded = database.isOwner || !database.isOpen;
  if (database.missing.length > 0 && isNeeded) {
    await client.query(`GRANT CONNECT ON DATABASE ${name} TO ${database.missing.join(', ')}`);
  }
  if (database.isOpen && database.isOwner && !SHARED.has(database.name)) {
    await client.query(`REVOKE CONNECT, TEMPORARY ON DATABASE ${name} FROM PUBLIC`);
  }
}
