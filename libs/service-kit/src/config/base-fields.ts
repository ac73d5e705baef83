import { COMMON_FIELDS } from './common-fields.js';
import type { ConfigFields, ConfigOf } from './config.js';

/** Read by every service, in addition to its own fields. */
export const BASE_FIELDS = {
  GATEWAY_LOG_LEVEL: COMMON_FIELDS.GATEWAY_LOG_LEVEL,
  GATEWAY_ADMIN_HOST: COMMON_FIELDS.GATEWAY_ADMIN_HOST,
  GATEWAY_ADMIN_PORT: COMMON_FIELDS.GATEWAY_ADMIN_PORT,
  GATEWAY_REPLICA: COMMON_FIELDS.GATEWAY_REPLICA,
  GATEWAY_TEST_CONTROLS: COMMON_FIELDS.GATEWAY_TEST_CONTROLS,
  GATEWAY_TIMEOUT_MIN_MS: COMMON_FIELDS.GATEWAY_TIMEOUT_MIN_MS,
  GATEWAY_TRACE_RATIO: COMMON_FIELDS.GATEWAY_TRACE_RATIO,
  OTEL_EXPORTER_OTLP_ENDPOINT: COMMON_FIELDS.OTEL_EXPORTER_OTLP_ENDPOINT,
};

/** The configuration of a service: its own fields and the base fields. */
export type ServiceConfig<S extends ConfigFields> = ConfigOf<S> & ConfigOf<typeof BASE_FIELDS>;

/**
 * Rejects test controls on a reachable address, because they shift the clock that money depends on
 * (docs/protocol.md#time), and those that are set without GATEWAY_TEST_CONTROLS.
 */
export function testControlProblems(config: ConfigOf<typeof BASE_FIELDS>): string[] {
  if (!config.GATEWAY_TEST_CONTROLS) {
    const isLonger = config.GATEWAY_TIMEOUT_MIN_MS > 0;
    return isLonger ? ['GATEWAY_TIMEOUT_MIN_MS is a test control: it needs GATEWAY_TEST_CONTROLS=on'] : [];
  }
  if (isLoopback(config.GATEWAY_ADMIN_HOST)) return [];
  return ['GATEWAY_TEST_CONTROLS can be on only while GATEWAY_ADMIN_HOST is a loopback address'];
}

/** Reports whether a listener on `host` is reachable from this machine only. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
