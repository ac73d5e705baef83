export default function lendDuringRun(): Promise<void>;
/** `path` is the socket on which suites borrow servers. */
export function lendServers(): Promise<{ readonly path: string; stop(): Promise<void> }>;
