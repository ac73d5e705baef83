/**
 * What may never happen, asked at each dispatch: an account's calls cost at most more than it has.
 * Amounts in nano-USD.
 */
export class Spending {
  readonly #funds = new Map<string, number>();
  readonly #exposed = new Map<string, number>();
  readonly violations: string[] = [];

  fund(account: string, amount: number): void {
    this.#funds.set(account, amount);
  }

  /** A call may cost `worst` from now on. */
  dispatch(account: string, id: string, worst: number): void {
    const exposed = this.#add(account, worst);
    const funds = this.#funds.get(account) ?? 0;
    if (exposed > funds) this.violations.push(`${account}: ${exposed} of ${funds} with ${id}`);
  }

  /** It has ended and costs `amount`. */
  end(account: string, worst: number, amount: number): void {
    this.#add(account, amount - worst);
  }

  /** What is spent or may still be. */
  exposed(account: string): number {
    return this.#exposed.get(account) ?? 0;
  }

  #add(account: string, amount: number): number {
    const exposed = this.exposed(account) + amount;
    this.#exposed.set(account, exposed);
    return exposed;
  }
}
