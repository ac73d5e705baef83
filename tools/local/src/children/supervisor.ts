import { freePort } from '@gateway/servers';
import type { Addresses } from '../addresses.js';
import { CLUSTER_ENV } from '../ha/topology.js';
import { type LocalService, type ProcessName, SERVICES, environmentOf, programOf } from '../processes.js';
import type { Secrets } from '../secrets.js';
import type { SystemOptions } from '../system-options.js';
import { Child } from './child.js';

export interface SupervisorParts {
  readonly options: SystemOptions;
  readonly addresses: Addresses;
  readonly secrets: Secrets;
  readonly ports: OuterPorts;
  /** Receives a line when a ready child dies and when it is ready again. */
  readonly onChange: (text: string) => void;
}

/** The replaced process, which still runs, and a function to stop it. */
export interface Replacement {
  readonly old: Child;
  /** Stops the old process: SIGTERM, after `graceMs` SIGKILL. */
  retire(graceMs: number): Promise<void>;
}

interface Member {
  readonly child: Child;
  /** Public address; null unless the process is an edge or a dashboard. */
  readonly url: string | null;
  /** Address of the operator API; null unless the process is a dashboard. */
  readonly operatorUrl: string | null;
}

/** Time that an edge has to finish its calls when the local system stops. Then it aborts them. */
export const DRAIN_MS = 10_000;

/** Supervises the replicas of each service and the simulator, but not the servers. */
export class Supervisor {
  readonly #parts: SupervisorParts;
  readonly #simulatorPorts: readonly [number, number];
  readonly #members = new Map<ProcessName, Member[]>();
  /** Number of replicas created per name, so that no replica name is used twice. */
  readonly #made = new Map<ProcessName, number>();
  readonly #retiring = new Set<Child>();

  private constructor(parts: SupervisorParts, simulatorPorts: readonly [number, number]) {
    this.#parts = parts;
    this.#simulatorPorts = simulatorPorts;
  }

  /** Creates all processes without starting them. */
  static async make(parts: SupervisorParts): Promise<Supervisor> {
    const { ports, replicas } = parts.options;
    const supervisor = new Supervisor(parts, [
      ports?.['simulator-a'] || (await freePort()),
      ports?.['simulator-b'] || (await freePort()),
    ]);
    for (const service of SERVICES) {
      while (supervisor.of(service).length < replicas[service])
        supervisor.#list(service).push(await supervisor.#member(service));
    }
    supervisor.#list('provider-simulator').push(await supervisor.#member('provider-simulator'));
    return supervisor;
  }

  /** The children of a name in replica order. */
  of(name: ProcessName): readonly Child[] {
    return this.#list(name).map(({ child }) => child);
  }

  all(): [ProcessName, readonly Child[]][] {
    return [...this.#members.keys()].map((name) => [name, this.of(name)]);
  }

  get edgeUrls(): string[] {
    return this.#list('edge-proxy').flatMap(({ url }) => url ?? []);
  }

  get operatorUrls(): string[] {
    return this.#list('dashboard').flatMap(({ operatorUrl }) => operatorUrl ?? []);
  }

  get providerUrls(): string[] {
    return this.#simulatorPorts.map((port) => `http://127.0.0.1:${port}`);
  }

  /** The children of a name and its replaced processes that still run. */
  withRetiring(name: ProcessName): readonly Child[] {
    return [...this.of(name), ...[...this.#retiring].filter((child) => child.name === name)];
  }

  /** Starts another process of the service. When it is ready, it takes the place at `index`. */
  async replace(name: LocalService, index: number): Promise<Replacement> {
    const old = this.of(name)[index];
    if (old === undefined) throw new Error(`there is no ${name} at index ${index}`);
    const next = await this.#member(name);
    this.#retiring.add(next.child);
    try {
      await next.child.start();
    } catch (error) {
      await next.child.stop(0, 'SIGKILL');
      throw error;
    } finally {
      this.#retiring.delete(next.child);
    }
    this.#list(name)[index] = next;
    this.#retiring.add(old);
    return {
      old,
      retire: async (graceMs) => {
        await old.stop(graceMs);
        this.#retiring.delete(old);
      },
    };
  }

  #list(name: ProcessName): Member[] {
    const list = this.#members.get(name) ?? [];
    this.#members.set(name, list);
    return list;
  }

  async #member(name: ProcessName): Promise<Member> {
    const { options, addresses, secrets, onChange } = this.#parts;
    const n = (this.#made.get(name) ?? 0) + 1;
    this.#made.set(name, n);
    const adminPort = await freePort();
    const { env, ...urls } = await this.#listeners(name);
    const service =
      name === 'provider-simulator'
        ? {}
        : { ...environmentOf(name, addresses, secrets, options.stateDirectory), GATEWAY_REPLICA: `${name}-${n}` };
    const child = new Child({
      name,
      n,
      onChange,
      program: programOf(name),
      env: {
        ...process.env,
        GATEWAY_ADMIN_PORT: String(adminPort),
        ...service,
        ...env,
        ...(options.ha === true ? CLUSTER_ENV : {}),
        ...options.env,
      },
      adminUrl: `http://127.0.0.1:${adminPort}`,
      logFile: `${options.stateDirectory}/logs/${name}-${n}.jsonl`,
    });
    return { child, ...urls };
  }

  /** Returns the public addresses of a process and the variables that set them. */
  async #listeners(name: ProcessName): Promise<Omit<Member, 'child'> & { readonly env: Record<string, string> }> {
    const { ports } = this.#parts;
    switch (name) {
      case 'edge-proxy': {
        const port = await takePort(ports.edge);
        const env = { GATEWAY_HOST: '127.0.0.1', GATEWAY_PORT: String(port), GATEWAY_DRAIN_MS: String(DRAIN_MS) };
        return { url: `http://127.0.0.1:${port}`, operatorUrl: null, env };
      }
      case 'dashboard': {
        const port = await takePort(ports.dashboard);
        const operatorPort = await takePort(ports.operator);
        const env = {
          GATEWAY_DASHBOARD_HOST: '127.0.0.1',
          GATEWAY_DASHBOARD_PORT: String(port),
          GATEWAY_OPERATOR_PORT: String(operatorPort),
        };
        return { url: `http://127.0.0.1:${port}`, operatorUrl: `http://127.0.0.1:${operatorPort}`, env };
      }
      case 'provider-simulator':
        return { url: null, operatorUrl: null, env: { GATEWAY_SIMULATOR_PORTS: this.#simulatorPorts.join(',') } };
      default:
        return { url: null, operatorUrl: null, env: {} };
    }
  }
}

/** Ports reserved for the first replicas. Later replicas use free ports. */
export interface OuterPorts {
  readonly edge: number[];
  readonly operator: number[];
  readonly dashboard: number[];
}

export async function makeOuterPorts({ port, operatorPort, dashboardPort }: SystemOptions): Promise<OuterPorts> {
  const first = async (preferred: number | undefined): Promise<number[]> => [preferred || (await freePort())];
  return { edge: await first(port), operator: await first(operatorPort), dashboard: await first(dashboardPort) };
}

/** Returns the reserved port if it is unused, else a free one. */
export async function takePort(ports: number[]): Promise<number> {
  return ports.shift() ?? freePort();
}

const STOP_ORDER: readonly ProcessName[] = [...SERVICES.slice(0, 1), 'provider-simulator', ...SERVICES.slice(1)];
const STOP_GRACE_MS = 15_000;
/** Includes the time after the last call, in which an edge writes undelivered usage. */
const EDGE_STOP_GRACE_MS = DRAIN_MS + 20_000;

/** Stops first the edges, which finish their calls, then the processes that they depend on. */
export async function stopProcesses(supervisor: Supervisor): Promise<void> {
  for (const name of STOP_ORDER) {
    await Promise.all(
      supervisor
        .withRetiring(name)
        .map((child) => child.stop(name === 'edge-proxy' ? EDGE_STOP_GRACE_MS : STOP_GRACE_MS)),
    );
  }
}

/** Kills all processes at once. */
export async function killProcesses(supervisor: Supervisor): Promise<void> {
  await Promise.all(
    STOP_ORDER.flatMap((name) => supervisor.withRetiring(name)).map((child) => child.stop(0, 'SIGKILL')),
  );
}
