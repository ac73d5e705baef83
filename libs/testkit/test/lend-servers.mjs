// Jest calls it before the first and after the last suite of a run. Plain JavaScript on `dist`: it
// is loaded before any transform exists.
import { existsSync } from 'node:fs';

const DIST = new URL('../dist/', import.meta.url);
let lender;

export default async function lendDuringRun() {
  if (lender !== undefined) {
    await lender.stop();
    lender = undefined;
    return;
  }
  if (!existsSync(DIST)) throw new Error('servers of tests are compiled code: npx tsc -b libs/testkit');
  const [{ lendServers }, { LENDER_VARIABLE }] = await Promise.all([
    import(new URL('lend-servers.js', DIST).href),
    import(new URL('borrow-server.js', DIST).href),
  ]);
  lender = await lendServers();
  process.env[LENDER_VARIABLE] = lender.path;
}
