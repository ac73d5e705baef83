import type { Bus } from '@gateway/bus';
import {
  admissionApply,
  billingAudit,
  billingDeletePlan,
  billingDeleteSubscription,
  billingGetPlan,
  billingGetSubscription,
  billingLoad,
  billingPutPlan,
  billingPutSubscription,
  type AccountTerms,
} from '@gateway/contracts/messages';
import { expectAccepted } from './accepted.js';
import { type BillingWorld, startBillingWorld } from './billing-world.js';
import { AUTHOR } from './ledger-verbs.js';

export const HOUR = 3_600_000;
export { AUTHOR };
export const PLAN = { name: 'Pro', tier: 'pro', models: null };

export interface PublishedTerms {
  readonly value: AccountTerms;
  readonly version: number;
}

/**
 * Two replicas of billing with a clock that tests set, requests over the bus, and an admission that
 * can be unavailable.
 */
export class OperatorWorld {
  now = Date.now();
  admissionAnswers = true;
  /** The terms that admission applied for each account, in order. */
  readonly published = new Map<string, PublishedTerms[]>();
  #names = 0;

  private constructor(
    readonly billing: BillingWorld,
    readonly edge: Bus,
    readonly admission: Bus,
    readonly dashboard: Bus,
    readonly accounts: Bus,
  ) {}

  static async start(): Promise<OperatorWorld> {
    const billing = await startBillingWorld();
    const [edge, admission, dashboard, accounts] = await Promise.all([
      billing.connect('edge-proxy'),
      billing.connect('admission'),
      billing.connect('dashboard'),
      billing.connect('accounts'),
    ]);
    const world = new OperatorWorld(billing, edge, admission, dashboard, accounts);
    admission.serve(admissionApply, async ({ snapshots }) => {
      if (!world.admissionAnswers) throw new Error('this test lets admission fail');
      for (const { account, terms } of snapshots?.accounts ?? []) {
        const told = world.published.get(account) ?? [];
        // Ignores known versions, because a change is sent at least once.
        if (terms !== undefined && terms.version > (told.at(-1)?.version ?? 0))
          world.published.set(account, [...told, terms]);
      }
      return { applied: true as const };
    });
    const clock = { nowMs: () => world.now };
    const changes = { renewalPollMs: 100 };
    await Promise.all([billing.start('one', clock, changes), billing.start('two', clock, changes)]);
    return world;
  }

  /** Prepares a test: sets the clock to the current time and makes admission available. */
  reset(): void {
    this.now = Date.now();
    this.admissionAnswers = true;
  }

  stop(): Promise<void> {
    return this.billing.stop();
  }

  fresh(kind: string): string {
    this.#names += 1;
    return `${kind}-${this.#names}`;
  }

  lastPublished(account: string): AccountTerms | undefined {
    return this.published.get(account)?.at(-1)?.value;
  }

  /** Returns the last published terms that apply at this world's time; null if no plan applies. */
  running(account: string): NonNullable<AccountTerms['next']> | null {
    const { next, ...current } = this.lastPublished(account) ?? { subscription: null };
    const [terms] = [next, current].filter((one) => one?.subscription && one.subscription.start <= this.now);
    return terms?.subscription && this.now < terms.subscription.end
      ? (terms as NonNullable<AccountTerms['next']>)
      : null;
  }

  putPlan(id: string, changes: object = {}) {
    return this.dashboard.request(billingPutPlan, { id, spec: { ...PLAN, ...changes }, author: AUTHOR });
  }

  getPlan(id: string) {
    return this.dashboard.request(billingGetPlan, { id });
  }

  deletePlan(id: string) {
    return this.dashboard.request(billingDeletePlan, { id, author: AUTHOR });
  }

  putPeriod(account: string, planId: string, start: number, end: number, renews = false) {
    const [periodStart, periodEnd] = [new Date(start).toISOString(), new Date(end).toISOString()];
    const spec = { planId, periodStart, periodEnd, renews };
    return this.dashboard.request(billingPutSubscription, { account, spec, author: AUTHOR });
  }

  getPeriod(account: string) {
    return this.dashboard.request(billingGetSubscription, { account });
  }

  deletePeriod(account: string) {
    return this.dashboard.request(billingDeleteSubscription, { account, author: AUTHOR });
  }

  /** Creates an account with a new plan. */
  async subscribed(start = this.now - HOUR, end = this.now + HOUR, renews = false) {
    const [account, plan] = [this.fresh('account'), this.fresh('plan')];
    await this.putPlan(plan);
    const { subscription } = expectAccepted(await this.putPeriod(account, plan, start, end, renews));
    return { account, plan, id: subscription.id };
  }

  /** Returns the terms in a load of the account. */
  async terms(account: string): Promise<AccountTerms | undefined> {
    const loaded = await this.admission.request(billingLoad, { account, names: [], ids: [], afterLoss: false });
    return loaded.snapshot.terms?.value;
  }

  async audit(filter: { account?: string; object?: string }, limit = 50, cursor: string | null = null) {
    return expectAccepted(
      await this.dashboard.request(billingAudit, { account: null, object: null, ...filter, cursor, limit }),
    );
  }
}
