export declare function useMemoryDirectory(
  env?: Record<string, string | undefined>,
  memory?: string,
  freeBytesMin?: number,
): string | null;
