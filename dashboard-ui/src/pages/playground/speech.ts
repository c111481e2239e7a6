import { type Attachment, newId } from "./attachment.ts";

/** What a model says, as its pieces arrive. Its transcript is the answer's text. */
export type Speech = readonly string[];

/** The rate at which models send samples of 16 bits, one channel. */
const SAMPLES_PER_SECOND = 24_000;
const BYTES_PER_SAMPLE = 2;
const HEADER_BYTES = 44;

/** The speech with a further piece in base64, if there is one. */
export function withSpeech(speech: Speech | undefined, data: unknown): Speech | undefined {
  return typeof data === "string" && data !== "" ? [...(speech ?? []), data] : speech;
}

/** A complete speech as a WAV file. @returns `null` if the pieces are not base64. */
export function speechFile(speech: Speech): Attachment | null {
  try {
    const samples = speech.map(bytesOf);
    const [first] = samples;
    const pieces = first !== undefined && isWav(first) ? samples : [wavHeader(lengthOf(samples)), ...samples];
    const url = `data:audio/wav;base64,${base64Of(pieces)}`;
    return {
      id: newId(),
      kind: "audio",
      name: "speech.wav",
      mediaType: "audio/wav",
      bytes: lengthOf(pieces),
      url,
    };
  } catch {
    return null;
  }
}

function bytesOf(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** Whether the data has its header already, as a speech has that is not streamed. */
function isWav(bytes: Uint8Array): boolean {
  return String.fromCharCode(...bytes.subarray(0, 4)) === "RIFF";
}

/** The header of a WAV file with so many bytes of samples. */
function wavHeader(bytes: number): Uint8Array {
  const header = new DataView(new ArrayBuffer(HEADER_BYTES));
  const text = (at: number, letters: string) => {
    for (const [index, letter] of [...letters].entries()) header.setUint8(at + index, letter.charCodeAt(0));
  };
  text(0, "RIFF");
  header.setUint32(4, HEADER_BYTES - 8 + bytes, true);
  text(8, "WAVEfmt ");
  // The length of what follows; samples without compression; one channel.
  header.setUint32(16, 16, true);
  header.setUint16(20, 1, true);
  header.setUint16(22, 1, true);
  header.setUint32(24, SAMPLES_PER_SECOND, true);
  header.setUint32(28, SAMPLES_PER_SECOND * BYTES_PER_SAMPLE, true);
  header.setUint16(32, BYTES_PER_SAMPLE, true);
  header.setUint16(34, 8 * BYTES_PER_SAMPLE, true);
  text(36, "data");
  header.setUint32(40, bytes, true);
  return new Uint8Array(header.buffer);
}

/** A call takes only so many arguments. */
const MAX_LETTERS = 8_192;

function base64Of(pieces: readonly Uint8Array[]): string {
  const letters: string[] = [];
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += MAX_LETTERS) {
      letters.push(String.fromCharCode(...piece.subarray(at, at + MAX_LETTERS)));
    }
  }
  return btoa(letters.join(""));
}
