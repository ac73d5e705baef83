import { spawn } from 'node:child_process';

/** Last bytes of a tool's standard error for the error message. */
const OUTPUT_BYTES_MAX = 8_192;

/**
 * Runs pg_dump or pg_restore on the database of a URL. The environment carries the password,
 * because all users of the machine can see arguments. A CA for Node also applies to the tool.
 * Rejects with the output of the tool.
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
  let output = '';
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (text: string) => {
    output = (output + text).slice(-OUTPUT_BYTES_MAX);
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`${program} ended with ${code ?? 'a signal'}: ${output.trim()}`);
}
