import {
  type AssistantPart,
  cannot,
  type MediaSource,
  type TextPart,
  type ToolResultPart,
  UNSUPPORTED,
  type UserPart,
} from "../../conversation/conversation.ts";
import { dataSourceOf, mediaSourceOf } from "../../conversation/media.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { arrayOf, objectOf, textOf } from "../../json/members.ts";
import { audioPart, imagePart, NO_STORED_FILES, partsOf, textPart } from "../openai-fields.ts";
import { otherMembersOfParts } from "../other-members.ts";

/** What parts have that is read, or that a model has written beside its text. */
const PART_MEMBERS = new Set([
  "type",
  "text",
  "image_url",
  "detail",
  "file_data",
  "file_url",
  "file_id",
  "filename",
  "input_audio",
  "refusal",
  "annotations",
  "logprobs",
]);

/** The types of parts of what agents say that are read. Others are encrypted for OpenAI's models. */
const READ_OF_AGENTS = new Set<Json>(["input_text", "output_text", "text", "input_image"]);

/** The places of members of parts without equivalent elsewhere. `content`: a text, or an array of parts. */
export function otherMembersOfContent(content: Json | undefined, at: string): readonly string[] {
  return [...otherMembersOfParts(content, PART_MEMBERS, at), ...detailsOfFiles(content, at)];
}

/** The places of the details of files, which only OpenAI's models have: in which resolution they see the pages. */
function detailsOfFiles(content: Json | undefined, at: string): readonly string[] {
  return arrayOf(content).flatMap((part, index) => {
    const { type, detail = null } = objectOf(part);
    return type === "input_file" && detail !== null && detail !== "auto" ? [`${at}.${index}.detail`] : [];
  });
}

/** The parts of what a model has said. */
export function saidParts(content: Json | undefined, contentAt: string): AssistantPart[] {
  const parts = partsOf(content, contentAt, (part, at): AssistantPart => {
    const { type, text, refusal } = objectOf(part);
    if (type === "refusal" && typeof refusal === "string") {
      return { kind: "refusal", text: refusal, cache: null, at };
    }
    if (typeof text !== "string") throw cannot(at, "must be a text or a refusal");
    return textPart(text, at);
  });
  return parts.filter((part) => part.kind !== "text" || part.text !== "");
}

/** A part of what a user says. */
export function userPart(part: Json, at: string): UserPart {
  if (!isJsonObject(part)) throw cannot(at, "must be a part of a message");
  const { type, text, image_url: image } = part;
  switch (type) {
    case "input_text":
    case "output_text":
    case "text":
      if (typeof text === "string") return textPart(text, at);
      break;
    case "input_image": {
      refuseFileId(part.file_id, image, at);
      if (typeof image !== "string") throw cannot(`${at}.image_url`, "is required");
      const media = mediaSourceOf(image, `${at}.image_url`);
      return imagePart(media, part.detail, at);
    }
    case "input_file":
      return {
        kind: "file",
        source: fileSourceOf(part, at),
        filename: textOf(part.filename),
        filenameAt: `${at}.filename`,
        cache: null,
        at,
      };
    case "input_audio":
      return audioPart(part.input_audio, `${at}.input_audio`);
  }
  throw cannot(at, UNSUPPORTED);
}

/** The parts of what an agent says. `ignored` gets the places of those that are not read. */
export function agentsParts(content: Json, contentAt: string, ignored: string[]): readonly UserPart[] {
  const parts = partsOf(content, contentAt, (part, at) => {
    if (READ_OF_AGENTS.has(objectOf(part).type ?? null)) return userPart(part, at);
    ignored.push(at);
    return null;
  });
  return parts.filter((part) => part !== null);
}

function fileSourceOf({ file_data: data, file_url: url, file_id: id }: JsonObject, at: string): MediaSource {
  if (typeof url === "string") return mediaSourceOf(url, `${at}.file_url`);
  refuseFileId(id, data, at);
  const source = typeof data === "string" ? dataSourceOf(data) : null;
  if (source !== null) return source;
  throw cannot(`${at}.file_data`, "must be a data URL with base64");
}

/** `sent`: what the part has in place of the id. */
function refuseFileId(id: Json | undefined, sent: Json | undefined, at: string): void {
  if (typeof id === "string" && typeof sent !== "string") throw cannot(`${at}.file_id`, NO_STORED_FILES);
}

/** The parts of what a tool has returned. */
export function outputParts(output: Json | undefined, at: string): ToolResultPart["parts"] {
  return partsOf(output, at, userPart).map((part) => {
    if (part.kind === "audio") throw cannot(part.at, "must not be a part of a tool's result");
    return part;
  });
}

/** A part of instructions. */
export function textOnly(part: UserPart): TextPart {
  if (part.kind !== "text") throw cannot(part.at, "must be a text: instructions contain nothing else");
  return part;
}
