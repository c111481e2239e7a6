/** The keys of PostgreSQL's advisory locks that the service takes: arbitrary numbers, different from each other. */
export const ADVISORY_LOCKS = {
  migrations: 7_305_113_001n,
  partitions: 7_305_113_002n,
  nodes: 7_305_113_003n,
} as const;
