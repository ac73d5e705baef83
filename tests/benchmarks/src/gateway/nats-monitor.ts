import { readlinkSync, writeFileSync } from 'node:fs';
import { freePort, startServers } from '@gateway/servers';

const NATS_VARIABLE = 'GATEWAY_NATS_BINARY';
const MODE_EXECUTABLE = 0o755;

/** A NATS program that also opens a monitoring port, which the local start does not do. */
export interface NatsMonitor {
  readonly program: string;
  readonly url: string;
}

/**
 * Finds the NATS program that the local start uses. Starts NATS briefly, because the program may
 * have to be downloaded first. Null if NATS does not run as a process of this machine.
 */
export async function findNatsProgram(directory: string): Promise<string | null> {
  const { nats } = await startServers(['nats'], { stateDirectory: `${directory}/nats-found`, durable: false });
  try {
    return nats.pid === null ? null : readlinkSync(`/proc/${nats.pid}/exe`);
  } finally {
    await nats.stop();
  }
}

/** Writes a program `<name>` that runs NATS with an additional monitoring port. */
export async function writeMonitoredNats(program: string, directory: string, name: string): Promise<NatsMonitor> {
  const port = await freePort();
  const file = `${directory}/${name}`;
  writeFileSync(file, `#!/bin/sh\nexec '${program}' "$@" -m ${port}\n`, { mode: MODE_EXECUTABLE });
  return { program: file, url: `http://127.0.0.1:${port}` };
}

/** Runs `start` with this NATS program: the local start of every commit reads the variable. */
export async function withNats<T>(program: string | null, start: () => Promise<T>): Promise<T> {
  if (program !== null) process.env[NATS_VARIABLE] = program;
  try {
    return await start();
  } finally {
    delete process.env[NATS_VARIABLE];
  }
}
