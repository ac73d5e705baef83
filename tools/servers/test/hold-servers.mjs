// Starts servers from the built package, prints {url, pid, version} of each as one line of JSON,
// and runs until it is ended. Arguments: state directory, resolvers, server names separated by
// commas.
import { startServers } from '../dist/index.js';

const [stateDirectory, resolvers, names] = process.argv.slice(2);
const servers = await startServers(names.split(','), {
  stateDirectory,
  env: { ...process.env, GATEWAY_SERVER_SOURCES: resolvers },
  postgres: { superuserPassword: 'held' },
  durable: resolvers === 'docker',
});
const shown = Object.values(servers).map(({ name, url, pid, version }) => ({ name, url, pid, version }));
process.stdout.write(`${JSON.stringify(shown)}\n`);
process.stdin.resume();
process.stdin.once('end', () => {
  void Promise.all(Object.values(servers).map((server) => server.stop())).then(() => process.exit(0));
});
