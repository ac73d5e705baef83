import { AdmissionHost } from '../hosts/admission-host.js';
import { BillingHost } from '../hosts/billing-host.js';
import { EdgeHost } from '../hosts/edge-host.js';
import type { HostedProcess } from '../hosts/run-parts.js';
import type { World } from '../hosts/world.js';
import type { Host } from '../time/host.js';

const ROOMS = ['admission', 'billing', 'edge'] as const;
type Room = (typeof ROOMS)[number];

/** Number of processes of each service, if the scenario does not set it. */
export const PLACES = 2;

/** Starts, kills, disconnects and pauses processes at their places. */
export class Places {
  #starts = 0;

  constructor(private readonly world: World) {}

  startAll(): void {
    const { admissions, billings, edges } = this.world;
    const places = { admission: admissions.length, billing: billings.length, edge: edges.length };
    for (let place = 0; place < Math.max(...Object.values(places)); place += 1)
      for (const room of ROOMS) if (place < places[room]) this.#start(room, place);
  }

  /** Returns the live processes and the servers that can be cut off. */
  hosts(): Host[] {
    const { admissions, billings, edges, accounts, ledger, streams, server, network } = this.world;
    const hosted = [...admissions, ...billings, ...edges].flatMap((one) => (one === null ? [] : [one.host]));
    return [...hosted, accounts.host, ledger.host, streams.host, server.host, network.bus, network.heartbeats];
  }

  /** Kills a process and starts another one in its place after `restartMs`. */
  kill(host: Host, restartMs: number): void {
    const { admissions, billings, edges, truth, time } = this.world;
    for (const hosts of [admissions, billings, edges] as (HostedProcess | null)[][]) {
      const place = hosts.findIndex((one) => one?.host === host);
      const killed = hosts[place];
      if (!killed || !host.isAlive) continue;
      host.isAlive = false;
      killed.close();
      hosts[place] = null;
      if (hosts === edges) truth.edgeDied(time.now);
      const room = host.name.replace(/\d$/, '') as Room;
      time.in(null, restartMs, () => this.#start(room, place));
    }
  }

  /** Cuts off or pauses a host. The outage may last beyond the last act. */
  disturb(kind: 'cut' | 'hang', name: string, ms: number): void {
    const { time, edges, admissions, accounts, ledger, server, network } = this.world;
    const host = this.hosts().find((one) => one.name === name);
    if (host === undefined) return;
    if (kind === 'hang') host.hungUntil = time.now + ms;
    else {
      host.cutUntil = time.now + ms;
      // The tables of accounts are on the same server and cannot be reached either.
      if (host === ledger.host) accounts.host.cutUntil = Math.max(accounts.host.cutUntil, host.cutUntil);
      if (host === server.host) server.endConnections();
      time.in(null, ms, () => {
        for (const one of [...edges, ...admissions]) if (one?.host === host || host === network.bus) one?.reconnected();
      });
    }
  }

  /** Kills all replicas of admission at once. Others start after `ms`. */
  takeAdmissionsAway(ms: number): void {
    for (const one of [...this.world.admissions]) if (one !== null) this.kill(one.host, ms);
  }

  #start(room: Room, place: number): void {
    const { world } = this;
    this.#starts += 1;
    switch (room) {
      case 'admission':
        world.admissions[place] = new AdmissionHost(world, place, this.#starts);
        return;
      case 'billing':
        world.billings[place] = new BillingHost(world, place);
        return;
      case 'edge':
        world.edges[place] = new EdgeHost(world, place, this.#starts);
    }
  }
}
