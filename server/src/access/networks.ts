import ipaddr from "ipaddr.js";

/** IP addresses and CIDR blocks, parsed once, to be asked often. */
export interface Networks {
  contains(address: string): boolean;
}

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Range = [Address, number];

/** IPv4 inside IPv6 without the mark of a mapped address: deprecated (RFC 4291, section 2.5.5.1), and read in two ways. */
const IPV4_COMPATIBLE = /^::\d+\.\d+\.\d+\.\d+$/;
const CIDR = /^([^/]+)\/(0|[1-9]\d{0,2})$/;

/**
 * An address as people write it: four decimal parts, or IPv6 (RFC 4291, section 2.2). IPv4-mapped IPv6 is IPv4: a
 * dual-stack socket reports `::ffff:10.0.0.1` for 10.0.0.1.
 *
 * @returns `null` for everything else: "10.1" and "0x7f.1" are addresses to some parsers and typos to everybody else,
 *   "010.0.0.1" is two different ones, and a zone (`fe80::1%eth0`) means something on one host only.
 */
export function parseAddress(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(":") || text.includes("%") || IPV4_COMPATIBLE.test(text) || !ipaddr.IPv6.isValid(text))
    return null;
  return ipaddr.process(text);
}

/** Parses addresses and CIDR blocks of both families; says what it could not parse, a sentence each. */
export function parseNetworks(texts: readonly string[]): { networks: Networks; problems: readonly string[] } {
  const ranges: Range[] = [];
  const problems: string[] = [];
  for (const text of texts) {
    const range = parseRange(text);
    if (range === null)
      problems.push(`"${text}" is neither an IP address nor a CIDR block such as 10.0.0.0/8`);
    else ranges.push(range);
  }
  const contains = (address: string): boolean => {
    const candidate = parseAddress(address);
    if (candidate === null) return false;
    return ranges.some((range) => range[0].kind() === candidate.kind() && candidate.match(range));
  };
  return { networks: { contains }, problems };
}

/** A block's host bits may be set: `10.1.2.3/8` is `10.0.0.0/8`. */
function parseRange(text: string): Range | null {
  const [, base, length] = CIDR.exec(text) ?? [];
  if (base === undefined) {
    const address = parseAddress(text);
    return address === null ? null : [address, address.kind() === "ipv4" ? 32 : 128];
  }
  const address = parseAddress(base);
  if (address === null) return null;
  const bits = Number(length);
  if (!base.includes(":") || address.kind() === "ipv6") {
    return bits <= (address.kind() === "ipv4" ? 32 : 128) ? [address, bits] : null;
  }
  // An IPv4-mapped block: its first 96 bits are the mapping. A wider one would be no block of IPv4.
  return bits >= 96 && bits <= 128 ? [address, bits - 96] : null;
}
