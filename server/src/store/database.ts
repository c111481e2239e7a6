import postgres from "postgres";

/** A pool of connections, or a transaction on one of them. Written to as tagged templates. */
export type Database = postgres.Sql<{ bigint: bigint }>;
export type Transaction = postgres.TransactionSql<{ bigint: bigint }>;

/** Where the database is: a URL, or the socket folder and credentials of the embedded one. */
export type DatabaseAddress =
  | { readonly url: string }
  | {
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly password: string;
      readonly database: string;
    };

export interface DatabaseOptions {
  readonly maxConnections: number;
  readonly connectTimeoutS: number;
  /** Whether a connection stays open for as long as it can, whatever it does. */
  readonly keepOpen?: boolean;
}

/** Opens a pool. Nothing is connected until the first query. */
export function openDatabase(address: DatabaseAddress, options: DatabaseOptions): Database {
  const settings = {
    max: options.maxConnections,
    connect_timeout: options.connectTimeoutS,
    idle_timeout: options.keepOpen === true ? 0 : 60,
    ...(options.keepOpen === true ? { max_lifetime: null } : {}),
    // Arrays are never sent as parameters (batches go as jsonb), so the look-up of their types can be saved.
    fetch_types: false,
    types: { bigint: postgres.BigInt },
    onnotice: () => {},
    connection: { application_name: "ostiary" },
  };
  return "url" in address ? postgres(address.url, settings) : postgres({ ...address, ...settings });
}

/** True when the error says that a row with the same value is there already; names the constraint. */
export function violatesUnique(error: unknown, constraint: string): boolean {
  return (
    error instanceof postgres.PostgresError && error.code === "23505" && error.constraint_name === constraint
  );
}

/** True when the error says that a row names another one that is not there, or is still named; names the constraint. */
export function violatesForeignKey(error: unknown, constraint: string): boolean {
  return (
    error instanceof postgres.PostgresError && error.code === "23503" && error.constraint_name === constraint
  );
}

/** True when a lock was not had within `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return error instanceof postgres.PostgresError && error.code === "55P03";
}

const ATTEMPTS = 3;
/** Serialization failures and deadlocks: the loser of a race, which may simply run again. */
const RETRIED = new Set(["40001", "40P01"]);

/** A transaction, run again when it lost a race. `work` must do nothing outside of it. */
export async function inTransaction<Result>(
  database: Database,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await transactionOn(database, "", work);
    } catch (error) {
      const isRace = error instanceof postgres.PostgresError && RETRIED.has(error.code);
      if (!isRace || attempt === ATTEMPTS) throw error;
    }
  }
}

/** A transaction that reads one moment, whatever is changed meanwhile. */
export function atOneMoment<Result>(
  database: Database,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  return transactionOn(database, "isolation level repeatable read read only", work);
}

async function transactionOn<Result>(
  database: Database,
  mode: string,
  work: (transaction: Transaction) => Promise<Result>,
): Promise<Result> {
  const guarded = async (transaction: Transaction): Promise<Result> => {
    try {
      return await work(transaction);
    } catch (error) {
      // The driver would send a rollback on the connection that is gone, which ends the process (porsager/postgres
      // issue 1208). It rejects the transaction by itself when a connection closes, so there is nothing to wait for.
      if (isConnectionLost(error)) return new Promise<never>(() => {});
      throw error;
    }
  };
  // The driver's type unwraps arrays of promises, which no work here returns.
  return (await database.begin(mode, guarded)) as Result;
}

/** The connection broke, or the server says that it is about to close it (SQLSTATE class 57P). */
function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  return error instanceof postgres.PostgresError
    ? error.code.startsWith("57P")
    : /^(?:CONNECTION_|E[A-Z]+$)/.test(String(error.code));
}
