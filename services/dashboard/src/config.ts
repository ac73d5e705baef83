import { COMMON_FIELDS, field, portField, type ConfigOf } from '@gateway/service-kit';

/**
 * What the dashboard reads of its environment (interfaces, Environment). The operator API listens on the loopback address
 * unless GATEWAY_OPERATOR_HOST says otherwise: whoever reaches it needs nothing but a token.
 */
export const DASHBOARD_FIELDS = {
  GATEWAY_OPERATOR_HOST: field.string({ doc: 'address on which the operator API listens', default: '127.0.0.1' }),
  GATEWAY_OPERATOR_PORT: portField('port of the operator API', 8_082),
  GATEWAY_NATS_URL: COMMON_FIELDS.GATEWAY_NATS_URL,
  GATEWAY_KEY_PREFIXES: COMMON_FIELDS.GATEWAY_KEY_PREFIXES,
  GATEWAY_KEY_PEPPER: COMMON_FIELDS.GATEWAY_KEY_PEPPER,
  GATEWAY_CREDENTIALS_KEY: COMMON_FIELDS.GATEWAY_CREDENTIALS_KEY,
  GATEWAY_OPERATOR_TOKEN: COMMON_FIELDS.GATEWAY_OPERATOR_TOKEN,
} as const;

export type DashboardConfig = ConfigOf<typeof DASHBOARD_FIELDS>;
