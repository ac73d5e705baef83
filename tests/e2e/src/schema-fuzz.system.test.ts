import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { temporaryDirectory } from '@gateway/testkit';
import { startOwnSystem, type OwnSystem } from '../test/own-system.js';

/** Program that `.ci/run` installs. If it is missing, the one on the PATH is used. */
const INSTALLED = fileURLToPath(new URL('../../../.cache/schemathesis/bin/schemathesis', import.meta.url));
const PROGRAM = existsSync(INSTALLED) ? INSTALLED : 'schemathesis';
const isThere = spawnSync(PROGRAM, ['--version']).status === 0;
const HOOKS = fileURLToPath(new URL('../schema-fuzz/hooks.py', import.meta.url));
const PUBLIC_DOCUMENT = fileURLToPath(new URL('../../../docs/api/public.openapi.json', import.meta.url));
const SEED = process.env['SCHEMA_FUZZ_SEED'] ?? '7';
/** A run takes three minutes, and several times as long on a busy machine. */
const RUN_MS_MAX = 900_000;
/**
 * Checks that are not used. `unsupported_method` expects a 405, but the specification requires a
 * 404. `hooks.py` replaces the other checks and accepts the refusals in `reasons.json`.
 */
const EXCLUDED = ['unsupported_method', 'positive_data_acceptance', 'ensure_resource_availability', 'ignored_auth'];
const REASONS = JSON.parse(
  readFileSync(fileURLToPath(new URL('../schema-fuzz/reasons.json', import.meta.url)), 'utf8'),
) as readonly { readonly message: string }[];

if (!isThere) console.warn('The schema tests are skipped. They need schemathesis 4 (PyPI) on the PATH.');

(isThere ? describe : describe.skip)('schemathesis', () => {
  const directory = temporaryDirectory('schema-fuzz');
  let system: OwnSystem;

  beforeAll(async () => {
    system = await startOwnSystem(
      'schema-fuzz-system',
      { GATEWAY_TEAMS_ENABLED: 'true' },
      { 'edge-proxy': 1, admission: 1 },
    );
  }, 120_000);

  afterAll(async () => {
    await system.stop();
    directory.remove();
  }, 60_000);

  test(
    'the public API matches its OpenAPI document',
    async () => {
      const { account, secret } = await system.operator.account('1000000');
      await system.operator.limits(account, 1_000_000, 1_000);
      const url = system.local.running().edgeUrls[0] ?? '';
      await fuzz({ document: PUBLIC_DOCUMENT, url, token: secret, examples: 20 });
    },
    RUN_MS_MAX + 10_000,
  );

  test(
    'the operator API matches its OpenAPI document',
    async () => {
      const { operatorUrl, operatorToken } = system.local.running();
      const document = join(directory.path, 'operator.json');
      writeFileSync(document, await (await fetch(`${operatorUrl}/openapi.json`)).text());
      const used = await fuzz({ document, url: operatorUrl, token: operatorToken, examples: 15 });
      const unused = REASONS.filter(({ message }) => !used.includes(message)).map(({ message }) => message);
      if (unused.length > 0) console.warn(`reasons that were not used: ${unused.join(', ')}`);
    },
    RUN_MS_MAX + 10_000,
  );

  /**
   * Runs schemathesis and returns the reasons that it used. Fails with the report of the run, which
   * contains each failed request as a command.
   */
  async function fuzz({ document, url, token, examples }: Fuzzed): Promise<readonly string[]> {
    const used = join(directory.path, 'used.json');
    const checks = ['--checks', 'all', '--exclude-checks', EXCLUDED.join(',')];
    const settings = ['--seed', SEED, '-n', String(examples), '--generation-database', 'none'];
    const args = ['run', document, '--url', url, '-H', `Authorization: Bearer ${token}`, ...checks, ...settings];
    const run = await promisify(execFile)(PROGRAM, [...args, '--continue-on-failure', '--no-color'], {
      cwd: directory.path,
      env: { ...process.env, SCHEMATHESIS_HOOKS: HOOKS, SCHEMA_FUZZ_USED: used },
      timeout: RUN_MS_MAX,
      maxBuffer: 64 * 1024 * 1024,
    }).then(
      ({ stdout }) => ({ passed: true, stdout }),
      ({ stdout, message }: { readonly stdout?: string; readonly message: string }) => ({
        passed: false,
        stdout: stdout ?? message,
      }),
    );
    if (!run.passed) throw new Error(run.stdout);
    expect(run.stdout).toMatch(/Tested:\s+[1-9]/);
    return JSON.parse(readFileSync(used, 'utf8')) as string[];
  }
});

interface Fuzzed {
  readonly document: string;
  readonly url: string;
  readonly token: string;
  /** Number of examples per operation and phase. */
  readonly examples: number;
}
