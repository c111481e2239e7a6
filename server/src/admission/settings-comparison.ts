import {
  type NodeSettings,
  type SettingDifference,
  type SettingDigests,
  SHARED_SETTINGS,
  type SharedSetting,
} from "../contract/node-settings.ts";

/** A difference that lasts longer than this is probably no rolling change. */
const LASTING_MS = 10 * 60_000;

interface ComparisonParts {
  /** Returns the settings of the node itself as they are at the moment, because the catalog may be replaced. */
  readonly own: () => NodeSettings & { readonly version: string; readonly digests: SettingDigests };
  /** Records the node's own settings, and returns those of the other running nodes. Without other nodes there are none. */
  readonly exchange: (own: {
    readonly version: string;
    readonly digests: SettingDigests;
  }) => Promise<readonly NodeSettings[]>;
  readonly now: () => Date;
  readonly monotonicMs: () => number;
  /** Called once when a difference has lasted, and with `null` when it has ended after that. */
  readonly onLasting: (setting: SharedSetting, nodes: readonly string[] | null) => void;
}

interface Noticed {
  readonly sinceMs: number;
  readonly nodes: readonly string[];
  readonly isReported: boolean;
}

/**
 * Compares the settings of this node with those of the other running nodes. Nodes of different versions are not compared, because a version
 * may read more from the same file.
 */
export class SettingsComparison {
  readonly #parts: ComparisonParts;
  readonly #noticed = new Map<SharedSetting, Noticed>();

  constructor(parts: ComparisonParts) {
    this.#parts = parts;
  }

  /** Compares. Call it every few seconds. @returns the settings of this node, and then those of the others. */
  async compare(): Promise<readonly NodeSettings[]> {
    const own = this.#parts.own();
    const others = await this.#parts.exchange(own);
    for (const setting of SHARED_SETTINGS) {
      const differing = others.filter(
        ({ version, digests }) => version === own.version && digests?.[setting] !== own.digests[setting],
      );
      this.#notice(
        setting,
        differing.map(({ label }) => label),
      );
    }
    return [own, ...others];
  }

  /** The differences at the last comparison. */
  get differences(): readonly SettingDifference[] {
    const { now, monotonicMs } = this.#parts;
    return [...this.#noticed].map(([setting, { nodes, sinceMs }]) => {
      const lastedMs = monotonicMs() - sinceMs;
      return {
        setting,
        nodes,
        since: new Date(now().getTime() - lastedMs),
        isLasting: lastedMs >= LASTING_MS,
      };
    });
  }

  /** How many other nodes had another value of each setting at the last comparison. */
  get counts(): ReadonlyMap<SharedSetting, number> {
    return new Map(
      SHARED_SETTINGS.map((setting) => [setting, this.#noticed.get(setting)?.nodes.length ?? 0]),
    );
  }

  #notice(setting: SharedSetting, nodes: readonly string[]): void {
    const { monotonicMs, onLasting } = this.#parts;
    const known = this.#noticed.get(setting);
    if (nodes.length === 0) {
      this.#noticed.delete(setting);
      if (known?.isReported) onLasting(setting, null);
      return;
    }
    const sinceMs = known?.sinceMs ?? monotonicMs();
    const isLasting = monotonicMs() - sinceMs >= LASTING_MS;
    this.#noticed.set(setting, { sinceMs, nodes, isReported: isLasting });
    if (isLasting && !known?.isReported) onLasting(setting, nodes);
  }
}
