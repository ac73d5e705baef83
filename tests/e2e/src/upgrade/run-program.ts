import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { OwnSystem } from '../../test/own-system.js';

export interface ProgramEnd {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly output: string;
}

/** Files of the operator's commands, relative to the root of the project. */
const PROGRAMS = {
  backup: 'tools/operations/dist/backup-main.js',
  restore: 'tools/operations/dist/restore-main.js',
  audit: 'services/billing/dist/commands/audit.js',
  reseal: 'tools/operations/dist/reseal-main.js',
} as const;
/** The root, relative to this file. The compiled file is one directory deeper. */
const ROOT = import.meta.url.includes('/dist/') ? '../../../../../' : '../../../../';

/**
 * Runs a command as an operator of this system does, with addresses and passwords in the
 * environment.
 */
export async function runProgram(
  program: keyof typeof PROGRAMS,
  args: readonly string[],
  { local }: OwnSystem,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<ProgramEnd> {
  const { servers, addresses, secrets } = local;
  const file = fileURLToPath(new URL(`${ROOT}${PROGRAMS[program]}`, import.meta.url));
  const all = {
    ...process.env,
    GATEWAY_MIGRATION_URL: servers.postgres.url,
    GATEWAY_POSTGRES_URL: addresses.postgresUrlOf('billing'),
    GATEWAY_BILLING_POSTGRES_URL: addresses.postgresUrlOf('billing'),
    GATEWAY_ACCOUNTS_POSTGRES_URL: addresses.postgresUrlOf('accounts'),
    GATEWAY_CATALOG_POSTGRES_URL: addresses.postgresUrlOf('catalog'),
    GATEWAY_FINANCE_PASSWORD: secrets.financePassword,
    GATEWAY_NATS_URL: addresses.natsUrlOf('billing'),
    ...env,
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], { env: all, maxBuffer: Infinity }, (error, stdout, stderr) => {
      // A program that a signal ended has no code.
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : null;
      resolve({ code, output: stdout + stderr });
    });
  });
}
