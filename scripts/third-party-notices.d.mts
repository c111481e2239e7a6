/** The license of each package of which a bundle has files. `product` begins a sentence; `inputs` are paths in the repository. */
export function thirdPartyNotices(product: string, inputs: readonly string[]): string;
