/** How Node and the C library name a full disk and a used up quota. */
const DISK_FULL = /no space left on device|disk quota exceeded/i;

/** What to do about a failure of PostgreSQL for which there is no room, as a sentence after its reason; empty for other reasons. */
export function roomRemedy(reason: string): string {
  return DISK_FULL.test(reason)
    ? ". Free space on the disk of OSTIARY_DATA_DIR: a new database takes 60 MB"
    : "";
}
