import { COMMON_FIELDS } from '@gateway/service-kit';

/** What this service reads beside the fields of every service. */
export const CONFIG_FIELDS = {
  GATEWAY_NATS_URL: COMMON_FIELDS.GATEWAY_NATS_URL,
  GATEWAY_POSTGRES_URL: COMMON_FIELDS.GATEWAY_POSTGRES_URL,
  GATEWAY_TEAMS_ENABLED: COMMON_FIELDS.GATEWAY_TEAMS_ENABLED,
};
