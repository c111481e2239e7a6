/**
 * Options of an `LRUCache` that keeps at most `max` entries. With the option `max` the cache reserves its room when it is made: for
 * 100,000 entries several megabytes and some 50 ms, which a service with little traffic never needs. This one grows as it is filled.
 */
export function atMost(max: number): { readonly maxSize: number; readonly sizeCalculation: () => number } {
  return { maxSize: max, sizeCalculation: () => 1 };
}
