import { spawn } from 'node:child_process';

/** Of what a tool says on standard error, bytes kept for the reader. */
const SAID_BYTES_MAX = 8_192;

/**
 * Runs pg_dump or pg_restore on the database of a URL. The password goes by the environment: arguments are seen by everybody on
 * the machine. An authority that Node was given counts for the tool too. Rejects with what the tool said.
 */
export async function runPostgresTool(program: string, args: readonly string[], databaseUrl: string): Promise<void> {
  const url = new URL(databaseUrl);
  const password = decodeURIComponent(url.password);
  url.password = '';
  const authority = process.env['NODE_EXTRA_CA_CERTS'];
  const env = {
    ...process.env,
    PGPASSWORD: password,
    ...(authority === undefined ? {} : { PGSSLROOTCERT: process.env['PGSSLROOTCERT'] ?? authority }),
  };
  const child = spawn(program, [...args, `--dbname=${url.href}`], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text: string) => {
    said = (said + text).slice(-SAID_BYTES_MAX);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`${program} ended with ${code ?? 'a signal'}: ${said.trim()}`);
}
