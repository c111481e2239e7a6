/** A file that a message carries, in the browser's memory. */
export interface Attachment {
  /** Unique in this browser. */
  readonly id: string;
  /** `audio`: what a model has said. */
  readonly kind: "image" | "file" | "audio";
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: number;
  /** The content as a `data:` URL; `null` if this browser no longer has it. */
  readonly url: string | null;
  /** Data that the model server expects back with an image that a model has produced. */
  readonly extra?: unknown;
}

/** What a model takes beside text. */
export interface Accepted {
  readonly images: boolean;
  readonly files: boolean;
}

const IMAGE_TYPES = ["image/png", "image/jpeg", "image/webp", "image/gif"];
const FILE_TYPES = ["application/pdf"];
/** Base64 takes 4 bytes for 3: attachments of this size fit in a body of 20 MiB, the service's default maximum. */
export const MAX_ATTACHED_BYTES = 14 * 1_024 * 1_024;

/** The media types that a file dialog offers; an empty text if the model takes only text. */
export function acceptedTypes({ images, files }: Accepted): string {
  return [...(images ? IMAGE_TYPES : []), ...(files ? FILE_TYPES : [])].join(",");
}

/** The reason why a file cannot be attached. `attachedBytes` counts what the conversation carries already. */
export function refusalOf(
  file: Pick<File, "name" | "type" | "size">,
  accepted: Accepted,
  attachedBytes: number,
): string | null {
  const isImage = IMAGE_TYPES.includes(file.type);
  if (!isImage && !FILE_TYPES.includes(file.type)) {
    return `${file.name} is no PNG, JPEG, WebP, GIF or PDF.`;
  }
  if (isImage ? !accepted.images : !accepted.files) {
    return `This model takes no ${isImage ? "images" : "files"}. Choose a model that does.`;
  }
  if (file.size === 0) return `${file.name} is empty.`;
  if (attachedBytes + file.size > MAX_ATTACHED_BYTES) {
    return "Attachments of a conversation can have 14 MB in all. Remove one first.";
  }
  return null;
}

/** Reads a file that {@link refusalOf} has not refused. @throws if the browser cannot read it. */
export async function attach(file: File): Promise<Attachment> {
  return {
    id: newId(),
    kind: IMAGE_TYPES.includes(file.type) ? "image" : "file",
    name: file.name === "" ? "image" : file.name,
    mediaType: file.type,
    bytes: file.size,
    url: await dataUrlOf(file),
  };
}

/** The part of a message for an attachment, in the format of chat completions. */
export function partOf({ kind, name, url }: Attachment): object | null {
  if (url === null) return null;
  if (kind === "image") return { type: "image_url", image_url: { url } };
  if (kind === "audio") {
    return { type: "input_audio", input_audio: { data: url.slice(url.indexOf(",") + 1), format: "wav" } };
  }
  return { type: "file", file: { filename: name, file_data: url } };
}

/** A random id. Unlike `crypto.randomUUID` it exists on pages that were loaded over HTTP. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function dataUrlOf(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });
}
