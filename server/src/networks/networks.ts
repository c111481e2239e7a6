import ipaddr from "ipaddr.js";
import { entryForMessage } from "../secrets/named-elsewhere.ts";

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Family = "ipv4" | "ipv6";

/** IPv4 inside IPv6 without the prefix of a mapped address: deprecated (RFC 4291, section 2.5.5.1), and read in two ways. */
const IPV4_COMPATIBLE = /^::\d+\.\d+\.\d+\.\d+$/;
const CIDR = /^([^/]+)\/(0|[1-9]\d{0,2})$/;
const BITS: Readonly<Record<Family, number>> = { ipv4: 32, ipv6: 128 };
const MAPPED_PREFIX = 96;

/**
 * An address as people write it: four decimal parts, or IPv6 (RFC 4291, section 2.2). IPv4-mapped IPv6 is IPv4: a
 * dual-stack socket reports `::ffff:10.0.0.1` for 10.0.0.1.
 *
 * @returns `null` for everything else: "10.1" and "0x7f.1" are addresses to some parsers and typos to everybody else,
 *   "010.0.0.1" is two different ones, and a zone (`fe80::1%eth0`) means something on one host only.
 */
export function parseAddress(text: string): Address | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(":") || text.includes("%") || IPV4_COMPATIBLE.test(text) || !ipaddr.IPv6.isValid(text)) {
    return null;
  }
  return ipaddr.process(text);
}

/** An address without its zone, which names an interface of this host, not the peer: `fe80::1%eth0`. */
export function withoutZone(address: string): string {
  const zone = address.indexOf("%");
  return zone === -1 ? address : address.slice(0, zone);
}

/** Returns the name to count an address by. An IPv6 subscriber controls about a /56 (RFC 6177), which counts as one. */
export function networkOf(address: string | null): string {
  if (address === null || !ipaddr.IPv6.isValid(address)) return address ?? "unknown";
  return ipaddr.IPv6.networkAddressFromCIDR(`${address}/56`).toString();
}

/** Parses addresses and CIDR blocks of both families; reports what it could not parse, a sentence each. */
export function parseNetworks(texts: readonly string[]): { networks: Networks; problems: readonly string[] } {
  const networks = new Networks();
  const problems: string[] = [];
  for (const text of texts) {
    const block = parseBlock(text);
    if (block === null)
      problems.push(`${entryForMessage(text)} is neither an IP address nor a CIDR block such as 10.0.0.0/8`);
    else networks.add(block.base, block.prefixLength);
  }
  return { networks, problems };
}

/**
 * A parsed set of IP addresses and CIDR blocks, by prefix length. A look-up costs one access for each length, however many blocks
 * there are.
 */
export class Networks {
  readonly #prefixes: Readonly<Record<Family, Map<number, Set<bigint>>>> = {
    ipv4: new Map(),
    ipv6: new Map(),
  };

  add(base: Address, prefixLength: number): void {
    const ofFamily = this.#prefixes[base.kind()];
    const prefixes = ofFamily.get(prefixLength) ?? new Set();
    ofFamily.set(prefixLength, prefixes.add(prefixOf(base, prefixLength)));
  }

  /** @param address may have a zone, as the peer of a connection has on a link-local network. */
  contains(address: string): boolean {
    const { ipv4, ipv6 } = this.#prefixes;
    if (ipv4.size + ipv6.size === 0) return false;
    const candidate = parseAddress(withoutZone(address));
    if (candidate === null) return false;
    for (const [length, prefixes] of this.#prefixes[candidate.kind()]) {
      if (prefixes.has(prefixOf(candidate, length))) return true;
    }
    return false;
  }
}

function prefixOf(address: Address, length: number): bigint {
  let value = 0n;
  for (const byte of address.toByteArray()) value = (value << 8n) | BigInt(byte);
  return value >> BigInt(BITS[address.kind()] - length);
}

/**
 * An address or a block in one form for each network, as the database has addresses: an IPv4-mapped one as IPv4, without host bits.
 *
 * @returns the text itself if it is neither.
 */
export function databaseNetwork(text: string): string {
  const block = parseBlock(text);
  if (block === null) return text;
  const { base, prefixLength } = block;
  const family = base.kind() === "ipv4" ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${family.networkAddressFromCIDR(`${base}/${prefixLength}`)}/${prefixLength}`;
}

/** A block's host bits may be set: `10.1.2.3/8` is `10.0.0.0/8`. */
function parseBlock(text: string): { readonly base: Address; readonly prefixLength: number } | null {
  const [, baseText, length] = CIDR.exec(text) ?? [];
  const base = parseAddress(baseText ?? text);
  if (base === null) return null;
  const bits = BITS[base.kind()];
  if (length === undefined) return { base, prefixLength: bits };
  // Of an IPv4-mapped block the first 96 bits are the mapping. A wider one would be no block of IPv4.
  const isMapped = base.kind() === "ipv4" && text.includes(":");
  const prefixLength = Number(length) - (isMapped ? MAPPED_PREFIX : 0);
  return prefixLength >= 0 && prefixLength <= bits ? { base, prefixLength } : null;
}
