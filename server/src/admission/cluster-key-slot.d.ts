declare module "cluster-key-slot" {
  /** Returns the hash slot of a key, 0 to 16383: of the part between braces if there is one. */
  export default function clusterKeySlot(key: string): number;
}
