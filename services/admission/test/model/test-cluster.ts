import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '@gateway/servers';
import { startTestRedis, temporaryDirectory, until } from '@gateway/testkit';

const SLOTS_TOTAL = 16_384;
const NODES = 3;

const LIBRARIES = 'LD_LIBRARY_PATH=';

interface Program {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface TestCluster {
  readonly ports: readonly number[];
  stop(): Promise<void>;
}

/** Starts three servers in cluster mode on loopback, each with a third of the slots. */
export async function startTestCluster(): Promise<TestCluster> {
  const directory = temporaryDirectory('cluster');
  const program = await findProgram();
  const nodes: { port: number; busPort: number; child: ChildProcess; redis: Redis }[] = [];
  const stop = async (): Promise<void> => {
    for (const { child, redis } of nodes) {
      redis.disconnect();
      const ended = child.exitCode === null ? new Promise((resolve) => child.once('exit', resolve)) : null;
      child.kill('SIGKILL');
      await ended;
    }
    directory.remove();
  };
  try {
    for (let node = 0; node < NODES; node += 1) {
      const port = await freePort();
      // The default, 10,000 higher, is in the range of outgoing ports.
      const busPort = await freePort();
      const home = join(directory.path, String(node));
      mkdirSync(home);
      const child = startNode(program, port, busPort, home);
      nodes.push({ port, busPort, child, redis: new Redis(port, '127.0.0.1') });
      nodes.at(-1)?.redis.on('error', () => undefined);
    }
    for (const [index, { redis }] of nodes.entries()) {
      const from = Math.ceil((index * SLOTS_TOTAL) / NODES);
      const to = Math.ceil(((index + 1) * SLOTS_TOTAL) / NODES) - 1;
      await redis.call('cluster', 'addslotsrange', from, to);
      await redis.call('cluster', 'meet', '127.0.0.1', nodes[0]?.port ?? 0, nodes[0]?.busPort ?? 0);
    }
    await until('the cluster is whole', async () =>
      (await Promise.all(nodes.map(({ redis }) => isWhole(redis)))).every(Boolean),
    );
    return { ports: nodes.map(({ port }) => port), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function isWhole(redis: Redis): Promise<boolean> {
  const facts = String(await redis.call('cluster', 'info'));
  return facts.includes('cluster_state:ok') && facts.includes(`cluster_known_nodes:${NODES}`);
}

/** Finds the server program of the tests and its environment by inspecting a running server. */
async function findProgram(): Promise<Program> {
  // Only an own server has a `pid` that tests may read.
  const server = await startTestRedis({ own: true });
  const redis = new Redis(server.server.url);
  try {
    const facts = await redis.info('server');
    const path = /^executable:(.*)$/m.exec(facts)?.[1]?.trim();
    if (!path) throw new Error('the server does not tell its program');
    return { path, env: librariesOf(server.server.pid) };
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

/** Returns the library path of the running server, if it has one. */
function librariesOf(pid: number | null): Record<string, string> {
  try {
    const variables = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    const libraries = variables.find((variable) => variable.startsWith(LIBRARIES));
    return libraries ? { [LIBRARIES.slice(0, -1)]: libraries.slice(LIBRARIES.length) } : {};
  } catch {
    // On another system the servers were not downloaded and need no separate libraries.
    return {};
  }
}

function startNode({ path, env }: Program, port: number, busPort: number, home: string): ChildProcess {
  const settings = {
    port,
    bind: '127.0.0.1',
    dir: home,
    save: '',
    appendonly: 'no',
    'cluster-enabled': 'yes',
    'cluster-config-file': 'nodes.conf',
    'cluster-port': busPort,
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(path, args, { stdio: 'ignore', env: { ...process.env, ...env } });
  process.once('exit', () => child.kill('SIGKILL'));
  return child;
}
