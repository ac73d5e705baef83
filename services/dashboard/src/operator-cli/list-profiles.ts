import type { ProviderProfile } from '@gateway/contracts/operator';
import type { Program } from './program.js';
import { readOptions } from './program.js';
import { table } from './words.js';

/** `providers profiles`: lists the known kinds of providers. */
export const LIST_PROFILES: Program = {
  name: ['providers', 'profiles'],
  form: 'providers profiles',
  async run({ fields, api, to }) {
    readOptions(fields, { flags: [], values: [] });
    const { data } = await api.get<{ data: ProviderProfile[] }>('/profiles');
    const rows = data.map(({ id, name, base, parameters, keyVariable, endpoints }) => [
      id,
      name,
      base ?? 'baseUrl is needed',
      Object.keys(parameters).join(' ') || '-',
      keyVariable ?? '-',
      Object.keys(endpoints)
        .map((endpoint) => endpoint.replace('/v1/', ''))
        .join(' '),
    ]);
    to.out(table([['PROFILE', 'NAME', 'ADDRESS', 'PARAMETERS', 'KEY', 'ENDPOINTS'], ...rows]));
    return 0;
  },
};
