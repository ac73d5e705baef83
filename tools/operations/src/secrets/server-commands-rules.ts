import { urlsOf } from '@gateway/service-kit';
import pg from 'pg';
import { LEDGER_SERVICES } from '../migrate-services.js';
import { admissionUser } from '../redis-users.js';
import type { Secrets } from './make-secrets-rules.js';
import { FINANCE_USER } from './table.js';

/**
 * Returns what an administrator runs at managed servers. It contains passwords: roles for
 * PostgreSQL, users for nats-server's configuration, commands for redis-cli.
 */
export const SERVER_COMMANDS: Readonly<Record<'sql' | 'nats' | 'redis', (secrets: Secrets) => string>> = {
  sql: ({ migrate = {} }) => {
    const roles = LEDGER_SERVICES.map((service) => userOf(migrate[`GATEWAY_${service.toUpperCase()}_POSTGRES_URL`]));
    const finance = { user: FINANCE_USER, password: migrate['GATEWAY_FINANCE_PASSWORD']?.trim() ?? '' };
    return [...roles, finance].map(({ user, password }) => roleSql(user, password)).join('\n');
  },
  nats: ({ nats = {} }) => nats['nats-authorization.conf'] ?? '',
  redis: ({ admission = {} }) => {
    const words = admissionUser(userOf(admission['GATEWAY_REDIS_URL']).password).slice(2);
    return `ACL SETUSER admission reset ${words.join(' ')}\n`;
  },
};

/** Creates the role or sets its password; the statement may be repeated. */
function roleSql(user: string, password: string): string {
  const [name, secret] = [pg.escapeIdentifier(user), pg.escapeLiteral(password)];
  return [
    `DO $do$ BEGIN CREATE ROLE ${name} LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $do$;`,
    `ALTER ROLE ${name} PASSWORD ${secret};`,
  ].join('\n');
}

function userOf(url = ''): { user: string; password: string } {
  const { username, password } = new URL(urlsOf(url.trim())[0] ?? '');
  return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
}
