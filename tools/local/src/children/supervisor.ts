import { freePort } from '@gateway/servers';
import type { Addresses } from '../addresses.js';
import { CLUSTER_ENV } from '../ha/topology.js';
import { type LocalService, type ProcessName, SERVICES, environmentOf, programOf } from '../processes.js';
import type { Secrets } from '../secrets.js';
import type { SystemOptions } from '../system-options.js';
import { Child, type ChildOptions } from './child.js';
import type { Restarter } from './restarter.js';

export interface SupervisorParts {
  readonly options: SystemOptions;
  readonly addresses: Addresses;
  readonly secrets: Secrets;
  /** Ports of the first replicas. Later replicas use free ports. */
  readonly firstPorts: Readonly<Record<'edge' | 'operator' | 'dashboard', number>>;
  readonly restarter: Restarter;
}

/** The replaced process, which still runs, and a function to stop it. */
export interface Replacement {
  readonly old: Child;
  /** Stops the old process: SIGTERM, after `graceMs` SIGKILL. */
  retire(graceMs: number): Promise<void>;
}

/** Time that an edge has to finish its calls when the local system stops. Then it aborts them. */
const DRAIN_MS = 10_000;
const STOP_GRACE_MS = 15_000;
/** Includes the time after the last call, in which an edge writes undelivered usage. */
const EDGE_STOP_GRACE_MS = DRAIN_MS + 20_000;
const STOP_ORDER: readonly ProcessName[] = [...SERVICES.slice(0, 1), 'provider-simulator', ...SERVICES.slice(1)];

/** Supervises the replicas of each service and the simulator, but not the servers. */
export class Supervisor {
  readonly #children = new Map<ProcessName, Child[]>();
  /** Number of replicas created per name, so that no replica name is used twice. */
  readonly #made = new Map<ProcessName, number>();
  readonly #retiring = new Set<Child>();

  private constructor(
    private readonly parts: SupervisorParts,
    private readonly simulatorPorts: readonly number[],
  ) {}

  /** Creates all processes without starting them. */
  static async make(parts: SupervisorParts): Promise<Supervisor> {
    const { ports, replicas = {} } = parts.options;
    const simulatorPorts = [ports?.['simulator-a'] || (await freePort()), ports?.['simulator-b'] || (await freePort())];
    const supervisor = new Supervisor(parts, simulatorPorts);
    for (const name of [...SERVICES, 'provider-simulator'] as const) {
      const children: Child[] = [];
      const count = name === 'provider-simulator' ? 1 : (replicas[name] ?? 1);
      while (children.length < count) children.push(await supervisor.#create(name));
      supervisor.#children.set(name, children);
    }
    return supervisor;
  }

  /** Waits until all processes are ready. Kills them if one fails or the signal is aborted. */
  async start(signal: AbortSignal | undefined): Promise<void> {
    const aborted = new Promise<never>((_resolve, reject) => {
      const onAbort = (): void => reject(new Error('start aborted'));
      if (signal?.aborted) onAbort();
      signal?.addEventListener('abort', onAbort, { once: true });
    });
    try {
      await Promise.race([Promise.all([...this.#children.values()].flat().map((child) => child.start())), aborted]);
    } catch (error) {
      await this.kill();
      throw error;
    }
  }

  /** The children of a name in replica order. */
  of(name: ProcessName): readonly Child[] {
    return this.#children.get(name) ?? [];
  }

  all(): [ProcessName, readonly Child[]][] {
    return [...this.#children];
  }

  get edgeUrls(): string[] {
    return this.of('edge-proxy').flatMap(({ options }) => options.url ?? []);
  }

  get operatorUrls(): string[] {
    return this.of('dashboard').flatMap(({ options }) => options.operatorUrl ?? []);
  }

  get providerUrls(): string[] {
    return this.simulatorPorts.map((port) => `http://127.0.0.1:${port}`);
  }

  /** Starts another process of the service. When it is ready, it takes the place at `index`. */
  async replace(name: LocalService, index: number): Promise<Replacement> {
    const old = this.of(name)[index];
    if (old === undefined) throw new Error(`there is no ${name} at index ${index}`);
    const next = await this.#create(name);
    this.#retiring.add(next);
    try {
      await next.start();
    } catch (error) {
      await next.stop(0, 'SIGKILL');
      throw error;
    } finally {
      this.#retiring.delete(next);
    }
    this.#children.set(name, this.of(name).with(index, next));
    this.#retiring.add(old);
    return {
      old,
      retire: async (graceMs) => {
        await old.stop(graceMs);
        this.#retiring.delete(old);
      },
    };
  }

  /** Stops first the edges, which finish their calls, then the processes that they depend on. */
  async stop(): Promise<void> {
    for (const name of STOP_ORDER) {
      const graceMs = name === 'edge-proxy' ? EDGE_STOP_GRACE_MS : STOP_GRACE_MS;
      await Promise.all(this.#running(name).map((child) => child.stop(graceMs)));
    }
  }

  /** Kills all processes at once. */
  async kill(): Promise<void> {
    await Promise.all(STOP_ORDER.flatMap((name) => this.#running(name)).map((child) => child.stop(0, 'SIGKILL')));
  }

  /** The children of a name and its replaced processes that still run. */
  #running(name: ProcessName): readonly Child[] {
    return [...this.of(name), ...[...this.#retiring].filter(({ options }) => options.name === name)];
  }

  async #create(name: ProcessName): Promise<Child> {
    const { options, addresses, secrets, restarter } = this.parts;
    const n = (this.#made.get(name) ?? 0) + 1;
    this.#made.set(name, n);
    const adminPort = await freePort();
    const { env, ...urls } = await this.#listeners(name, n);
    const service =
      name === 'provider-simulator'
        ? {}
        : { ...environmentOf(name, addresses, secrets, options.stateDirectory), GATEWAY_REPLICA: `${name}-${n}` };
    const child = new Child({
      name,
      n,
      onEnd: (how) => restarter.ended(`${name}-${n}`, how),
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
      ...urls,
      logFile: `${options.stateDirectory}/logs/${name}-${n}.jsonl`,
    });
    restarter.watch({ [`${name}-${n}`]: child });
    return child;
  }

  /** Returns the public addresses of a process and the variables that set them. */
  async #listeners(name: ProcessName, n: number): Promise<Pick<ChildOptions, 'url' | 'operatorUrl' | 'env'>> {
    const { firstPorts } = this.parts;
    const portOf = async (listener: keyof typeof firstPorts): Promise<number> =>
      n === 1 ? firstPorts[listener] : freePort();
    if (name === 'edge-proxy') {
      const port = await portOf('edge');
      const env = { GATEWAY_HOST: '127.0.0.1', GATEWAY_PORT: String(port), GATEWAY_DRAIN_MS: String(DRAIN_MS) };
      return { url: `http://127.0.0.1:${port}`, env };
    }
    if (name === 'dashboard') {
      const [port, operatorPort] = [await portOf('dashboard'), await portOf('operator')];
      const env = {
        GATEWAY_DASHBOARD_HOST: '127.0.0.1',
        GATEWAY_DASHBOARD_PORT: String(port),
        GATEWAY_OPERATOR_PORT: String(operatorPort),
      };
      return { url: `http://127.0.0.1:${port}`, operatorUrl: `http://127.0.0.1:${operatorPort}`, env };
    }
    return { env: name === 'provider-simulator' ? { GATEWAY_SIMULATOR_PORTS: this.simulatorPorts.join(',') } : {} };
  }
}
