import { parseArgs } from 'node:util';

const TO = { to: { type: 'string' } } as const;
const FROM = { from: { type: 'string' }, 'accept-loss': { type: 'boolean' } } as const;
const USAGE = { to: '--to DIR', from: '--from DIR [--accept-loss]' } as const;
interface DirectoryOptions {
  readonly to?: string;
  readonly from?: string;
  readonly 'accept-loss'?: boolean;
}

/** Parses `--to DIR`, or `--from DIR` with an optional `--accept-loss`. */
export function directoryFrom(option: 'to' | 'from'): { readonly directory: string; readonly acceptLoss: boolean } {
  const { to, from, 'accept-loss': acceptLoss } = given(option);
  const directory = to ?? from;
  if (directory === undefined || directory === '') throw new Error(`the directory is missing: ${USAGE[option]}`);
  return { directory, acceptLoss: acceptLoss === true };
}

function given(option: 'to' | 'from'): DirectoryOptions {
  const options = option === 'to' ? TO : FROM;
  try {
    return parseArgs({ options, strict: true, allowPositionals: false }).values as DirectoryOptions;
  } catch (error) {
    throw new Error(`${(error as Error).message}. Usage: ${USAGE[option]}`, { cause: error });
  }
}
