import { parseArgs } from 'node:util';

const TO = { to: { type: 'string' }, daily: { type: 'boolean' }, keep: { type: 'string' } } as const;
const FROM = { from: { type: 'string' }, 'accept-loss': { type: 'boolean' } } as const;
const USAGE = { to: '--to DIR [--daily] [--keep N]', from: '--from DIR [--accept-loss]' } as const;
const KEPT = 7;
interface DirectoryOptions {
  readonly to?: string;
  readonly daily?: boolean;
  readonly keep?: string;
  readonly from?: string;
  readonly 'accept-loss'?: boolean;
}

export interface BackupOptions {
  readonly directory: string;
  /** Number of backups to keep in the directory; null if the directory is the backup. */
  readonly kept: number | null;
  /** A backup a day instead of one. */
  readonly isDaily: boolean;
}

/** Parses `--to DIR`, with `--daily` for a backup a day and `--keep` for their number. */
export function backupOptions(): BackupOptions {
  const { to, daily: isDaily = false, keep } = given('to');
  if (!isDaily && keep === undefined) return { directory: required(to, 'to'), kept: null, isDaily };
  if (keep !== undefined && !/^[1-9]\d{0,3}$/.test(keep))
    throw new Error(`--keep ${keep}: not a number from 1 to 9999`);
  return { directory: required(to, 'to'), kept: keep === undefined ? KEPT : Number(keep), isDaily };
}

/** Parses `--from DIR` with an optional `--accept-loss`. */
export function restoreOptions(): { readonly directory: string; readonly acceptLoss: boolean } {
  const { from, 'accept-loss': acceptLoss } = given('from');
  return { directory: required(from, 'from'), acceptLoss: acceptLoss === true };
}

function required(directory: string | undefined, option: 'to' | 'from'): string {
  if (directory === undefined || directory === '') throw new Error(`the directory is missing: ${USAGE[option]}`);
  return directory;
}

function given(option: 'to' | 'from'): DirectoryOptions {
  const options = option === 'to' ? TO : FROM;
  try {
    return parseArgs({ options, strict: true, allowPositionals: false }).values as DirectoryOptions;
  } catch (error) {
    throw new Error(`${(error as Error).message}. Usage: ${USAGE[option]}`, { cause: error });
  }
}
