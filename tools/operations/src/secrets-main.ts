// `npm run -s secrets -- keys`: prints new key pairs for the credentials of sources and the secrets
// of webhooks, one variable per line. `-- compose DIRECTORY`: creates the secret files of
// docker-compose.yml. `-- kubernetes`: prints, writes or applies the Secrets of the chart. Existing
// values are kept, and only a requested output contains secrets.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runAsCommand } from '@gateway/service-kit';
import { stringify } from 'yaml';
import { applyManifests, readCluster } from './secrets/cluster.js';
import {
  clusterConsumers,
  evaluationUrls,
  externalSecretManifests,
  secretManifests,
  type Manifest,
} from './secrets/kubernetes-rules.js';
import { makeSealingKeys, makeSecrets, type MadeSecrets, type Secrets } from './secrets/make-secrets-rules.js';
import { rotateSecret } from './secrets/rotate-rules.js';
import { readOwners, readSecretFiles, writeSecretFiles } from './secrets/secret-files.js';
import { SERVER_COMMANDS } from './secrets/server-commands-rules.js';

const USAGE = `usage: secrets keys
       secrets compose DIRECTORY [--owner UID] [--owner CONSUMER=UID …] [--smtp URL]
       secrets kubernetes --namespace NAME [--release NAME] [--postgres URL] [--nats URL] [--redis URL] [--smtp URL]
               [--from DIRECTORY | --from cluster] [--output DIRECTORY | --apply | --print sql|nats|redis]
               [--external-secrets STORE] [--rotate VARIABLE]`;
/** Host names in docker-compose.yml. */
const COMPOSE_URLS = {
  postgres: 'postgres://postgres:5432/gateway',
  nats: 'nats://nats:4222',
  redis: 'redis://redis:6379',
};
const MANIFEST_MODE = 0o600;

await runAsCommand(() => {
  const [command, ...args] = process.argv.slice(2);
  if (command === 'keys' && args.length === 0) {
    for (const [name, value] of Object.entries(makeSealingKeys())) console.log(`${name}=${value}`);
  } else if (command === 'compose') compose(args);
  else if (command === 'kubernetes') kubernetes(args);
  else throw new Error(USAGE);
  return Promise.resolve(0);
});

function compose(args: string[]): void {
  const { values, positionals } = parse(() =>
    parseArgs({
      args,
      allowPositionals: true,
      options: { owner: { type: 'string', multiple: true, default: [] }, smtp: { type: 'string' } },
    }),
  );
  const [directory, ...more] = positionals;
  if (directory === undefined || more.length > 0) throw new Error(USAGE);
  const owners = readOwners(values.owner);
  const made = makeSecrets(readSecretFiles(directory), { urls: COMPOSE_URLS, smtp: values.smtp, random: randomBytes });
  writeIn(directory, () => writeSecretFiles(directory, made, owners));
  report(made, `in ${directory}`);
  console.error(`the operator's token is in ${directory}/operator/GATEWAY_OPERATOR_TOKEN`);
}

function kubernetes(args: string[]): void {
  const text = { type: 'string' } as const;
  const { values } = parse(() =>
    parseArgs({
      args,
      options: {
        namespace: text,
        release: { ...text, default: 'gateway' },
        postgres: text,
        nats: text,
        redis: text,
        smtp: text,
        from: text,
        output: { ...text, default: '-' },
        apply: { type: 'boolean', default: false },
        print: text,
        'external-secrets': text,
        rotate: text,
      },
    }),
  );
  const { namespace, output, apply, print, 'external-secrets': store } = values;
  const isDirectory = output !== '-';
  const printer = print === undefined ? undefined : SERVER_COMMANDS[print as keyof typeof SERVER_COMMANDS];
  if (namespace === undefined || (print !== undefined && printer === undefined)) throw new Error(USAGE);
  if ([isDirectory, apply, print !== undefined].filter(Boolean).length > 1) throw new Error(USAGE);
  const from = values.from ?? (apply && store === undefined ? 'cluster' : isDirectory ? output : undefined);
  if ((print !== undefined || store !== undefined) && from === undefined) {
    throw new Error('the new values would be lost: name their directory with --output or --from');
  }
  const found: Secrets = from === undefined ? {} : from === 'cluster' ? readCluster(namespace) : readSecretFiles(from);
  const { kept, moved } = values.rotate === undefined ? { kept: found, moved: [] } : rotateSecret(found, values.rotate);
  if (values.postgres !== undefined && !/^[a-z]+:\/\/[^:@/]+:[^@/]+@/.test(values.postgres)) {
    throw new Error(
      '--postgres needs the user that migrates and its password: postgres://user:password@host:5432/database',
    );
  }
  const urls = evaluationUrls(values.release);
  const { postgres = urls.postgres, nats = urls.nats, redis = urls.redis } = values;
  const fresh = makeSecrets(kept, {
    urls: { postgres, nats, redis },
    smtp: values.smtp,
    random: randomBytes,
    consumers: clusterConsumers(values.postgres !== undefined),
  });
  const made = { ...fresh, created: [...fresh.created, ...moved] };
  if (printer !== undefined) {
    if (made.created.length > 0) throw new Error(`${from} does not have: ${made.created.join(', ')}`);
    process.stdout.write(printer(made.secrets));
    return;
  }
  const manifests =
    store === undefined
      ? secretManifests(namespace, made.secrets)
      : externalSecretManifests(namespace, made.secrets, store);
  if (isDirectory) {
    writeIn(output, () => {
      writeSecretFiles(output, made, readOwners([]));
      writeFileSync(`${output}/manifests.yaml`, yamlOf(manifests), { mode: MANIFEST_MODE });
    });
  } else if (apply) applyManifests(manifests);
  else process.stdout.write(yamlOf(manifests));
  report(made, isDirectory ? `in ${output}` : `for the namespace ${namespace}`);
}

/** @throws Error with a remedy if the directory cannot be written, as in a container's own files */
function writeIn(directory: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (!['EROFS', 'EACCES', 'EPERM'].includes(code ?? '')) throw error;
    const place = resolve(directory);
    throw new Error(`${place} cannot be written (${code}): in a container, name a directory of a volume`, {
      cause: error,
    });
  }
}

function yamlOf(manifests: readonly Manifest[]): string {
  return manifests.map((manifest) => `---\n${stringify(manifest)}`).join('');
}

/** On standard error, because standard output may be YAML. Names values and prints none. */
function report({ secrets, created, rewritten, differing }: MadeSecrets, where: string): void {
  const all = Object.values(secrets).reduce((sum, texts) => sum + Object.keys(texts).length, 0);
  console.error(`${created.length} secret values created, ${all - created.length} kept ${where}`);
  if (differing.length > 0)
    console.error(`kept, although they differ from others or the options: ${differing.join(', ')}`);
  if (rewritten.length > 0) console.error(`rewritten: ${rewritten.join(', ')}`);
}

function parse<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${USAGE}`, { cause: error });
  }
}
