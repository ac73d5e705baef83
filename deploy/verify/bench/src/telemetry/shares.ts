/** Shares of the calls that are traced; the first is what the others are compared with. */
export const SHARES = [0, 0.01, 1] as const;
export type Share = (typeof SHARES)[number];

/** The share that an operator is meant to run with, and how much more CPU a call may cost then. */
export const AIM = { share: 0.01, ratioMax: 1.1 } as const satisfies { share: Share; ratioMax: number };

export function percentOf(share: Share): string {
  return `${share * 100} %`;
}
