import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { MIGRATION_WAIT_MS_MAX } from '@gateway/postgres';
import { readConfig } from '@gateway/service-kit';
import { MIGRATE_FIELDS, rolesOf } from './migrate-config.js';
import { LEDGER_SERVICES } from './migrate-services.js';

const URLS = {
  GATEWAY_MIGRATION_URL: 'postgres://admin:a@db/gateway',
  GATEWAY_BILLING_POSTGRES_URL: 'postgres://gateway_billing:b%2Fb@db/gateway?sslmode=verify-full',
  GATEWAY_ACCOUNTS_POSTGRES_URL: 'postgres://gateway_accounts:c@db/gateway',
  GATEWAY_CATALOG_POSTGRES_URL: 'postgres://gateway_catalog:d@db/gateway',
};

test("roles and passwords are those of the services' own URLs", () => {
  const { roles, finance } = rolesOf(readConfig(MIGRATE_FIELDS, URLS), 'unguessable');
  expect(roles.billing).toEqual({ name: 'gateway_billing', password: 'b/b' });
  expect(finance).toEqual({ name: 'gateway_finance', password: 'unguessable' });
  const given = readConfig(MIGRATE_FIELDS, { ...URLS, GATEWAY_FINANCE_PASSWORD: 'e' });
  expect(rolesOf(given, 'unguessable').finance.password).toBe('e');
  expect(rolesOf(given, 'unguessable').externalRoles).toBe(false);
  const named = { ...URLS, GATEWAY_FINANCE_ROLE: 'books', GATEWAY_EXTERNAL_ROLES: 'on' };
  expect(rolesOf(readConfig(MIGRATE_FIELDS, named), 'u')).toMatchObject({
    finance: { name: 'books' },
    externalRoles: true,
  });
});

test('the role of a URL with several servers applies to all of them', () => {
  const hosts = 'a:5432,b:5432,c:5432';
  const config = readConfig(MIGRATE_FIELDS, {
    ...URLS,
    GATEWAY_BILLING_POSTGRES_URL: `postgres://gateway_billing:b%2Fb@${hosts}/gateway`,
  });
  expect(rolesOf(config, 'x').roles.billing).toEqual({ name: 'gateway_billing', password: 'b/b' });
  const without = readConfig(MIGRATE_FIELDS, { ...URLS, GATEWAY_CATALOG_POSTGRES_URL: `postgres://${hosts}/gateway` });
  expect(() => rolesOf(without, 'x')).toThrow(/^GATEWAY_CATALOG_POSTGRES_URL must name a user and a password$/);
});

test("a URL without a password is refused with its variable's name", () => {
  const config = readConfig(MIGRATE_FIELDS, {
    ...URLS,
    GATEWAY_CATALOG_POSTGRES_URL: 'postgres://gateway_catalog@secret-host/x',
  });
  expect(() => rolesOf(config, 'x')).toThrow(/^GATEWAY_CATALOG_POSTGRES_URL must name a user and a password$/);
});

test('the migration command lists all missing variables and exits with 78', () => {
  const program = fileURLToPath(new URL('../dist/migrate-main.js', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [program], { env: {}, encoding: 'utf8' });
  expect(status).toBe(78);
  for (const name of Object.keys(URLS)) expect(stderr).toContain(name);
});

test("a blocked run ends by itself before the chart's deadline", () => {
  const values = readFileSync(new URL('../../../deploy/helm/model-gateway/values.yaml', import.meta.url), 'utf8');
  const deadlineSeconds = Number(/^  deadlineSeconds: (\d+)$/m.exec(values)?.[1]);
  expect(LEDGER_SERVICES.length * MIGRATION_WAIT_MS_MAX).toBeLessThan(deadlineSeconds * 1000);
});
