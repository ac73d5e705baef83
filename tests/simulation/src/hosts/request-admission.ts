import type { AdmissionBatch, AdmissionBatchReply, BusClient } from '@gateway/edge-proxy/ports.js';
import { onWire } from '../network/network.js';
import type { Host } from '../time/host.js';
import { anyOf, type RunParts } from './run-parts.js';

type On = Parameters<BusClient['requestAdmission']>[1];
type To = Parameters<BusClient['requestAdmission']>[2];

/** Sends a batch and delivers its responses until it is closed or times out. */
export function requestAdmission(
  world: RunParts,
  host: Host,
  batch: AdmissionBatch,
  on: On,
  to: To,
): { close(): void } {
  const { time, network, truth } = world;
  truth.releasing(batch.releases);
  let isOpen = true;
  const fault = (code: string): void => {
    if (!isOpen) return;
    isOpen = false;
    on.fault(code);
  };
  const late = time.in(host, to.timeoutMs, () => fault('timeout'));
  const close = (): void => {
    isOpen = false;
    late.isCancelled = true;
  };
  const asked = pick(world, to.replica);
  if (network.isCut(host)) time.in(host, 0, () => fault('disconnected'));
  else if (asked === null) time.in(host, 0, () => fault('no_responders'));
  else {
    network.post(host, asked.host, () => {
      const answer = (said: AdmissionBatchReply): void => {
        const sent = onWire(said);
        network.post(asked.host, host, () => {
          if (!isOpen) return;
          truth.answered(sent.answers);
          on.answer(sent);
        });
      };
      asked.admission
        .batch(onWire(batch), answer)
        .catch((error: unknown) => truth.unforeseen('an admission batch failed', error));
    });
  }
  return { close };
}

/** Returns the named replica if it is alive. Without a name, returns any replica. */
function pick(world: RunParts, replica: string | undefined) {
  if (replica === undefined) return anyOf(world, world.admissions);
  const named = world.admissions.find((one) => one !== null && one.name === replica && one.host.isAlive);
  return named ?? null;
}
