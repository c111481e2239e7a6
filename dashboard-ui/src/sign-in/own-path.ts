const BASE = "https://dashboard.invalid";

/** A path of this dashboard, from an address. Links to other sites are dropped, so that sign-in cannot redirect to them. */
export function ownPath(value: unknown): string | undefined {
  if (typeof value !== "string" || !value.startsWith("/")) return undefined;
  // Browsers drop tabs and line breaks and read a backslash as a slash, so the text alone does not show where it leads.
  if (!URL.canParse(value, BASE)) return undefined;
  const url = new URL(value, BASE);
  // `/.//example.com` leads here, and without its dot it would lead to another host.
  if (url.origin !== BASE || url.pathname.startsWith("//")) return undefined;
  return `${url.pathname}${url.search}${url.hash}`;
}
