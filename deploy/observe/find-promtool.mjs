// Prints the path of promtool: the system's, or Debian's package, which it downloads once into
// `.infra/` (without root). Exits with 3 if neither is available.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const PLACE = fileURLToPath(new URL('../../.infra/prometheus', import.meta.url));
const NOT_HERE = 3;

if (spawnSync('promtool', ['--version'], { stdio: 'ignore' }).status === 0) {
  console.log('promtool');
} else {
  try {
    if (!existsSync(`${PLACE}/promtool`)) await fetchIt();
    if (spawnSync(`${PLACE}/promtool`, ['--version'], { stdio: 'ignore' }).status !== 0)
      throw new Error('it does not run');
    console.log(`${PLACE}/promtool`);
  } catch (error) {
    console.error(`promtool is not to be had here: ${error.message}`);
    process.exit(NOT_HERE);
  }
}

/** Of 300 MB that the package unpacks to, one program is kept. */
async function fetchIt() {
  for (const tool of ['/usr/bin/apt-get', '/usr/bin/dpkg-deb']) {
    if (!existsSync(tool)) throw new Error(`this system has no ${tool}`);
  }
  const { fetchDebianPackages } = await import('@gateway/servers');
  const silent = () => undefined;
  await fetchDebianPackages(['prometheus'], PLACE, silent, async (draft) => {
    await rename(`${draft}/usr/bin/promtool`, `${draft}/promtool`);
    for (const name of await readdir(draft)) if (name !== 'promtool') await rm(`${draft}/${name}`, { recursive: true });
    return null;
  });
}
