import { BASE_FIELDS, describeConfig, type ConfigDescription, type ConfigFields } from '@gateway/service-kit';
import { ACCOUNTS_FIELDS } from '../../../services/accounts/src/config.js';
import { ADMISSION_FIELDS } from '../../../services/admission/src/config.js';
import { BILLING_FIELDS } from '../../../services/billing/src/config.js';
import { CATALOG_FIELDS } from '../../../services/catalog/src/config.js';
import { DASHBOARD_FIELDS } from '../../../services/dashboard/src/config.js';
import { EDGE_FIELDS } from '../../../services/edge-proxy/src/config.js';
import { MIGRATE_FIELDS } from '../src/migrate-config.js';

const READ_BY: Readonly<Record<string, ConfigFields>> = {
  'edge-proxy': { ...BASE_FIELDS, ...EDGE_FIELDS },
  admission: { ...BASE_FIELDS, ...ADMISSION_FIELDS },
  billing: { ...BASE_FIELDS, ...BILLING_FIELDS },
  catalog: { ...BASE_FIELDS, ...CATALOG_FIELDS },
  accounts: { ...BASE_FIELDS, ...ACCOUNTS_FIELDS },
  dashboard: { ...BASE_FIELDS, ...DASHBOARD_FIELDS },
  migrate: MIGRATE_FIELDS,
};

/** The variables that each program reads, from its own schemas. */
export const PROGRAM_FIELDS: Readonly<Record<string, readonly ConfigDescription[]>> = Object.fromEntries(
  Object.entries(READ_BY).map(([program, fields]) => [program, describeConfig(fields)]),
);

/** A variable of Node for additional CA certificates, set in every container. */
const NODE_VARIABLES = ['NODE_EXTRA_CA_CERTS'];

/**
 * Returns the problems with the names of an environment: unknown and missing ones, and secrets that
 * are not read from files.
 */
export function environmentProblems(program: string, names: readonly string[]): string[] {
  const fields = PROGRAM_FIELDS[program];
  if (fields === undefined) throw new Error(`${program} is no program of this project`);
  const accepted = new Set([...NODE_VARIABLES, ...fields.flatMap(namesOf)]);
  const unknown = names.filter((name) => !accepted.has(name)).map((name) => `${name} is not read by ${program}`);
  const missing = fields
    .filter((field) => field.required && !namesOf(field).some((name) => names.includes(name)))
    .map(({ name }) => `${name} is not set for ${program}`);
  const open = fields
    .filter(({ name, secret }) => secret && names.includes(name))
    .map(({ name }) => `${name} of ${program} is a secret: give ${name}_FILE`);
  return [...unknown, ...missing, ...open];
}

/**
 * Returns the values of an environment with which a program would not start. Ignores names that it
 * does not read.
 */
export function valueProblems(program: string, environment: NodeJS.ProcessEnv): string[] {
  const read = Object.entries(READ_BY[program] ?? {}).filter(([name]) => environment[name] !== undefined);
  return read.flatMap(([name, field]) => {
    const outcome = field.read(name, environment);
    return 'problem' in outcome ? [`${name} of ${program} ${outcome.problem}`] : [];
  });
}

function namesOf({ name, secret, rotatable }: ConfigDescription): string[] {
  const names = secret ? [name, `${name}_FILE`] : [name];
  return rotatable ? [...names, `${name}_PREVIOUS`, `${name}_PREVIOUS_FILE`] : names;
}
