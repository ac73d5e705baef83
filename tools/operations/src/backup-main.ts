// `npm run backup -- --to DIR`: backs up all schemas in one snapshot while the system runs, and
// records the run. With `--keep N`, it writes DIR/<time> and removes all but the newest N. With
// `--daily`, it does so once a day (default: 7), until it is stopped or a backup fails. Exit 0:
// written; 2: an error, printed on standard error; 78: a wrong configuration.
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { primaryUrl } from '@gateway/postgres';
import { COMMON_FIELDS, readConfig, runAsCommand } from '@gateway/service-kit';
import { backUp } from './backup/back-up.js';
import { backupOptions } from './backup/directory-from.js';
import { dumpFile, manifestFile } from './backup/manifest.js';
import type { BackupTotals } from './backup/read-figures.js';
import { backupName, outdatedBackups, type StoredBackup, waitForBackup } from './backup/schedule-rules.js';
import { recordRun } from './jobs/record-run.js';

await runAsCommand(async () => {
  const { directory, kept, isDaily } = backupOptions();
  const fields = { GATEWAY_MIGRATION_URL: COMMON_FIELDS.GATEWAY_MIGRATION_URL };
  const config = readConfig(fields, process.env);
  const write = async (to: string): Promise<void> => {
    const url = await primaryUrl(config.GATEWAY_MIGRATION_URL.reveal());
    const { figures } = await backUp(url, to).catch(async (error: unknown) => {
      await recordRun(url, { job: 'backup', outcome: 'failed', figures: '' });
      throw error;
    });
    for (const [name, figure] of Object.entries(figures)) console.log(`${name}: ${figure}`);
    await recordRun(url, { job: 'backup', outcome: 'succeeded', figures: summarize(figures, to) });
  };
  console.log(
    'store the pepper and the private keys elsewhere: without them API keys are not recognized and credentials cannot be opened',
  );
  if (kept === null) await write(directory);
  else if (isDaily) await backUpDaily(directory, kept, write);
  else await storeBackup(directory, kept, write);
  return 0;
});

/** Runs until `write` rejects. A restart continues with the stored backups. */
async function backUpDaily(directory: string, kept: number, write: (to: string) => Promise<void>): Promise<never> {
  for (;;) {
    await sleep(waitForBackup(listBackups(directory), Date.now()));
    await storeBackup(directory, kept, write);
  }
}

/** Writes a backup into the directory and removes all but the newest `kept`. */
async function storeBackup(directory: string, kept: number, write: (to: string) => Promise<void>): Promise<void> {
  const to = join(directory, backupName(Date.now()));
  await write(to);
  for (const name of outdatedBackups(listBackups(directory), kept)) {
    rmSync(join(directory, name), { recursive: true });
  }
  console.log(`stored in ${to}`);
}

function summarize(figures: BackupTotals, directory: string): string {
  const bytes = statSync(dumpFile(directory)).size;
  return `${figures['ledger transactions']} ledger transactions, ${figures['accounts']} accounts, ${bytes} bytes`;
}

function listBackups(directory: string): StoredBackup[] {
  const names = existsSync(directory) ? readdirSync(directory) : [];
  return names.map((name) => ({ name, isComplete: existsSync(manifestFile(join(directory, name))) }));
}
