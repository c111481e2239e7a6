import ipaddr from "ipaddr.js";

/** IP addresses and CIDR blocks, parsed once, to be asked often. */
export interface Networks {
  contains(address: string): boolean;
}

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

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
    if (!ipaddr.isValid(address)) return false;
    // IPv4-mapped IPv6 is IPv4: a dual-stack socket reports ::ffff:10.0.0.1 for 10.0.0.1.
    const candidate = ipaddr.process(address);
    return ranges.some((range) => range[0].kind() === candidate.kind() && candidate.match(range));
  };
  return { networks: { contains }, problems };
}

function parseRange(text: string): Range | null {
  if (ipaddr.isValidCIDR(text)) {
    const [base, bits] = ipaddr.parseCIDR(text);
    if (base instanceof ipaddr.IPv6 && base.isIPv4MappedAddress() && bits >= 96) {
      return [base.toIPv4Address(), bits - 96];
    }
    return [base, bits];
  }
  // Four decimal parts only: "10.1" is an address to some parsers and a typo to everybody else.
  if (!ipaddr.IPv4.isValidFourPartDecimal(text) && !ipaddr.IPv6.isValid(text)) return null;
  const address = ipaddr.process(text);
  return [address, address.kind() === "ipv4" ? 32 : 128];
}
