import { pause } from '@gateway/service-kit';
import pg from 'pg';
import { readSqlState } from './faults.js';
import { identifier } from './identifier.js';

export interface RoleSpec {
  readonly name: string;
  readonly password: string;
}

const ATTEMPTS_MAX = 10;
const RETRY_MS = 50;
const LOGIN_MS = 5_000;
const INSUFFICIENT_PRIVILEGE = '42501';
/** Columns of pg_roles with the clauses that grant or remove their attribute. */
const ATTRIBUTES = {
  rolcanlogin: { wanted: true, clause: 'LOGIN' },
  rolsuper: { wanted: false, clause: 'NOSUPERUSER' },
  rolcreatedb: { wanted: false, clause: 'NOCREATEDB' },
  rolcreaterole: { wanted: false, clause: 'NOCREATEROLE' },
  rolreplication: { wanted: false, clause: 'NOREPLICATION' },
  rolbypassrls: { wanted: false, clause: 'NOBYPASSRLS' },
} as const;
type AttributesRow = Readonly<Record<keyof typeof ATTRIBUTES, boolean>>;

/**
 * Creates the login role or sets its password, without other attributes. Alters only differences:
 * naming an attribute, even to remove it, requires that attribute oneself, and a migration runs
 * without superuser. Roles belong to the whole server, so migrations of different databases may
 * collide here; the loser retries.
 * @param url of the client, used to test whether a role that may not be altered can sign in with
 * this password
 */
export async function ensureRole(client: pg.ClientBase, spec: RoleSpec, url: string): Promise<void> {
  const role = identifier(spec.name, 'the name of a role');
  const password = `PASSWORD ${pg.escapeLiteral(spec.password)}`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const differing = await differingClauses(client, role);
      const all = Object.values(ATTRIBUTES).map(({ clause }) => clause);
      if (differing === null) await client.query(`CREATE ROLE ${role} WITH ${all.join(' ')} ${password}`);
      else await client.query(`ALTER ROLE ${role} WITH ${[...differing, password].join(' ')}`);
      return;
    } catch (error) {
      if (readSqlState(error) === INSUFFICIENT_PRIVILEGE) return acceptExistingRole(client, spec, url, error);
      if (attempt >= ATTEMPTS_MAX || !isConcurrentChange(error)) throw error;
      await pause(RETRY_MS * attempt * Math.random());
    }
  }
}

/**
 * Checks a role that others manage. Rejects a missing role or one with more attributes than LOGIN,
 * with the statement that fixes it.
 */
export async function requireRole(client: pg.ClientBase, { name }: RoleSpec): Promise<void> {
  const role = identifier(name, 'the name of a role');
  const differing = await differingClauses(client, role);
  if (differing === null) throw new Error(`there is no role ${role}: CREATE ROLE ${role} LOGIN PASSWORD '…'`);
  if (differing.length > 0) {
    throw new Error(`the role ${role} is not a plain login role: ALTER ROLE ${role} ${differing.join(' ')}`);
  }
}

/**
 * Ensures a setting of the role in this database. If it differs and this user may not change it,
 * rejects with the statement to run.
 * @param value as an SQL literal
 */
export async function ensureRoleSetting(
  client: pg.ClientBase,
  { role, database, name, value }: { role: string; database: string; name: string; value: string },
): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT FROM pg_db_role_setting s JOIN pg_roles r ON r.oid = s.setrole JOIN pg_database d ON d.oid = s.setdatabase
      WHERE r.rolname = $1 AND d.datname = current_database() AND $2 = ANY (s.setconfig)`,
    [role, `${name}=${value}`],
  );
  if (rowCount !== 0) return;
  const statement = `ALTER ROLE ${role} IN DATABASE ${database} SET ${name} = ${value}`;
  try {
    await client.query(statement);
  } catch (error) {
    if (readSqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error;
    throw new Error(`this user cannot change the role ${role}; run as a user who can: ${statement}`, { cause: error });
  }
}

/** Null: the role does not exist. */
async function differingClauses(client: pg.ClientBase, role: string): Promise<string[] | null> {
  const names = Object.keys(ATTRIBUTES) as (keyof typeof ATTRIBUTES)[];
  const { rows } = await client.query<AttributesRow>(`SELECT ${names.join(', ')} FROM pg_roles WHERE rolname = $1`, [
    role,
  ]);
  const [row] = rows;
  if (row === undefined) return null;
  return names.flatMap((name) => (row[name] === ATTRIBUTES[name].wanted ? [] : ATTRIBUTES[name].clause));
}

/** From PostgreSQL 16 on only its creator or a role with ADMIN OPTION can alter a role. */
async function acceptExistingRole(client: pg.ClientBase, spec: RoleSpec, url: string, error: unknown): Promise<void> {
  const differing = await differingClauses(client, spec.name);
  if (differing?.length === 0 && (await canSignIn(url, spec))) return;
  throw new Error(
    `this user cannot create or change the role ${spec.name}: it needs CREATEROLE and, from PostgreSQL 16 on, ADMIN OPTION on roles that ` +
      `another user created; or let another user create all roles (GATEWAY_EXTERNAL_ROLES)`,
    { cause: error },
  );
}

async function canSignIn(url: string, { name, password }: RoleSpec): Promise<boolean> {
  const own = new URL(url);
  own.username = encodeURIComponent(name);
  own.password = encodeURIComponent(password);
  const client = new pg.Client({ connectionString: own.href, connectionTimeoutMillis: LOGIN_MS });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** A concurrent change: duplicate_object, unique_violation, or "tuple concurrently updated". */
function isConcurrentChange(error: unknown): boolean {
  return ['42710', '23505', 'XX000'].includes(readSqlState(error) ?? '');
}
