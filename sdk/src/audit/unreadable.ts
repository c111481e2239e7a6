/** If none of the first 100 lines can be read, the file is not an export. */
export const MAX_UNREADABLE_START = 100;
