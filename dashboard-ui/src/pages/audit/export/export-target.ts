import type { ExportFormat } from "./export-run.ts";

/** The destination of an export. It discards an unfinished file. */
export interface ExportTarget {
  readonly fileName: string;
  write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** Completes the file. */
  finish(): Promise<void>;
  discard(): Promise<void>;
}

const MIME_TYPES: Readonly<Record<ExportFormat, string>> = {
  csv: "text/csv",
  ndjson: "application/x-ndjson",
};
/** The size from which a browser may store a blob outside memory. */
const BLOB_BYTES = 4 * 1024 * 1024;

type SavePicker = (options: {
  readonly suggestedName: string;
  readonly types: readonly {
    readonly description: string;
    readonly accept: Readonly<Record<string, readonly string[]>>;
  }[];
}) => Promise<FileSystemFileHandle>;

/**
 * Opens a file on disk if the browser supports it, and otherwise a file that is downloaded when complete. Call it while a
 * click is being handled.
 *
 * @returns `null` if the user cancelled.
 */
export async function openTarget(format: ExportFormat, now: Date): Promise<ExportTarget | null> {
  const fileName = `audit-${now.toISOString().slice(0, 10)}.${format}`;
  const pick = savePicker();
  if (pick === null) return new DownloadTarget(fileName, MIME_TYPES[format]);
  try {
    const accept = { [MIME_TYPES[format]]: [`.${format}`] };
    const handle = await pick({ suggestedName: fileName, types: [{ description: "Audit entries", accept }] });
    return new FileTarget(handle, await handle.createWritable());
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") return null;
    throw error;
  }
}

/** The browser's file picker, if it has one. */
function savePicker(): SavePicker | null {
  if (!("showSaveFilePicker" in window) || typeof window.showSaveFilePicker !== "function") return null;
  return window.showSaveFilePicker.bind(window) as SavePicker;
}

class FileTarget implements ExportTarget {
  readonly #handle: FileSystemFileHandle;
  readonly #file: FileSystemWritableFileStream;

  constructor(handle: FileSystemFileHandle, file: FileSystemWritableFileStream) {
    this.#handle = handle;
    this.#file = file;
  }

  get fileName(): string {
    return this.#handle.name;
  }

  write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#file.write(bytes);
  }

  finish(): Promise<void> {
    return this.#file.close();
  }

  async discard(): Promise<void> {
    await this.#file.abort();
    // Choosing the file created an empty one.
    const { remove } = this.#handle as { remove?: () => Promise<void> };
    await remove?.call(this.#handle);
  }
}

class DownloadTarget implements ExportTarget {
  readonly fileName: string;
  readonly #mimeType: string;
  #blobs: Blob[] = [];
  #pieces: Uint8Array<ArrayBuffer>[] = [];
  #bytes = 0;

  constructor(fileName: string, mimeType: string) {
    this.fileName = fileName;
    this.#mimeType = mimeType;
  }

  async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#pieces.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes < BLOB_BYTES) return;
    this.#blobs.push(new Blob(this.#pieces));
    this.#pieces = [];
    this.#bytes = 0;
  }

  async finish(): Promise<void> {
    const url = URL.createObjectURL(new Blob([...this.#blobs, ...this.#pieces], { type: this.#mimeType }));
    const link = document.createElement("a");
    link.href = url;
    link.download = this.fileName;
    link.click();
    // By then, the download has taken over the blob.
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
    await this.discard();
  }

  async discard(): Promise<void> {
    this.#blobs = [];
    this.#pieces = [];
  }
}
