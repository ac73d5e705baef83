import { field } from '@gateway/service-kit';

/** Whether sources may be asked with what the process has from its cloud. */
export const CREDENTIAL_FIELDS = {
  GATEWAY_CLOUD_CREDENTIALS: field.list({
    doc: "clouds whose credentials of this process's surroundings (role, workload identity, metadata server, variables and files) sources without a credential of their own are asked with: aws, google, entra; none when not set",
    pattern: /^(aws|google|entra)$/,
    patternText: 'aws, google or entra',
    default: [],
  }),
} as const;
