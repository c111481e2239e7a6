/** Addresses that have their first bits in common. A single address is a network of all its bits. */
export interface Network {
  /** The bits of an address: 32 in IPv4, 128 in IPv6. */
  readonly bits: number;
  /** The number of common bits. */
  readonly length: number;
  /** The common bits. */
  readonly prefix: bigint;
}

const CIDR = /^([^/]+)(?:\/(\d{1,3}))?$/;
const IPV4 = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;
const GROUP = /^[\da-f]{1,4}$/i;
const IPV4_BITS = 32;
const IPV6_BITS = 128;
const IPV6_GROUPS = 8;
/** The prefix of IPv6 under which IPv4 has its addresses, and its length. */
const MAPPED_PREFIX = 0xffffn;
const MAPPED_LENGTH = 96;

/** Reads an address or a CIDR block. Host bits do not count, and an IPv4-mapped one is one of IPv4. `null`: the text is neither. */
export function networkOf(text: string): Network | null {
  const [, address = "", digits] = CIDR.exec(text.trim()) ?? [];
  const ipv4 = ipv4Value(address);
  const value = ipv4 ?? ipv6Value(address);
  const bits = ipv4 === null ? IPV6_BITS : IPV4_BITS;
  const length = digits === undefined ? bits : Number(digits);
  if (value === null || length > bits) return null;
  const isMapped = ipv4 === null && length >= MAPPED_LENGTH && value >> BigInt(IPV4_BITS) === MAPPED_PREFIX;
  if (!isMapped) return { bits, length, prefix: value >> BigInt(bits - length) };
  const mapped = BigInt.asUintN(IPV4_BITS, value) >> BigInt(bits - length);
  return { bits: IPV4_BITS, length: length - MAPPED_LENGTH, prefix: mapped };
}

/** Whether all addresses of a network are in another one. */
export function isWithin(inner: Network, outer: Network): boolean {
  if (inner.bits !== outer.bits || inner.length < outer.length) return false;
  return inner.prefix >> BigInt(inner.length - outer.length) === outer.prefix;
}

function ipv4Value(text: string): bigint | null {
  const parts = (IPV4.exec(text) ?? []).slice(1).map(Number);
  if (parts.length === 0 || parts.some((part) => part > 0xff)) return null;
  return joined(parts, 8n);
}

/** Reads the notation of RFC 4291, section 2.2. */
function ipv6Value(text: string): bigint | null {
  const halves = text.split("::");
  const [head, tail = []] = halves.map(groupsOf);
  if (head == null || tail === null || halves.length > 2) return null;
  const omitted = IPV6_GROUPS - head.length - tail.length;
  if (halves.length === 1 ? omitted !== 0 : omitted < 1) return null;
  return joined([...head, ...new Array<number>(omitted).fill(0), ...tail], 16n);
}

/** The groups of 16 bits of a half of an IPv6 address, which may end with an address of IPv4. */
function groupsOf(half: string): readonly number[] | null {
  if (half === "") return [];
  const groups: number[] = [];
  for (const group of half.split(":")) {
    const ipv4 = ipv4Value(group);
    if (ipv4 !== null) groups.push(Number(ipv4 >> 16n), Number(ipv4 & 0xffffn));
    else if (GROUP.test(group)) groups.push(Number.parseInt(group, 16));
    else return null;
  }
  return groups;
}

function joined(parts: readonly number[], bits: bigint): bigint {
  return parts.reduce((value, part) => (value << bits) | BigInt(part), 0n);
}
