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
 * Durations of systems that lose something; they also shorten the minutes of the invariants. The
 * lease is longer than the stalls of a busy machine, because an expired slot never comes back. The
 * expiry is long enough that a test sees a free slot while its hold still exists.
 */
export const SHORT_DURATIONS = {
  GATEWAY_LEASE_MS: '5000',
  GATEWAY_EXPIRY_MS: '14000',
  GATEWAY_HEARTBEAT_MS: '300',
  GATEWAY_SWEEP_MS: '300',
};

/** Variables of systems whose tests test no timeout: a slow machine then does not fail them. */
export const PATIENT = { GATEWAY_TEST_CONTROLS: 'on', GATEWAY_TIMEOUT_MIN_MS: '60000' };

export interface OwnSystemParts {
  readonly through?: SystemOptions['through'];
  /** Servers with standbys. */
  readonly ha?: boolean;
  readonly between?: SystemOptions['between'];
  /** The start function of another checkout. */
  readonly start?: typeof startSystem;
}

/**
 * Starts a system for tests that break something: two edges, two replicas of admission, and one of
 * each other service unless `replicas` sets more. Tests kill processes and not the machine, so the
 * kernel keeps written data and nothing has to be flushed to disk.
 */
export async function startOwnSystem(
  name: string,
  env: Readonly<Record<string, string>>,
  replicas: Partial<Record<LocalService, number>> = {},
  { through, ha = false, between, start = startSystem }: OwnSystemParts = {},
): Promise<OwnSystem> {
  const directory = temporaryDirectory(name);
  try {
    // State of the global setup with a database and its tables.
    const template = process.env['GATEWAY_E2E_TEMPLATE'];
    if (template !== undefined && !ha) execFileSync('cp', ['-a', `${template}/.`, directory.path]);
    // The database's user must be able to enter the directory.
    chmodSync(directory.path, 0o711);
    const local = await start({
      stateDirectory: directory.path,
      replicas: { 'edge-proxy': 2, admission: 2, ...replicas },
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
        // Changes when the dashboard is replaced.
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
