import pg from 'pg';
import { ProbeRefused } from './server-kind.js';
import type { ProbeResult } from './server-kind.js';

/** invalid_password, invalid_authorization_specification, invalid_catalog_name */
const FINAL_CODES = new Set(['28P01', '28000', '3D000']);

/** Reads a server's version and identity: the data directory, visible to superusers. */
export async function probePostgres(url: string, timeoutMs: number): Promise<ProbeResult> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    application_name: 'gateway-servers',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    const result = await client.query<{ version: string; directory: string | null }>(
      `SELECT current_setting('server_version') AS version,
              CASE WHEN pg_has_role('pg_read_all_settings', 'MEMBER') THEN current_setting('data_directory') END AS directory`,
    );
    const row = result.rows[0];
    return { version: row?.version.split(' ')[0] ?? 'unknown', identity: row?.directory ?? '' };
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (typeof code === 'string' && FINAL_CODES.has(code)) throw new ProbeRefused((error as Error).message);
    throw error;
  } finally {
    await client.end().catch(() => undefined);
  }
}
