import { cannot, type Tool, type ToolChoice, UNSUPPORTED } from "../../conversation/conversation.ts";
import { isJsonObject, type Json, type JsonObject } from "../../json/json.ts";
import { arrayOf, objectOf, textOf } from "../../json/members.ts";
import { customFunction } from "../custom-tools.ts";
import type { ExactValues } from "../exact-values.ts";
import { functionOf } from "../openai-fields.ts";
import { DEFERRED, otherMembersOf } from "../other-members.ts";
import { hashedName, MAX_TOOL_NAME_LENGTH } from "../tool-name.ts";

/** A tool as its client knows it. */
export interface ClientTool {
  /** `custom`: its input is text. `search`: finds more tools, and its input is an object. */
  readonly kind: "function" | "custom" | "search";
  readonly namespace: string | null;
  readonly name: string;
}

/** The tool that finds more tools. */
export const SEARCH: ClientTool = { kind: "search", namespace: null, name: "tool_search" };
/** Tools of this namespace are called by their own name. */
const IMPLICIT_NAMESPACE = "functions";

/**
 * The tools of a request, by names that every provider accepts. The Responses API groups tools in namespaces and has tools whose
 * input is plain text; other formats have functions only.
 */
export class ClientTools {
  readonly #tools = new Map<string, { readonly tool: ClientTool; readonly definition: Tool }>();
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();
  /** What the client says of all tools of a namespace. */
  readonly #descriptions = new Map<string, string>();

  /** The functions that stand for the tools. A function can't say what holds for a namespace, so the first one of it does. */
  get definitions(): readonly Tool[] {
    const left = new Map(this.#descriptions);
    return [...this.#tools.values()].map(({ tool: { namespace }, definition }) => {
      const shared = namespace === null ? undefined : left.get(namespace);
      if (namespace === null || shared === undefined) return definition;
      left.delete(namespace);
      const about = `About all tools of ${namespace}: ${shared}`;
      const { description: own } = definition;
      return { ...definition, description: (own ?? "") === "" ? about : `${own}\n\n${about}` };
    });
  }

  /** Notes what the client says of all tools of a namespace. */
  describe(namespace: string, description: string): void {
    this.#descriptions.set(namespace, description);
  }

  /** Adds a tool. A new definition replaces an earlier one of the same name: clients send their tools again when these have changed. */
  add(tool: ClientTool, definition: Omit<Tool, "name">): void {
    const name = this.nameOf(tool);
    this.#tools.set(name, { tool, definition: { ...definition, name } });
  }

  /** The name of a tool's function. */
  nameOf(tool: ClientTool): string {
    const key = JSON.stringify([tool.kind === "search", tool.namespace, tool.name]);
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const plain = plainName(tool);
    let name = plain;
    for (let attempt = 0; this.#taken.has(name); attempt++) name = hashedName(plain, `${key}${attempt}`);
    this.#names.set(key, name);
    this.#taken.add(name);
    return name;
  }

  /** The tool that a function stands for. A name that is not known is taken for a function's. */
  toolOf(name: string): ClientTool {
    return this.#tools.get(name)?.tool ?? { kind: "function", namespace: null, name };
  }

  has(tool: ClientTool): boolean {
    return this.#tools.has(this.nameOf(tool));
  }

  /** Removes all tools but these. */
  keepOnly(tools: readonly ClientTool[]): void {
    const names = new Set(tools.map((tool) => this.nameOf(tool)));
    for (const name of this.#tools.keys()) if (!names.has(name)) this.#tools.delete(name);
  }
}

function plainName({ namespace, name }: ClientTool): string {
  const isBare = namespace === null || namespace === IMPLICIT_NAMESPACE;
  const full = isBare ? name : `${namespace}__${name}`;
  const plain = full.replace(/[^a-zA-Z0-9_-]/g, "_");
  return plain.length > MAX_TOOL_NAME_LENGTH || plain === "" ? hashedName(plain, full) : plain;
}

interface ToolReading {
  /** Where the tools are added. */
  readonly tools: ClientTools;
  readonly exact: ExactValues;
  readonly namespace?: string | null;
}

/**
 * Adds the tools of a list, and those of its namespaces.
 *
 * @returns the places of tools that only the provider could run, such as web search, and of members of tools without equivalent elsewhere.
 */
export function addTools(list: readonly Json[], at: string, reading: ToolReading): readonly string[] {
  return list.flatMap((tool, index) => (isJsonObject(tool) ? addTool(tool, `${at}.${index}`, reading) : []));
}

const TOOL_MEMBERS = new Set([
  "type",
  "name",
  "description",
  "parameters",
  "strict",
  "format",
  "execution",
  DEFERRED,
]);

const NAMESPACE_MEMBERS = new Set(["type", "name", "description", "tools", DEFERRED]);

function addTool(tool: JsonObject, at: string, reading: ToolReading): readonly string[] {
  const { tools, exact, namespace = null } = reading;
  const { type, name } = tool;
  if (type === "namespace" && namespace === null && Array.isArray(tool.tools)) {
    const description = textOf(tool.description) ?? "";
    if (typeof name === "string" && description !== "") tools.describe(name, description);
    return [
      ...addTools(tool.tools, `${at}.tools`, { ...reading, namespace: textOf(name) }),
      ...otherMembersOf(tool, NAMESPACE_MEMBERS, at),
    ];
  }
  if (type === "function" && typeof name === "string") {
    tools.add({ kind: "function", namespace, name }, functionOf(tool, exact, at));
  } else if (type === "custom" && typeof name === "string") {
    tools.add({ kind: "custom", namespace, name }, customFunction(tool.description, tool.format));
  } else if (type === "tool_search" && tool.execution === "client") {
    tools.add(SEARCH, functionOf(tool, exact, at));
  } else return [at];
  return otherMembersOf(tool, TOOL_MEMBERS, at);
}

/** How the client wants tools to be used, and the tools that it allows. */
export function readToolChoice(
  value: Json | undefined,
  tools: ClientTools,
  hasDropped: boolean,
): ToolChoice | null {
  if (value === undefined || value === null) return null;
  const { type, tools: allowed, mode } = objectOf(value);
  if (type === "allowed_tools") {
    tools.keepOnly(arrayOf(allowed).flatMap((tool) => chosenTool(tool, tools) ?? []));
    return readToolChoice(mode, tools, hasDropped);
  }
  const isEmpty = tools.definitions.length === 0;
  if (value === "auto" || value === "none") return isEmpty ? null : { kind: value };
  if (value === "required") {
    if (!isEmpty) return { kind: "required" };
    throw cannot("tool_choice", hasDropped ? "requires a tool that this model can call" : "requires tools");
  }
  const chosen = chosenTool(value, tools);
  if (chosen !== null) return { kind: "tool", name: tools.nameOf(chosen) };
  const isOwn = type === "function" || type === "custom";
  throw cannot("tool_choice", isOwn ? "must name one of the tools" : UNSUPPORTED);
}

/** The tool that a choice names; `null` if the request does not have it. */
function chosenTool(value: Json, tools: ClientTools): ClientTool | null {
  const { type, name, namespace } = objectOf(value);
  let tool = SEARCH;
  if (type !== "tool_search") {
    if ((type !== "function" && type !== "custom") || typeof name !== "string") return null;
    tool = { kind: type, namespace: textOf(namespace), name };
  }
  return tools.has(tool) ? tool : null;
}
