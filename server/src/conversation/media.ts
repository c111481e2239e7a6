import { cannot, type MediaSource } from "./conversation.ts";

/** Parameters of the media type, such as `charset=utf-8`, are not passed on. */
const DATA_URL =
  /^data:([a-z]+\/[a-z0-9.+-]+)(?:;[\w.+-]{1,64}=[^;,]{0,128}){0,8};base64,([A-Za-z0-9+/=\s]*)$/i;

/** The source that a data URL contains; `null` for anything else. */
export function dataSourceOf(url: string): MediaSource | null {
  const [, mediaType, data] = DATA_URL.exec(url) ?? [];
  if (mediaType === undefined || data === undefined) return null;
  return { kind: "data", mediaType: mediaType.toLowerCase(), data };
}

/** The host of an http(s) URL, with its port, as it was written. */
const HOST = /^\s*https?:[/\\\s]*(?:[^/?#\\]*@)?(?<host>[^/?#\\@]*)/i;
/** A part of a host that no name has. To parse one of combining characters takes the square of their number. */
const LONG_LABEL = /[^.:]{64}/;

/** The source that a URL names. @throws {Failure} `invalid_request` naming `at` unless it is an http(s) or a data URL. */
export function mediaSourceOf(url: unknown, at: string): MediaSource {
  if (typeof url !== "string") throw cannot(at, "must be a URL");
  const inline = dataSourceOf(url);
  if (inline !== null) return inline;
  const host = HOST.exec(url)?.groups?.host;
  if (host === undefined || LONG_LABEL.test(host) || !URL.canParse(url)) {
    throw cannot(at, "must be an http(s) URL, or a data URL with base64");
  }
  return { kind: "url", url };
}

/** The URL of a source: a data URL for inline data. */
export function urlOf(source: MediaSource): string {
  return source.kind === "url" ? source.url : `data:${source.mediaType};base64,${source.data}`;
}

/** Types of data that is text, beside those whose names begin with `text/`. */
const TEXT_TYPE =
  /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|toml|sql|javascript|x-javascript|x-sh))$/;

/** The text that inline data is, for providers that take texts and not their files; `null`: it is something else, or a URL. */
export function textIn(source: MediaSource): string | null {
  if (source.kind === "url" || !TEXT_TYPE.test(source.mediaType)) return null;
  return new TextDecoder().decode(Buffer.from(source.data, "base64"));
}
