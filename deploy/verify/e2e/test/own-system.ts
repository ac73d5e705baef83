import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { startSystem } from '@gateway/local';
import type { LocalService, LocalSystem, SystemOptions } from '@gateway/local';
import { temporaryDirectory } from '@gateway/testkit';
import { TestOperator } from './operator.js';

export interface OwnSystem {
  readonly local: LocalSystem;
  readonly operator: TestOperator;
  /** Stops everything and removes its files. */
  stop(): Promise<void>;
}

/**
 * Durations of systems that lose something: the minutes of the invariants shrink with them. A lease
 * outlives seconds in which a busy machine stands still: a slot that lapsed never comes back. The
 * expiry is so much longer that a slot is seen free while its hold still stands.
 */
export const SHORT_DURATIONS = {
  GATEWAY_LEASE_MS: '5000',
  GATEWAY_EXPIRY_MS: '14000',
  GATEWAY_BEAT_MS: '300',
  GATEWAY_SWEEP_MS: '300',
};

export interface OwnSystemParts {
  readonly through?: SystemOptions['through'];
  /** Servers with standbys. */
  readonly ha?: boolean;
  readonly between?: SystemOptions['between'];
  /** Another checkout's. */
  readonly start?: typeof startSystem;
}

/**
 * A system for those who break something: two edges, two admissions, one of the others unless
 * stated otherwise. What is killed here are processes, not the machine: what the kernel has
 * outlives them, so nothing is flushed to the disk.
 */
export async function startOwnSystem(
  name: string,
  env: Readonly<Record<string, string>>,
  replicas: Partial<Record<LocalService, number>> = {},
  { through, ha = false, between, start = startSystem }: OwnSystemParts = {},
): Promise<OwnSystem> {
  const directory = temporaryDirectory(name);
  try {
    // Of the global setup: a state that has its database and tables.
    const template = process.env['GATEWAY_E2E_TEMPLATE'];
    if (template !== undefined && !ha) execFileSync('cp', ['-a', `${template}/.`, directory.path]);
    // The database's own user must be able to pass through.
    chmodSync(directory.path, 0o711);
    const local = await start({
      stateDirectory: directory.path,
      port: 0,
      replicas: { 'edge-proxy': 2, admission: 2, billing: 1, accounts: 1, catalog: 1, dashboard: 1, ...replicas },
      durable: false,
      ha,
      env,
      ...(through === undefined ? {} : { through }),
      ...(between === undefined ? {} : { between }),
      log: () => undefined,
    });
    return {
      local,
      operator: new TestOperator({
        get operatorToken() {
          return env['GATEWAY_OPERATOR_TOKEN'] ?? local.secrets.operatorToken;
        },
        // Another one when the dashboard has been replaced.
        get operatorUrl() {
          return local.running().operatorUrl;
        },
      }),
      async stop() {
        await local.stop();
        directory.remove();
      },
    };
  } catch (error) {
    directory.remove();
    throw error;
  }
}
