export const ROOT: string;
export function contentsOf(room: string): { from: string; to: string }[];
