import { AdmissionHost } from '../hosts/admission-host.js';
import { BillingHost } from '../hosts/billing-host.js';
import { EdgeHost } from '../hosts/edge-host.js';
import type { HostedProcess } from '../hosts/run-parts.js';
import type { World } from '../hosts/world.js';
import type { Host } from '../time/host.js';

const SERVICES = ['admission', 'billing', 'edge'] as const;
type Service = (typeof SERVICES)[number];

/** Starts, kills, disconnects and pauses processes at their places. */
export class Places {
  #starts = 0;

  constructor(private readonly world: World) {}

  startAll(): void {
    for (const place of this.world.edges.keys()) for (const service of SERVICES) this.#start(service, place);
  }

  /** Returns the live processes and the servers that can be cut off. */
  hosts(): Host[] {
    const { admissions, billings, edges, accounts, ledger, streams, server, network } = this.world;
    const hosted = [...admissions, ...billings, ...edges].flatMap((one) => one?.host ?? []);
    return [...hosted, accounts.host, ledger.host, streams.host, server.host, network.bus, network.heartbeats];
  }

  /** Kills a process and starts another one in its place after `restartMs`. */
  kill(host: Host, restartMs: number): void {
    const { admissions, billings, edges, truth, time } = this.world;
    for (const hosted of [admissions, billings, edges] as (HostedProcess | null)[][]) {
      const place = hosted.findIndex((one) => one?.host === host);
      if (place === -1 || !host.isAlive) continue;
      host.isAlive = false;
      hosted[place] = null;
      truth.hasCrash ||= hosted === edges;
      const service = host.name.replace(/\d$/, '') as Service;
      time.in(null, restartMs, () => this.#start(service, place));
    }
  }

  /** Cuts off or pauses a host. The outage may last beyond the last act. */
  disturb(kind: 'cut' | 'hang', name: string, ms: number): void {
    const { time, edges, admissions, accounts, ledger, server, network } = this.world;
    const host = this.hosts().find((one) => one.name === name);
    if (host === undefined) return;
    const until = time.now + ms;
    if (kind === 'hang') {
      host.hungUntil = until;
      return;
    }
    host.cutUntil = until;
    // The tables of accounts are on the same server and cannot be reached either.
    if (host === ledger.host) accounts.host.cutUntil = Math.max(accounts.host.cutUntil, until);
    if (host === server.host) server.endConnections();
    time.in(null, ms, () => {
      for (const one of [...edges, ...admissions]) if (one?.host === host || host === network.bus) one?.reconnected();
    });
  }

  /** Kills all replicas of admission at once. Others start after `ms`. */
  takeAdmissionsAway(ms: number): void {
    for (const one of [...this.world.admissions]) if (one !== null) this.kill(one.host, ms);
  }

  #start(service: Service, place: number): void {
    const { world } = this;
    this.#starts += 1;
    if (service === 'admission') world.admissions[place] = new AdmissionHost(world, place, this.#starts);
    else if (service === 'billing') world.billings[place] = new BillingHost(world, place);
    else world.edges[place] = new EdgeHost(world, place, this.#starts);
  }
}
