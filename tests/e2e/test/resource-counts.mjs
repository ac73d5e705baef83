// Loaded before a watched service. On SIGUSR2 it collects garbage and writes the memory and open
// resources of the process to `E2E_RESOURCES_DIRECTORY/<replica>.json`.
import { renameSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const { E2E_RESOURCES_DIRECTORY: directory, GATEWAY_REPLICA: replica } = process.env;

if (directory !== undefined && replica !== undefined) {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc');
  process.on('SIGUSR2', () => {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    const resources = {};
    for (const name of process.getActiveResourcesInfo()) resources[name] = (resources[name] ?? 0) + 1;
    const file = `${directory}/${replica}.json`;
    writeFileSync(`${file}.new`, JSON.stringify({ heapUsed, external, resources }));
    renameSync(`${file}.new`, file);
  });
}
