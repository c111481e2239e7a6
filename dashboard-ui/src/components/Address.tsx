/** The address that something came from, if it is known. */
export function Address({ ip }: { readonly ip: string | null }) {
  return ip === null ? "an unknown address" : <code>{ip}</code>;
}
