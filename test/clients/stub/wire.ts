/** A request's body, of any format. */
export type Body = Readonly<Record<string, unknown>>;
/** A server-sent event as it is sent. */
export type Frame = string;

export function record(value: unknown): Body {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Body) : {};
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The text of a content that is a string or parts. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return list(content)
    .map((part) => {
      const { text, type } = record(part);
      return typeof text === "string" ? text : `[${String(type)}]`;
    })
    .join("");
}

export function eventOf(event: string | null, data: object): Frame {
  return `${event === null ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}
