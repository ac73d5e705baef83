import type {
  AccountObject,
  AccountView,
  ApplyAnswer,
  ApplyChange,
  KeyCreated,
  KeyView,
  LimitsSpec,
  ManagementRefusal,
  SubscriptionView,
} from '@gateway/contracts/operator';
import { toDocumentPath } from '../operator-api/catalog/split-objects.js';
import { decideAccount, decideKey, decideLimits, decideSubscription, type Decision } from './decide-objects.js';
import { openSecretsFile, type SaveSecret } from './key-secrets.js';
import { ApiRefusal, type OperatorApi } from './operator-api.js';
import { readOptions, UsageError, type Options, type Program, type ProgramContext } from './program.js';
import { readConfiguration, type Configuration } from './read-configuration.js';

/** `apply`: makes the deployment equal to a configuration file (docs/operating.md). */
export const APPLY: Program = {
  name: ['apply'],
  form: 'apply -f FILE [--dry-run] [--prune] [--secrets-to FILE] [--json]',
  async run(context) {
    const options = readOptions(context.fields, { flags: ['dry-run', 'prune', 'json'], values: ['secrets-to'] });
    try {
      const plan = await makePlan(context, options);
      const isTried = options.flags.has('dry-run') || plan.problems.length > 0;
      const result = isTried ? dryRunOf(plan) : await execute(context, plan, options);
      report(context, result, options);
      return result.failed.length > 0 ? 1 : 0;
    } catch (error) {
      if (error instanceof UsageError) throw error;
      context.to.error(`${describe(error)}\n`);
      return 1;
    }
  },
};

/** `drift`: the dry run of `apply`, whose exit code shows whether the deployment differs. */
export const DRIFT: Program = {
  name: ['drift'],
  form: 'drift -f FILE [--prune] [--json]     exit code 0: equal, 2: differs, 1: error',
  async run(context) {
    try {
      const options = readOptions(context.fields, { flags: ['prune', 'json'], values: [] });
      const result = dryRunOf(await makePlan(context, options));
      report(context, result, options);
      if (result.failed.length > 0) return 1;
      return result.changes.length > 0 ? 2 : 0;
    } catch (error) {
      context.to.error(`${describe(error)}\n`);
      return 1;
    }
  },
};

/** A change of an object, as in the response to an apply request. */
type Change = Omit<ApplyChange, 'kind' | 'before' | 'after'> & {
  readonly kind: ApplyChange['kind'] | AccountObject['kind'];
  readonly before: object | null;
  readonly after: object | null;
};

interface Result {
  readonly dryRun: boolean;
  readonly changes: readonly Change[];
  readonly unchanged: number;
  readonly inForce: boolean;
  /** Reasons why the file cannot be applied, or the changes that failed. */
  readonly failed: readonly string[];
}

interface DecidedObject {
  readonly decision: Decision;
  /** Makes the change, by requests for this object. */
  readonly execute: (saveSecret: SaveSecret) => Promise<unknown>;
}

interface Plan {
  readonly configuration: Configuration;
  /** Dry run of the apply document. */
  readonly tried: ApplyAnswer;
  readonly steps: readonly (Pick<DecidedObject, 'execute'> & { readonly change: Change })[];
  readonly unchanged: number;
  readonly problems: readonly string[];
}

const NOTHING: ApplyAnswer = { dryRun: true, changes: [], unchanged: 0, inForce: true };
/** An account precedes its plan, and the plan its keys, which need funds. */
const ORDER: readonly AccountObject['kind'][] = ['account', 'subscription', 'limits', 'key'];
const KEY_VERBS = { active: 'reinstate', suspended: 'suspend', revoked: 'revoke' } as const;

/** Compares the file with the deployment. Changes nothing. @throws UsageError */
async function makePlan({ words, file, api, clock }: ProgramContext, { flags }: Options): Promise<Plan> {
  if (file === null || words.length > 0) throw new UsageError('name one configuration file: -f FILE');
  const configuration = readConfiguration(file);
  const { accounts, document } = configuration;
  const prune = flags.has('prune');
  if (prune && document.length === 0)
    throw new UsageError('--prune would delete the catalog and all plans: the file has no object of these kinds');
  const problems: string[] = [];
  const tried = await applyDocument(api, configuration, { dryRun: true, prune }).catch((error: unknown) => {
    if (!(error instanceof ApiRefusal)) throw error;
    problems.push(describe(error));
    return NOTHING;
  });
  const decide = createDecider(api, clock.nowMs());
  const steps: Plan['steps'][number][] = [];
  let unchanged = 0;
  for (const object of ORDER.flatMap((kind) => accounts.filter((one) => one.kind === kind))) {
    const { kind, id } = object;
    const { decision, execute: make } = await decide(object);
    if ('problem' in decision) problems.push(`${kind} ${id}: ${decision.problem}`);
    else if (decision.change === 'unchanged') unchanged += 1;
    else steps.push({ change: { kind, id, credentialChanged: false, ...decision }, execute: make });
  }
  return { configuration, tried, steps, unchanged, problems };
}

/**
 * Creates a function that reads the stored form of an object and decides its change. Accounts must
 * be decided before their other objects.
 */
function createDecider(api: OperatorApi, nowMs: number): (object: AccountObject) => Promise<DecidedObject> {
  const accounts = new Map<string, AccountView | null>();
  const keys = new Map<string, readonly KeyView[]>();
  /** IDs of stored accounts, and of those that were created, by their ID in the file. */
  const ids = new Map<string, string>();

  async function findAccount(name: string): Promise<AccountView | null> {
    const known = accounts.get(name);
    if (known !== undefined) return known;
    const [found = null] = isGenerated(name)
      ? [await api.find<AccountView>(`/accounts/${name}`)]
      : await api.first<AccountView>('/accounts', { externalId: name }, 1);
    if (found !== null) ids.set(name, found.id);
    return found;
  }
  function pathOf(name: string): string {
    const id = ids.get(name);
    if (id === undefined) throw new Error(`account ${name} was not created`);
    return `/accounts/${id}`;
  }
  async function keysOf(name: string): Promise<readonly KeyView[]> {
    const all = keys.get(name) ?? (await api.list<KeyView>(`${pathOf(name)}/keys`));
    keys.set(name, all);
    return all;
  }

  return async (object) => {
    const [name = '', keyName = ''] = object.id.split('/');
    const account = await findAccount(name);
    const isPlanned = accounts.has(name) || (object.kind === 'account' && !isGenerated(name));
    if (account === null && !isPlanned)
      return { decision: { problem: `there is no account ${name}: add it to the file` }, execute: refuseToRun };
    accounts.set(name, account);
    switch (object.kind) {
      case 'account': {
        const { state, ...spec } = object.spec;
        return {
          decision: decideAccount(object.spec, account),
          async execute() {
            if (account === null)
              ids.set(name, (await api.post<AccountView>('/accounts', { ...spec, externalId: name })).id);
            if (state === 'suspended') await api.post(`${pathOf(name)}/suspend`, {});
            else if (account !== null) await api.post(`${pathOf(name)}/reinstate`, {});
          },
        };
      }
      case 'subscription': {
        const stored = account && (await api.find<SubscriptionView>(`${pathOf(name)}/subscription`));
        const decision = decideSubscription(object.spec, stored, nowMs);
        const body = 'after' in decision ? decision.after : {};
        return { decision, execute: () => api.put(`${pathOf(name)}/subscription`, body) };
      }
      case 'limits': {
        const stored = account && (await api.get<LimitsSpec>(`${pathOf(name)}/limits`));
        const decision = decideLimits(object.spec, stored ?? {});
        return { decision, execute: () => api.put(`${pathOf(name)}/limits`, object.spec) };
      }
      case 'key': {
        const stored = account && (await keysOf(name)).find(({ externalId }) => externalId === keyName);
        const { state, ...spec } = object.spec;
        return {
          decision: decideKey(object.spec, stored ?? null),
          async execute(saveSecret) {
            let id = stored?.id;
            if (id === undefined) {
              const made = await api.post<KeyCreated>(`${pathOf(name)}/keys`, { ...spec, externalId: keyName });
              saveSecret(object.id, made.secret ?? '');
              id = made.id;
              if (state !== 'suspended') return;
            }
            await api.post(`/keys/${id}/${KEY_VERBS[state ?? 'active']}`, {});
          },
        };
      }
    }
  };
}

function isGenerated(name: string): boolean {
  return name.startsWith('acc_');
}

function refuseToRun(): never {
  throw new Error('an object with a problem has no change');
}

/**
 * Makes the changes of a plan: the apply document first, then one object after the other. A refused
 * object does not stop the others.
 */
async function execute({ api, to }: ProgramContext, plan: Plan, options: Options): Promise<Result> {
  const newKey = plan.steps.find(({ change }) => change.kind === 'key' && change.change === 'created');
  const secretsTo = options.one('secrets-to');
  if (newKey !== undefined && secretsTo === null)
    throw new UsageError(`key ${newKey.change.id} is new, and its secret is shown once: add --secrets-to FILE`);
  const saveSecret = newKey === undefined || secretsTo === null ? refuseToRun : openSecretsFile(secretsTo);
  const changes: Change[] = [];
  const failed: string[] = [];
  const add = (change: Change): void => {
    changes.push(change);
    if (!options.flags.has('json')) to.out(formatChange(change));
  };
  const isEqual = plan.tried.changes.length === 0;
  const document = isEqual ? { ...plan.configuration, document: [] } : plan.configuration;
  const applied = await applyDocument(api, document, { dryRun: false, prune: !isEqual && options.flags.has('prune') });
  applied.changes.forEach(add);
  for (const { change, execute: make } of plan.steps) {
    try {
      await make(saveSecret);
      add(change);
    } catch (error) {
      failed.push(`${change.kind} ${change.id}: ${describe(error)}`);
    }
  }
  const unchanged = plan.unchanged + (isEqual ? plan.tried : applied).unchanged;
  return { dryRun: false, changes, unchanged, inForce: applied.inForce, failed };
}

/** Sends the objects of the catalog and the plans. A refusal has their places in the file. */
async function applyDocument(
  api: OperatorApi,
  { document, places }: Configuration,
  { dryRun, prune }: { readonly dryRun: boolean; readonly prune: boolean },
): Promise<ApplyAnswer> {
  if (document.length === 0 && !prune) return NOTHING;
  try {
    return await api.post<ApplyAnswer>(`/apply?dryRun=${dryRun}&prune=${prune}`, { objects: document });
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    const { refused } = toDocumentPath({ refused: readRefusal(error) }, places);
    throw new ApiRefusal(error.status, JSON.stringify({ error: refused }));
  }
}

function dryRunOf({ tried, steps, unchanged, problems }: Plan): Result {
  const changes = [...tried.changes, ...steps.map(({ change }) => change)];
  return { dryRun: true, changes, unchanged: unchanged + tried.unchanged, inForce: false, failed: problems };
}

function report({ to }: ProgramContext, result: Result, { flags }: Options): void {
  const { dryRun, changes, unchanged, inForce, failed } = result;
  for (const line of failed) to.error(`${line}\n`);
  if (flags.has('json')) {
    to.out(`${JSON.stringify(result, null, 2)}\n`);
    return;
  }
  if (dryRun) for (const change of changes) to.out(formatChange(change));
  const counts = `${changes.length} ${dryRun ? 'to change' : 'changed'}, ${unchanged} unchanged`;
  if (failed.length === 0) to.out(`${counts}.\n`);
  else if (dryRun) to.error('Nothing is changed.\n');
  else to.error(`${counts}, ${failed.length} failed: run the same command again when the reasons are gone.\n`);
  if (!dryRun && !inForce) to.out('The remaining replicas follow shortly.\n');
}

/** Formats a change, for example `limits ml: changed, concurrency 10 -> 20`. */
function formatChange({ kind, id, change, before, after, credentialChanged }: Change): string {
  const [old, next] = [new Map(leavesOf(before)), new Map(leavesOf(after))];
  const names = change === 'changed' ? new Set([...old.keys(), ...next.keys()]) : [];
  const fields = [...names]
    .filter((name) => old.get(name) !== next.get(name))
    .map((name) => `${name} ${old.get(name) ?? 'none'} -> ${next.get(name) ?? 'none'}`);
  return `${kind} ${id}: ${[change, ...fields, ...(credentialChanged ? ['another credential'] : [])].join(', ')}\n`;
}

/** Lists the values of a view by path, without null. A list is one value. */
function leavesOf(value: object | null, path = ''): [path: string, text: string][] {
  return Object.entries(value ?? {}).flatMap(([name, one]: [string, unknown]): [string, string][] => {
    if (one === null || one === undefined) return [];
    if (typeof one === 'object' && !Array.isArray(one)) return leavesOf(one, `${path}${name}.`);
    return [[path + name, typeof one === 'string' ? one : JSON.stringify(one)]];
  });
}

/** Returns the error of a response; a proxy in between may have sent another one. */
function readRefusal({ text, message }: ApiRefusal): ManagementRefusal['refused'] {
  try {
    return (JSON.parse(text) as { error: ManagementRefusal['refused'] }).error;
  } catch {
    return { code: 'internal_error', message, param: null };
  }
}

/** Returns the message of a refusal with its place, or that of another error with its cause. */
function describe(error: unknown): string {
  if (error instanceof ApiRefusal) {
    const { message, param } = readRefusal(error);
    return param === null || message.includes(param) ? message : `${message} (${param})`;
  }
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
