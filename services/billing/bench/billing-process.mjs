// Controls and measures the billing process from outside: start and stop, committed events, CPU
// time of the process and of its database sessions.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { freePort } from '@gateway/servers';

/** Kernel ticks per second in /proc. */
const TICKS = 100;
const MAIN = new URL('../dist/main.js', import.meta.url).pathname;

/** Returns a handle that starts, stops and measures billing; `pool` lists the server's sessions. */
export async function measuredBilling({ natsUrl, postgresUrl, pool, profile }) {
  const port = await freePort();
  const flags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
  let child;
  const fetchText = (path) =>
    fetch(`http://127.0.0.1:${port}/${path}`)
      .then((answer) => answer.text())
      .catch(() => '');
  return {
    start() {
      child = spawn(process.execPath, [...flags, MAIN], {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: {
          ...process.env,
          GATEWAY_NATS_URL: natsUrl,
          GATEWAY_POSTGRES_URL: postgresUrl,
          GATEWAY_ADMIN_PORT: String(port),
          GATEWAY_REPLICA: 'bench',
          GATEWAY_WEBHOOK_PRIVATE_KEY: randomBytes(32).toString('hex'),
        },
      });
    },
    async stop() {
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
    },
    ready: async () => (await fetchText('readyz')).includes('"ready":true'),
    /** Returns the number of events that the running process has committed. */
    async settled() {
      const lines = (await fetchText('metrics')).split('\n');
      return lines
        .filter((line) => line.startsWith('gateway_billing_events_total{'))
        .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
    },
    /** Returns the CPU seconds of the process and of its database sessions. */
    async cpu() {
      const { rows } = await pool.query("SELECT pid FROM pg_stat_activity WHERE application_name = 'billing'");
      return { billing: cpuOf(child.pid), postgres: rows.reduce((total, { pid }) => total + cpuOf(pid), 0) };
    },
  };
}

function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

export async function until(condition, lookMs = 50) {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, lookMs));
}
