import { COMMON_FIELDS, field } from '@gateway/service-kit';
import type { ServiceConfig } from '@gateway/service-kit';

/** More than a year, so that tests can pass every period. */
const CLOCK_OFFSET_MAX_MS = 400 * 86_400_000;
/** Minimum heartbeats per lease, so that one lost or late heartbeat does not end a lease. */
const HEARTBEATS_PER_LEASE_MIN = 3;
/** A gap of this many sweep pauses is a silence (docs/protocol.md#r9). A lease has to be longer. */
const SWEEPS_PER_LEASE_MIN = 3;

export const ADMISSION_FIELDS = {
  GATEWAY_NATS_URL: COMMON_FIELDS.GATEWAY_NATS_URL,
  GATEWAY_REDIS_URL: COMMON_FIELDS.GATEWAY_REDIS_URL,
  GATEWAY_LEASE_MS: COMMON_FIELDS.GATEWAY_LEASE_MS,
  GATEWAY_EXPIRY_MS: COMMON_FIELDS.GATEWAY_EXPIRY_MS,
  // Only used to check the lease.
  GATEWAY_HEARTBEAT_MS: COMMON_FIELDS.GATEWAY_HEARTBEAT_MS,
  GATEWAY_SWEEP_MS: COMMON_FIELDS.GATEWAY_SWEEP_MS,
  GATEWAY_USAGE_STREAM_BYTES: COMMON_FIELDS.GATEWAY_USAGE_STREAM_BYTES,
  GATEWAY_STREAM_REPLICAS: COMMON_FIELDS.GATEWAY_STREAM_REPLICAS,
  GATEWAY_CLOCK_OFFSET_MS: field.integer({
    doc: 'shift of the clock that decides; only with GATEWAY_TEST_CONTROLS',
    min: 0,
    max: CLOCK_OFFSET_MAX_MS,
    default: 0,
  }),
};

export type AdmissionConfig = ServiceConfig<typeof ADMISSION_FIELDS>;

/** Returns problems between fields. Each begins with the name of a variable. */
export function checkConfig(config: AdmissionConfig): string[] {
  const problems: string[] = [];
  if (config.GATEWAY_CLOCK_OFFSET_MS !== 0 && !config.GATEWAY_TEST_CONTROLS) {
    problems.push('GATEWAY_CLOCK_OFFSET_MS is a test control: it needs GATEWAY_TEST_CONTROLS=on');
  }
  const redisUrl = config.GATEWAY_REDIS_URL.reveal();
  if (redisUrl.includes(',') && !redisUrl.startsWith('redis+sentinel:')) {
    problems.push(
      'GATEWAY_REDIS_URL names several servers, like those of a cluster: give one server without cluster mode, or Sentinels',
    );
  }
  if (config.GATEWAY_EXPIRY_MS < config.GATEWAY_LEASE_MS) {
    problems.push(
      'GATEWAY_EXPIRY_MS must not be shorter than GATEWAY_LEASE_MS: a call would expire with its slot taken',
    );
  }
  if (config.GATEWAY_LEASE_MS < HEARTBEATS_PER_LEASE_MIN * config.GATEWAY_HEARTBEAT_MS) {
    problems.push(
      'GATEWAY_LEASE_MS must be at least three times GATEWAY_HEARTBEAT_MS, as it is set for the edges: otherwise running calls lose their slots',
    );
  }
  if (config.GATEWAY_LEASE_MS <= SWEEPS_PER_LEASE_MIN * config.GATEWAY_SWEEP_MS) {
    problems.push(
      'GATEWAY_SWEEP_MS must be below a third of GATEWAY_LEASE_MS: otherwise a gap in heartbeats is not detected',
    );
  }
  return problems;
}
