import { readlinkSync, writeFileSync } from 'node:fs';
import { freePort, startServers } from '@gateway/servers';

const NATS_VARIABLE = 'GATEWAY_NATS_BINARY';
const MODE_EXECUTABLE = 0o755;

/** A NATS program that also opens a monitoring port, which the local start does not ask for. */
export interface NatsMonitor {
  readonly program: string;
  readonly url: string;
}

/**
 * Where the program is that the local start takes: NATS is started for a moment, because only then
 * it has been fetched. Null: it is no program of this machine.
 */
export async function findNatsProgram(directory: string): Promise<string | null> {
  const { nats } = await startServers(['nats'], { stateDirectory: `${directory}/nats-found`, durable: false });
  try {
    return nats.pid === null ? null : readlinkSync(`/proc/${nats.pid}/exe`);
  } finally {
    await nats.stop();
  }
}

/**
 * Writes a program `<name>` that runs NATS as it is told, and with a monitoring port of its own.
 */
export async function writeMonitoredNats(program: string, directory: string, name: string): Promise<NatsMonitor> {
  const port = await freePort();
  const file = `${directory}/${name}`;
  writeFileSync(file, `#!/bin/sh\nexec '${program}' "$@" -m ${port}\n`, { mode: MODE_EXECUTABLE });
  return { program: file, url: `http://127.0.0.1:${port}` };
}

/** What `start` starts takes this NATS: the local start of every commit reads the variable. */
export async function withNats<T>(monitor: Pick<NatsMonitor, 'program'> | null, start: () => Promise<T>): Promise<T> {
  if (monitor !== null) process.env[NATS_VARIABLE] = monitor.program;
  try {
    return await start();
  } finally {
    delete process.env[NATS_VARIABLE];
  }
}
