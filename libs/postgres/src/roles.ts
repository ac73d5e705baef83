import pg from 'pg';
import { sqlStateOf } from './faults.js';
import { identifier } from './identifier.js';

export interface RoleSpec {
  readonly name: string;
  readonly password: string;
}

const ATTEMPTS_MAX = 10;
const RETRY_MS = 50;

/**
 * Creates the login role or sets its password, with no other attribute. Roles belong to the whole server, so two
 * migrations of different databases may meet here; the loser tries again.
 */
export async function ensureRole(client: pg.ClientBase, { name, password }: RoleSpec): Promise<void> {
  const role = identifier(name, 'the name of a role');
  const attributes = `LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [role]);
      const verb = rowCount === 0 ? 'CREATE' : 'ALTER';
      await client.query(`${verb} ROLE ${role} WITH ${attributes} PASSWORD ${pg.escapeLiteral(password)}`);
      return;
    } catch (error) {
      if (attempt >= ATTEMPTS_MAX || !isMetAnother(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS * attempt * Math.random()));
    }
  }
}

/** duplicate_object, unique_violation, or the internal error "tuple concurrently updated". */
function isMetAnother(error: unknown): boolean {
  return ['42710', '23505', 'XX000'].includes(sqlStateOf(error) ?? '');
}
