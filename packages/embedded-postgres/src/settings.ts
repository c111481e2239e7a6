import { PORT } from "./folders.ts";

export const DATABASE_USER = "ostiary";
/** The database that initdb creates. Another would need a connection at the first start and have no benefit. */
export const DATABASE_NAME = "postgres";

/**
 * Settings for one service on one machine: little memory and few processes, with full durability (`fsync`,
 * `full_page_writes` and `synchronous_commit` keep their defaults, which are on).
 */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "",
  unix_socket_permissions: "0700",
  max_connections: "50",
  superuser_reserved_connections: "3",
  password_encryption: "scram-sha-256",

  shared_buffers: "48MB",
  work_mem: "4MB",
  maintenance_work_mem: "32MB",
  effective_cache_size: "512MB",
  // A container's /dev/shm may be missing or small, and keeps the files of a crashed server.
  dynamic_shared_memory_type: "mmap",
  huge_pages: "off",

  // Workers for reading ahead, parallel queries and replication are off, because each is a process.
  io_method: "sync",
  max_worker_processes: "2",
  max_parallel_workers: "0",
  max_parallel_workers_per_gather: "0",
  max_parallel_maintenance_workers: "0",
  max_logical_replication_workers: "0",
  max_wal_senders: "0",
  wal_level: "minimal",
  autovacuum_worker_slots: "2",
  autovacuum_max_workers: "2",
  jit: "off",

  min_wal_size: "32MB",
  max_wal_size: "256MB",
  random_page_cost: "1.1",

  // The log contains the server's own messages. The service logs failed statements, which could contain data.
  logging_collector: "off",
  log_destination: "stderr",
  log_min_messages: "log",
  log_min_error_statement: "panic",
  log_checkpoints: "off",
  log_timezone: "UTC",
  log_line_prefix: "%m [%p] ",

  timezone: "UTC",
  lc_messages: "C",
};

/** The whole `postgresql.conf`. An operator's own settings belong in `postgresql.auto.conf`, which is read last. */
export function configurationFile(socketFolder: string): string {
  // The value is a list of folders, in which a name may be quoted.
  const folders = `"${socketFolder.replaceAll('"', '""')}"`;
  const lines = Object.entries({ ...SETTINGS, port: String(PORT), unix_socket_directories: folders }).map(
    ([name, value]) => `${name} = ${quoted(value)}`,
  );
  return `# Written by Ostiary at each start. Use ALTER SYSTEM for settings of your own.\n${lines.join("\n")}\n`;
}

/** The whole `pg_hba.conf`: one user, with a password, on the socket. */
export const ACCESS_FILE = `local all ${DATABASE_USER} scram-sha-256\n`;

function quoted(value: string): string {
  return `'${value.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
